//! The report of a call, and the log of a call that was dropped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolhost_contract::Usage;

use crate::accounting::meter::Meter;
use crate::accounting::output::LogRecord;
use crate::call::invocation::{Operation, Outcome};
use crate::{DiskLimit, SandboxError};

/// The outcome of a call, and what it used.
#[derive(Debug)]
pub struct CallReport {
    /// The handler's outcome, or why the sandbox stopped it.
    pub outcome: Result<Outcome, SandboxError>,
    /// What it used.
    pub usage: Usage,
    /// The first limit of the disk that refused a change.
    pub disk_limit: Option<DiskLimit>,
    /// Whether the last thing it did, but for printing, was denied.
    pub just_denied: bool,
    /// Its log.
    pub log: Vec<LogRecord>,
    /// Its stdout, head and tail.
    pub stdout: String,
    /// Its stderr, head and tail.
    pub stderr: String,
}

/// Logs a call whose future is dropped before it ends. Its usage is reported nowhere else.
pub(crate) struct CancelLog {
    meter: Option<Arc<Meter>>,
    /// The handler's name, or the other operation.
    operation: String,
    started: Instant,
}

impl CancelLog {
    pub(crate) fn new(meter: &Arc<Meter>, operation: &Operation) -> Self {
        let operation = match operation {
            Operation::Handler { name, .. } => name.as_str(),
            Operation::Poll { .. } => "(poll)",
            Operation::Cancel { .. } => "(cancel)",
        };
        Self {
            meter: Some(Arc::clone(meter)),
            operation: operation.to_owned(),
            started: Instant::now(),
        }
    }

    /// The call ended: nothing is logged.
    pub(crate) fn disarm(mut self) {
        self.meter = None;
    }
}

impl Drop for CancelLog {
    fn drop(&mut self) {
        let Some(meter) = &self.meter else { return };
        let mut usage = meter.usage(Duration::ZERO, self.started.elapsed());
        // Denials hold texts of the guest, which may be secret.
        let denials = std::mem::take(&mut usage.denials).len();
        let handler = self.operation.as_str();
        tracing::info!(target: "toolhost::audit", handler, denials, ?usage, "a call was dropped before it ended");
    }
}
