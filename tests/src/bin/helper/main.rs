//! The programs that the tests and the tasks start, in one binary, so that the engine is linked once:
//! `helper PROGRAM ARGUMENT…`.
#![expect(clippy::print_stderr, reason = "a program of the tests")]

mod agent_child;
mod base_tools;
mod compiler;
mod conformance;
mod conformance_client;
mod few_descriptors;
mod held_calls;
mod host_process;
mod mcp_soak;
mod pending_child;
mod soak;
mod swap_file;

use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let program = arguments.next().unwrap_or_default();
    let arguments: Vec<String> = arguments.collect();
    match program.as_str() {
        "agent-child" => agent_child::run(&arguments)?,
        "base-tools" => base_tools::run(&arguments),
        "compiler" => return Ok(compiler::run(&arguments)),
        "conformance" => return Ok(conformance::run(&arguments)),
        "conformance-client" => return conformance_client::run(&arguments),
        "few-descriptors" => few_descriptors::run(),
        "host-process" => host_process::run()?,
        "mcp-soak" => return Ok(mcp_soak::run(&arguments)),
        "pending-child" => pending_child::run(arguments),
        "soak" => return Ok(soak::run(&arguments)),
        "swap-file" => return Ok(swap_file::run(&arguments)),
        program => {
            eprintln!("helper: there is no program '{program}'");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}
