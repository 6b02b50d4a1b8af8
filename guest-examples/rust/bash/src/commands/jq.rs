//! `jq`: the engine of the tool json-query, with the command line of jq 1.7.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use jq_engine::cli;

use super::Command;
use super::call::{Call, Failure};
use super::options::{Line, Spec};

pub(super) const JQ: Command = Command::new("jq", Spec::raw(), run);

/// The most bytes of a run: what one pipe of the shell holds.
const MAX_OUTPUT: usize = 16 << 20;

fn run(call: &mut Call, _: &Line) -> Result<i32, Failure> {
    let ran = cli::run(call.args, call.stdin, &Caller(call));
    call.out.extend_from_slice(&ran.stdout);
    call.warn(&ran.stderr);
    Ok(ran.code)
}

struct Caller<'c, 'a>(&'c Call<'a>);

impl cli::Caller for Caller<'_, '_> {
    fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        self.0.read(path).map(Into::into)
    }

    fn environment(&self) -> Vec<(String, String)> {
        let variables = self.0.env.iter();
        variables
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    fn now(&self) -> f64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0.0, |since| since.as_secs_f64())
    }

    fn max_output(&self) -> usize {
        MAX_OUTPUT
    }
}
