//! A compiler process, and programs that are not valid compilers, for a `Compiler`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test program that prints its environment"
)]

use std::process::ExitCode;

use toolhost_sandbox::Compiler;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some("spin") => loop {
            std::hint::spin_loop();
        },
        Some("sleep") => loop {
            std::thread::park();
        },
        Some("garbage") => {
            println!("this is no compiled component");
            ExitCode::SUCCESS
        }
        Some("surroundings") => {
            let variables = std::env::vars_os().count();
            let at = std::env::current_dir().unwrap_or_default();
            println!("{variables} variables, at {}", at.display());
            ExitCode::FAILURE
        }
        _ => Compiler::run(),
    }
}
