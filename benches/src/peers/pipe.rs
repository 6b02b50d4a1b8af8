//! One process that lives from call to call, and reads requests from a pipe. Nothing isolates its calls.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::caller::{Caller, Calls};
use super::exchange::{answer, request};
use super::programs::{Program, Requests};
use super::works::Work;

/// Bytes that a pipe holds.
const PIPE: usize = 64 << 10;

pub(super) struct PipeCalls {
    work: Work,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    line: Vec<u8>,
}

impl PipeCalls {
    pub(super) fn start(program: Program, work: &Work, workdir: &Path) -> Result<Self, String> {
        let mut command = program.command(workdir, Requests::Many)?;
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = piped.spawn().map_err(|error| error.to_string())?;
        Ok(Self {
            work: work.clone(),
            input: process.stdin.take().unwrap(),
            output: BufReader::with_capacity(PIPE, process.stdout.take().unwrap()),
            process,
            last_id: 0,
            line: Vec::new(),
        })
    }

    /// Sends each next request from this thread: all requests that wait fit into the pipe.
    fn run_here(&mut self, in_flight: usize, time: Duration) -> Calls {
        let Self {
            work,
            input,
            output,
            last_id,
            line,
            ..
        } = self;
        let mut send = || {
            *last_id += 1;
            let begin = Instant::now();
            input.write_all(&request(*last_id, work)).unwrap();
            (*last_id, begin)
        };
        let started = Instant::now();
        let mut running: HashMap<_, _> = (0..in_flight).map(|_| send()).collect();
        let mut latencies = Vec::new();
        while !running.is_empty() {
            latencies.push(
                running
                    .remove(&next_answer(output, line))
                    .unwrap()
                    .elapsed(),
            );
            if started.elapsed() < time {
                running.extend([send()]);
            }
        }
        Calls::since(started, latencies)
    }

    /// Sends requests from a second thread, because both sides would wait until the other one reads.
    fn run_with_writer(&mut self, in_flight: usize, time: Duration) -> Calls {
        let Self {
            work,
            input,
            output,
            last_id,
            line,
            ..
        } = self;
        let (ask, asked) = mpsc::channel();
        let (sent, began) = mpsc::channel();
        let started = Instant::now();
        let write = move || {
            while asked.recv().is_ok() {
                *last_id += 1;
                sent.send((*last_id, Instant::now())).unwrap();
                input.write_all(&request(*last_id, work)).unwrap();
            }
        };
        let latencies = thread::scope(|scope| {
            scope.spawn(write);
            let (mut latencies, mut running) = (Vec::new(), HashMap::new());
            (0..in_flight).for_each(|_| ask.send(()).unwrap());
            let mut unanswered = in_flight;
            while unanswered > 0 {
                let id = next_answer(output, line);
                running.extend(began.try_iter());
                let begin: Instant = running.remove(&id).unwrap();
                latencies.push(begin.elapsed());
                unanswered -= 1;
                if started.elapsed() < time {
                    ask.send(()).unwrap();
                    unanswered += 1;
                }
            }
            drop(ask);
            latencies
        });
        Calls::since(started, latencies)
    }
}

/// Reads an answer and returns its id.
fn next_answer(output: &mut BufReader<ChildStdout>, line: &mut Vec<u8>) -> u64 {
    line.clear();
    output.read_until(b'\n', line).unwrap();
    let answer = answer(line);
    assert!(!answer.output.is_null());
    answer.id
}

impl Caller for PipeCalls {
    fn once(&mut self) -> String {
        self.last_id += 1;
        self.input
            .write_all(&request(self.last_id, &self.work))
            .unwrap();
        next_answer(&mut self.output, &mut self.line);
        answer(&self.line).output.to_string()
    }

    fn run(&mut self, in_flight: usize, time: Duration) -> Calls {
        let bytes = request(u64::MAX, &self.work).len() * in_flight;
        if in_flight == 1 || bytes < PIPE {
            self.run_here(in_flight, time)
        } else {
            self.run_with_writer(in_flight, time)
        }
    }

    fn most_in_flight(&self) -> usize {
        self.work.most_in_flight
    }

    fn process(&self) -> Option<u32> {
        Some(self.process.id())
    }
}

impl Drop for PipeCalls {
    fn drop(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}
