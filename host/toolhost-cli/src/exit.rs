//! How a command ends, for whoever called it.

use std::process::ExitCode;

/// The exit codes of every command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; a call that is pending is done for now.
    Done,
    /// The answer is no: a ToolResult of status `error`, a bundle or a component that would not load.
    Refused,
    /// There is no answer: wrong usage, or something could not be read or loaded.
    Unusable,
    /// Stopped by Ctrl-C; what shells expect for SIGINT.
    Interrupted,
    /// Stopped by SIGTERM; what shells expect for it.
    Terminated,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Refused => 1,
            Exit::Unusable => 2,
            Exit::Interrupted => 130,
            Exit::Terminated => 143,
        })
    }
}
