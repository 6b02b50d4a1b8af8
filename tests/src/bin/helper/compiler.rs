//! A compiler process, and programs that are not valid compilers, for a `Compiler`.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test program that prints its environment"
)]

use std::os::unix::process::parent_id;
use std::process::ExitCode;
use std::time::Duration;

use toolhost_sandbox::Compiler;

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match arguments.first().map(String::as_str) {
        Some("spin") => loop {
            std::hint::spin_loop();
        },
        Some("sleep") => {
            let parent = parent_id();
            // Its parent may be killed.
            while parent_id() == parent {
                std::thread::sleep(Duration::from_millis(50));
            }
            ExitCode::FAILURE
        }
        // Waits until there is a file, and then compiles.
        Some("gate") => {
            let is_open = || {
                let gate = arguments.get(1);
                gate.is_none_or(|gate| std::path::Path::new(gate).exists())
            };
            let parent = parent_id();
            while !is_open() && parent_id() == parent {
                std::thread::sleep(Duration::from_millis(5));
            }
            Compiler::run()
        }
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
