//! Ctrl-C of a console. There are no signals.

use std::future::pending;

use crate::exit::Exit;

/// What stops a command.
pub(crate) struct StopSignals;

impl StopSignals {
    /// Listens from the first wait on: until then, Ctrl-C ends the process.
    pub(crate) fn listen() -> Self {
        Self
    }

    /// Waits for Ctrl-C. Returns the exit code for it.
    pub(crate) async fn next(&mut self) -> Exit {
        match tokio::signal::ctrl_c().await {
            Ok(()) => Exit::Interrupted,
            // It is not delivered, and ends the process.
            Err(_) => pending().await,
        }
    }
}

/// There is no such limit.
pub(crate) fn survive_file_size_limit() {}
