//! The binary `toolhost`: agents' tools in the terminal.

mod args;
mod builder;
mod commands;
mod environment;
mod exit;
mod failure;
mod file;
mod findings;
mod help;
mod house;
mod kits;
mod log;
mod output;
mod places;
mod plain;
mod progress;
mod read;
mod run;
mod screen;
mod setting;
mod test;
mod tool_args;

use std::process::ExitCode;

/// The only argument of the processes that compile components for this one.
const COMPILE: &str = "compile-component";

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == COMPILE)
    {
        return toolhost::Compiler::run();
    }
    run::run().into()
}
