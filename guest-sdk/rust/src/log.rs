//! The operator's log.

use std::fmt::Display;

use crate::bindings::tool::wasi::logging::logging::Level;

/// Writes to the operator's log; in tests on the author's machine, to stderr.
///
/// A call may write 1,000 records of 4 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Logger {
    /// Groups the records.
    tool: &'static str,
}

impl Logger {
    pub(crate) fn new(tool: &'static str) -> Self {
        Self { tool }
    }

    /// Every small step; off in most hosts.
    pub fn trace(&self, message: impl Display) {
        self.write(Level::Trace, &message.to_string());
    }

    /// Useful while a tool is being developed.
    pub fn debug(&self, message: impl Display) {
        self.write(Level::Debug, &message.to_string());
    }

    /// Something the operator may want to know.
    pub fn info(&self, message: impl Display) {
        self.write(Level::Info, &message.to_string());
    }

    /// Something odd that the tool could go on after.
    pub fn warn(&self, message: impl Display) {
        self.write(Level::Warn, &message.to_string());
    }

    /// Something the tool could not do.
    pub fn error(&self, message: impl Display) {
        self.write(Level::Error, &message.to_string());
    }

    #[cfg(target_family = "wasm")]
    fn write(self, level: Level, message: &str) {
        crate::bindings::tool::wasi::logging::logging::log(level, self.tool, message);
    }

    #[cfg(not(target_family = "wasm"))]
    fn write(self, level: Level, message: &str) {
        eprintln!("{level:?} {}: {message}", self.tool);
    }
}
