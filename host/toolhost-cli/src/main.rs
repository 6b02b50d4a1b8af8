//! The binary `toolhost`: agents' tools in the terminal.

mod args;
mod commands;
mod environment;
mod exit;
mod failure;
mod findings;
mod help;
mod house;
mod log;
mod output;
mod places;
mod plain;
mod progress;
mod read;
mod run;
mod screen;
mod setting;
mod tool_args;

fn main() -> std::process::ExitCode {
    run::run().into()
}
