//! Writes to stdout and stderr, and formats text for them.

pub(crate) mod colours;
pub(crate) mod diagnostics;
pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod stderr;
pub(crate) mod stdin;
pub(crate) mod stdout;
pub(crate) mod text;
pub(crate) mod workflow;

pub(crate) use colours::ColorChoice;
pub(crate) use diagnostics::Style;
pub(crate) use stderr::Verbosity;
