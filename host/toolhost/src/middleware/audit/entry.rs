//! The lines of one call.

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use serde_json::{Value, json};
use toolhost_contract::text;
use toolhost_contract::{Timestamp, ToolErrorCode, ToolResult, ToolStatus};

use super::writer::{Slot, Written};
use crate::middleware::contexts::{CallKind, ToolCallContext};
use crate::middleware::progress::Progress;

/// Longest id in a line, in characters. Longer ones are truncated.
const ID_MAX_CHARS: usize = 128;

/// The line with the outcome of a call. It is sent when this is dropped, at the latest.
pub(super) struct Entry {
    /// Where the line goes; none once it was sent.
    slot: Option<Slot>,
    call_kind: CallKind,
    progress: Arc<Progress>,
    line: Value,
    started: Instant,
}

impl Entry {
    pub(super) fn of(context: &ToolCallContext, slot: Slot) -> Self {
        Self {
            slot: Some(slot),
            call_kind: context.call_kind(),
            progress: Arc::clone(context.progress()),
            line: json!({
                "time": Timestamp(SystemTime::now()),
                "agent": context.agent_name(),
                "instance": bounded_id(context.instance_key()),
                "turn": bounded_id(context.turn_id()),
                "step": context.step_id(),
                "trace": bounded_id(context.trace_id()),
                "call": bounded_id(context.tool_call_id()),
                "tool": text::shorten(context.tool_name(), 128),
                "inCatalog": context.call_kind() != CallKind::CallOutsideCatalog,
                "decision": "requested",
            }),
            started: Instant::now(),
        }
    }

    /// Returns the line that is written before the call runs, and makes this the line of a call that
    /// was dropped.
    pub(super) fn begin(&mut self) -> String {
        let requested = self.line.to_string();
        self.set("decision", "dropped");
        self.set("status", json!(ToolStatus::Error));
        self.set("code", ToolErrorCode::Cancelled.as_str());
        requested
    }

    /// Sends the line of a call that was not dropped.
    pub(super) fn finish(mut self, result: &ToolResult) -> Option<Written> {
        let decision = match (self.progress.has_run(), self.call_kind) {
            (false, _) => "refused",
            (true, CallKind::Poll) => "polled",
            (true, CallKind::Call | CallKind::CallOfTool | CallKind::CallOutsideCatalog) => "ran",
        };
        let code = result.tool_error().map(|error| error.code.as_str());
        self.set("decision", decision);
        self.set("status", json!(result.status()));
        self.set("code", code);
        self.send(Some(result))
    }

    fn send(&mut self, result: Option<&ToolResult>) -> Option<Written> {
        let slot = self.slot.take()?;
        let took = self.started.elapsed().as_secs_f64() * 1000.0;
        self.set("durationMs", took);
        if let Some(result) = result {
            self.set("usage", json!(result.usage()));
        }
        Some(slot.send(self.line.to_string()))
    }

    fn set(&mut self, key: &str, value: impl Into<Value>) {
        if let Some(line) = self.line.as_object_mut() {
            line.insert(key.to_owned(), value.into());
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        drop(self.send(None));
    }
}

/// Truncates an id. The line escapes its control characters.
fn bounded_id(id: &str) -> String {
    let mut bounded = text::cut(id, ID_MAX_CHARS);
    if bounded.len() < id.len() {
        bounded.push('…');
    }
    bounded
}
