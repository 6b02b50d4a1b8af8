//! What a call needs, and what it used.

use std::sync::Arc;
use std::time::{Duration, Instant};

use toolhost_contract::http::Origin;
use toolhost_contract::{FailedOperation, Operation, Recording, ToolContext, Usage};
use toolhost_files::{Workdir, WriteProtected};

use crate::accounting::output::{LogRecord, LogSink};
use crate::host::agents::port::AgentsPort;
use crate::host::effects::EffectsPort;
use crate::host::tools::port::{OuterCall, ToolsPort};
use crate::operation::Outcome;
use crate::recording::options::RecordOptions;
use crate::store::meters::CallMeters;
use crate::{DiskLimit, Grants, Limits, SandboxError};

/// Everything one call needs.
#[derive(Debug, Clone)]
pub struct Invocation {
    /// What the component is to do.
    pub operation: Arc<Operation>,
    /// Who calls.
    pub context: ToolContext,
    /// The guest's `/`; none where the call gets no directory.
    pub workdir: Option<Workdir>,
    /// Files and directories that the guest must not change.
    pub protected: WriteProtected,
    /// What it may use beyond the workdir.
    pub grants: Grants,
    /// The other agents; none where it may not reach them.
    pub agents: Option<Arc<dyn AgentsPort>>,
    /// The other tools; none where it may not call them.
    pub tools: Option<Arc<dyn ToolsPort>>,
    /// Decides about its effects, which may need consent; none if none does.
    pub effects: Option<Arc<dyn EffectsPort>>,
    /// The call that calls this tool; what this call uses counts for that one, too.
    pub outer: Option<OuterCall>,
    /// Receives its log while it runs; none if nobody listens.
    pub log: Option<LogSink>,
    /// Its limits.
    pub limits: Limits,
    /// How it is recorded; none if it is not. A recorded call takes more time and memory of the host, and
    /// has the same result.
    pub record: Option<RecordOptions>,
}

/// The outcome of a call, and what it used.
#[derive(Debug)]
pub struct CallReport {
    /// The handler's outcome, or why the sandbox stopped it.
    pub outcome: Result<Outcome, SandboxError>,
    /// What it used.
    pub usage: Usage,
    /// The first limit of the disk that refused a change.
    pub disk_limit: Option<DiskLimit>,
    /// Whether the last thing it did, but for printing and logging, was denied.
    pub just_denied: bool,
    /// Why memory was refused, if the handler returned an error because of that.
    pub memory_refused: Option<SandboxError>,
    /// Whether memory was refused at any time of the call.
    pub was_refused_memory: bool,
    /// The last thing it did, but for printing and logging, if that failed in the host.
    pub just_failed: Option<FailedOperation>,
    /// The origins that answered 401 to a request on which the host had set a credential of
    /// [`Grants::http`]: it may have been revoked.
    pub unauthorized: Vec<Origin>,
    /// Its log.
    pub log: Vec<LogRecord>,
    /// Its stdout, head and tail.
    pub stdout: String,
    /// Its stderr, head and tail.
    pub stderr: String,
    /// The recording, if [`Invocation::record`] asked for it and the call started.
    pub recording: Option<Box<Recording>>,
}

/// Logs a call whose future is dropped before it ends. Its usage is reported nowhere else.
pub(crate) struct CancelLog {
    meters: Option<Arc<CallMeters>>,
    operation: Arc<Operation>,
    started: Instant,
}

impl CancelLog {
    pub(crate) fn new(meters: &Arc<CallMeters>, operation: &Arc<Operation>) -> Self {
        Self {
            meters: Some(Arc::clone(meters)),
            operation: Arc::clone(operation),
            started: Instant::now(),
        }
    }

    /// The call ended: nothing is logged.
    pub(crate) fn disarm(mut self) {
        self.meters = None;
    }
}

impl Drop for CancelLog {
    fn drop(&mut self) {
        let Some(meters) = &self.meters else { return };
        let handler = match &*self.operation {
            Operation::Handler { name, .. } => name.as_str(),
            Operation::Poll { .. } => "(poll)",
            Operation::Cancel { .. } => "(cancel)",
        };
        if let Some(live) = &meters.output.live_log {
            // A file call of the guest may not have returned yet.
            live.close();
        }
        let usage = meters.usage(Duration::ZERO, self.started.elapsed());
        tracing::info!(
            target: "toolhost::audit",
            handler,
            wall_ms = usage.wall.as_millis(),
            memory_peak = usage.memory_peak,
            bytes_written = usage.bytes_written,
            files_changed = usage.changes.files.len(),
            http_requests = usage.http_requests,
            // They hold texts of the guest, which may be secret.
            denials = usage.denials.len(),
            "a call was dropped before it ended"
        );
    }
}
