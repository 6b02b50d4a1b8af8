//! The binary `toolhost`: agents' tools in the terminal.

mod args;
mod commands;
mod environment;
mod exit;
mod failure;
mod files;
mod host_context;
mod run;
mod settings;
mod state_dirs;
mod terminal;
mod test;
mod toolchains;

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
