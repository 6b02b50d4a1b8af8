//! The options of servers that are for whoever operates them.

use std::net::SocketAddr;
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
    /// Serve the page on which people see calls and decide about those that wait for approval [default address:
    /// 127.0.0.1:7333, or another port if that is in use]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, require_equals = true)]
    pub(crate) watch_page: Option<Option<SocketAddr>>,
    /// File with lines `NAME TOKEN`: who may open the page, and decides about calls that wait for approval. No agent has
    /// one
    #[arg(long, value_name = "FILE")]
    pub(crate) approvers: Option<PathBuf>,
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
