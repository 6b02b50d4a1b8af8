//! The exit codes of the process.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done; also for a pending call.
    Done,
    /// 1: a ToolResult of status `error`, or a bundle or a component that would not load.
    Refused,
    /// 2: wrong usage, or a file could not be read or loaded.
    Unusable,
    /// 130: stopped by SIGINT (Ctrl-C).
    Interrupted,
    /// 143: stopped by SIGTERM.
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
