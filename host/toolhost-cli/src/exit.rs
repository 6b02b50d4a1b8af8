//! The exit codes of the process.

use std::process::ExitCode;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: done; also for a pending call.
    Done,
    /// 1: a ToolResult of status `error`, a search without a hit, or a bundle or a component that would not load.
    Refused,
    /// 2: wrong usage, or a file could not be read or loaded.
    Unusable,
    /// 129: stopped by SIGHUP: its terminal was closed.
    HungUp,
    /// 130: stopped by SIGINT (Ctrl-C).
    Interrupted,
    /// 143: stopped by SIGTERM.
    Terminated,
}

impl Exit {
    /// The exit code of a command that answers yes or no.
    pub(crate) fn done_if(is_done: bool) -> Self {
        if is_done { Self::Done } else { Self::Refused }
    }

    /// The number.
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Refused => 1,
            Self::Unusable => 2,
            Self::HungUp => 129,
            Self::Interrupted => 130,
            Self::Terminated => 143,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
