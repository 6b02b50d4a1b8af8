//! What people and programs read: stdout, stderr, and how texts are shown there.

pub(crate) mod diagnostics;
pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod stderr;
pub(crate) mod stdout;
pub(crate) mod text;
mod verbosity;

pub(crate) use diagnostics::Style;
pub(crate) use verbosity::Verbosity;
