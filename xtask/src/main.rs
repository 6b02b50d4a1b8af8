//! Set-up and build commands that need only cargo: `cargo xtask`.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal of the person who builds: it reads the environment and prints"
)]

use std::process::ExitCode;

mod any_language;
mod api;
mod apt;
mod bashkit;
mod bfcl;
mod checks;
mod child;
mod clients;
mod conformance;
mod cross;
mod demo;
mod deny;
mod dist;
mod docs;
mod fuzz;
mod guests;
mod instructions;
mod mcp_clients;
mod mcp_servers;
mod mutants;
mod nats;
mod npm_tools;
mod oauth;
mod package;
mod packages;
mod peers;
mod postgres;
mod published;
mod registry;
mod sources;
mod task;
mod tool;
mod valgrind;
mod wasip2;
mod whole_folder;
mod workspace;

use task::Task;
use workspace::Workspace;

fn main() -> ExitCode {
    let done = Task::parse(std::env::args().skip(1)).and_then(|task| task.run(&Workspace::find()));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}
