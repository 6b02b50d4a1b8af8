//! The programs of the tests, which are one binary.

use std::process::Command;

pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_helper");

pub(crate) fn helper(program: &str) -> Command {
    let mut command = Command::new(HELPER);
    command.arg(program);
    command
}
