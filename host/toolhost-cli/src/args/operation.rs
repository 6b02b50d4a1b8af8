//! The options of servers that are for whoever operates them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use toolhost::recording::KeptRecordings;

#[derive(Debug, Clone, Args)]
pub(crate) struct OperationArgs {
    /// Append a line of JSON to this file before and after each call. A call that it cannot record is refused
    #[arg(long, value_name = "FILE")]
    pub(crate) audit_log: Option<PathBuf>,
    /// Export the spans of turns, steps and calls to an OpenTelemetry collector, such as http://127.0.0.1:4318
    #[arg(long, value_name = "URL")]
    pub(crate) otlp: Option<String>,
    /// Record calls as a whole, so that they can be replayed: of each instance the newest 20 that failed, or also the
    /// newest 20 others
    #[arg(long, value_name = "CALLS", value_enum)]
    pub(crate) record: Option<Recorded>,
}

/// The calls that are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Recorded {
    /// Those that fail
    Failed,
    /// All
    All,
}

impl From<Recorded> for KeptRecordings {
    fn from(recorded: Recorded) -> Self {
        match recorded {
            Recorded::Failed => Self::Failed,
            Recorded::All => Self::All,
        }
    }
}
