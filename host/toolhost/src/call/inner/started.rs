//! What the caller's receipt has of a call that was started, also of one that is stopped.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use toolhost_contract::{ToolCallUsage, ToolErrorCode, ToolResult};
use toolhost_runtime::lock;

use super::calls::Calls;
use super::last_stopped::LastStopped;
use crate::call::outer::budget::RunningCall;

/// A call that was started. If it is dropped before its end, it was stopped.
pub(super) struct StartedRecord {
    calls: Arc<Calls>,
    id: String,
    tool: String,
    started_at: Instant,
    has_ended: bool,
    /// Makes room for another call when it is dropped.
    _running: RunningCall,
}

impl StartedRecord {
    pub(super) fn begin(calls: &Arc<Calls>, id: &str, tool: &str, running: RunningCall) -> Self {
        calls.running.fetch_add(1, Relaxed);
        Self {
            calls: Arc::clone(calls),
            id: id.to_owned(),
            tool: tool.to_owned(),
            started_at: Instant::now(),
            has_ended: false,
            _running: running,
        }
    }

    pub(super) fn calls(&self) -> &Arc<Calls> {
        &self.calls
    }

    /// Ends it with a result.
    pub(super) fn end(mut self, result: &ToolResult) {
        self.has_ended = true;
        if let Some(within) = &result.usage().tool_calls {
            lock(&self.calls.usage).include(within);
        }
        let code = result.tool_error().map(|error| error.code.to_string());
        self.add(code, result.usage().wall);
    }

    fn add(&self, code: Option<String>, wall: Duration) {
        let usage = ToolCallUsage::new(&self.id, &self.tool, code, wall);
        lock(&self.calls.usage).add(usage);
    }
}

impl Drop for StartedRecord {
    fn drop(&mut self) {
        self.calls.running.fetch_sub(1, Relaxed);
        if self.has_ended {
            return;
        }
        let wall = self.started_at.elapsed();
        self.add(Some(ToolErrorCode::Cancelled.as_str().to_owned()), wall);
        *lock(&self.calls.stopped) = Some(LastStopped {
            id: std::mem::take(&mut self.id),
            tool: std::mem::take(&mut self.tool),
            wall,
            at: Instant::now(),
        });
    }
}
