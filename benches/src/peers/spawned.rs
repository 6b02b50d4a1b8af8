//! A process for each call: what isolates calls of other runtimes from each other.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use super::caller::{Caller, Calls, from_threads};
use super::exchange::{answer, request};
use super::programs::{Program, Requests};
use super::works::Work;

#[derive(Clone)]
pub(super) struct SpawnedCalls {
    program: Program,
    work: Work,
    workdir: PathBuf,
}

impl SpawnedCalls {
    pub(super) fn new(program: Program, work: &Work, workdir: &Path) -> Result<Self, String> {
        program.command(workdir, Requests::One)?;
        Ok(Self {
            program,
            work: work.clone(),
            workdir: workdir.to_owned(),
        })
    }

    fn call(&self) -> String {
        let mut command = self.program.command(&self.workdir, Requests::One).unwrap();
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = piped.spawn().unwrap();
        let mut input = process.stdin.take().unwrap();
        input.write_all(&request(1, &self.work)).unwrap();
        drop(input);
        let ended = process.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", ended.status);
        answer(&ended.stdout).output.to_string()
    }
}

impl Caller for SpawnedCalls {
    fn once(&mut self) -> String {
        self.call()
    }

    fn run(&mut self, in_flight: usize, time: Duration) -> Calls {
        let mut callers = vec![self.clone(); in_flight];
        from_threads(&mut callers, time, |caller| drop(caller.call()))
    }

    /// 256 processes would take more memory than most machines have.
    fn most_in_flight(&self) -> usize {
        16
    }
}
