//! The binary `toolhost`: the command line.

mod args;
mod base;
mod call_line;
mod commands;
mod environment;
mod event_logs;
mod exit;
mod failure;
mod files;
mod fleet;
mod grants;
mod host_context;
mod policy_file;
mod process_limits;
mod run;
mod settings;
mod signals;
mod state_dirs;
mod state_root;
mod stop_request;
mod terminal;
mod toolchains;
mod watch;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == host_context::COMPILE_ARG)
    {
        return toolhost::sandbox::Compiler::run();
    }
    run::run().into()
}
