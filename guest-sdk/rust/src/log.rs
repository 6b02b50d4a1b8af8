//! The operator's log.

use std::fmt::Display;

use crate::bindings::tool::wasi::logging::logging::Level;

/// Writes to the operator's log, and in native tests to stderr.
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

    /// Logs each small step; most hosts turn this level off.
    pub fn trace(&self, message: impl Display) {
        self.write(Level::Trace, &message.to_string());
    }

    /// Logs what is useful while you develop a tool.
    pub fn debug(&self, message: impl Display) {
        self.write(Level::Debug, &message.to_string());
    }

    /// Logs what an operator may want to know.
    pub fn info(&self, message: impl Display) {
        self.write(Level::Info, &message.to_string());
    }

    /// Logs a problem after which the tool could continue.
    pub fn warn(&self, message: impl Display) {
        self.write(Level::Warn, &message.to_string());
    }

    /// Logs a failure.
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
