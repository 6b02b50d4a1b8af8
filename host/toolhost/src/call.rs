//! Executes one tool call: admission, validation, the run, and what leaves the host.

pub(crate) mod executor;
pub(crate) mod failure;
mod hints;
pub(crate) mod native;
pub(crate) mod telemetry;
