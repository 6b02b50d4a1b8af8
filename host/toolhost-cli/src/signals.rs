//! The signals that stop a command, and the one that must not.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(crate) use unix::{StopSignals, survive_file_size_limit};
#[cfg(windows)]
pub(crate) use windows::{StopSignals, survive_file_size_limit};
