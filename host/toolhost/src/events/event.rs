//! One event.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use toolhost_contract::{ToolError, ToolStatus, Usage};

use super::trace::TraceContext;
use toolhost_contract::Timestamp;

/// Longest id or name in an event, in bytes; longer ones are cut, and end in `…`.
const ID_MAX_BYTES: usize = 256;

/// Longest message of an error in an event, in bytes.
const MESSAGE_MAX_BYTES: usize = 4096;

/// What has happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum EventKind {
    /// A turn has begun.
    #[serde(rename = "turn.started")]
    TurnStarted,
    /// A turn has ended well.
    #[serde(rename = "turn.completed")]
    TurnCompleted,
    /// A turn has ended with an error, or was dropped.
    #[serde(rename = "turn.failed")]
    TurnFailed,
    /// A step has begun.
    #[serde(rename = "step.started")]
    StepStarted,
    /// A step has ended well.
    #[serde(rename = "step.completed")]
    StepCompleted,
    /// A step has ended with an error, or was dropped.
    #[serde(rename = "step.failed")]
    StepFailed,
    /// A tool is called; whether it may be is not decided yet.
    #[serde(rename = "tool.called")]
    ToolCalled,
    /// A call has its output.
    #[serde(rename = "tool.completed")]
    ToolCompleted,
    /// A call was refused, has failed or was dropped.
    #[serde(rename = "tool.failed")]
    ToolFailed,
    /// A call was accepted; its result comes later.
    #[serde(rename = "tool.pending")]
    ToolPending,
    /// A call that was accepted has ended, well or not: see `status`.
    #[serde(rename = "tool.settled")]
    ToolSettled,
}

/// Why something failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventError {
    /// Code to branch on. `E_CANCELLED` is a turn or a step that was dropped.
    #[serde(serialize_with = "shared")]
    pub code: Arc<str>,
    /// What went wrong, as the model is told; at most 4 KiB.
    #[serde(serialize_with = "shared")]
    pub message: Arc<str>,
}

impl EventError {
    /// Makes one; what is too long is cut.
    #[must_use]
    pub fn new(code: &str, message: &str) -> Self {
        Self {
            code: bounded(code),
            message: cut(message, MESSAGE_MAX_BYTES),
        }
    }
}

impl From<&ToolError> for EventError {
    fn from(error: &ToolError) -> Self {
        Self::new(error.code.as_str(), &error.message)
    }
}

/// Something that happened at run time. As JSON, its fields are in camelCase beside those of
/// [`TraceContext`] (`traceId`, `spanId`, `parentSpanId`, `callerTraceId`), and `kind` is `type`;
/// what is not set is left out.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RuntimeEvent {
    /// What has happened.
    pub kind: EventKind,
    /// When, by the wall clock.
    pub timestamp: Timestamp,
    /// The agent.
    pub agent_name: Arc<str>,
    /// Key of the agent's instance.
    pub instance_key: Arc<str>,
    /// Id of the turn.
    pub turn_id: Arc<str>,
    /// Id of the step, of a step or a call.
    pub step_id: Option<Arc<str>>,
    /// Id of the call.
    pub tool_call_id: Option<Arc<str>>,
    /// Name that was called, as the model spelled it.
    pub tool_name: Option<Arc<str>>,
    /// Its place in the trace. What begins and what ends the same thing have the same.
    pub trace: TraceContext,
    /// How it ended.
    pub status: Option<ToolStatus>,
    /// Milliseconds from its beginning, by a clock that never goes back.
    pub duration_ms: Option<f64>,
    /// Why it failed.
    pub error: Option<EventError>,
    /// What the call used.
    pub usage: Option<Usage>,
    /// Handle of a call that was accepted.
    pub handle: Option<Arc<str>>,
}

impl Serialize for RuntimeEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        map.serialize_entry("agentName", &*self.agent_name)?;
        map.serialize_entry("instanceKey", &*self.instance_key)?;
        map.serialize_entry("turnId", &*self.turn_id)?;
        let trace = &self.trace;
        let mut text = |name, value: Option<&str>| match value {
            Some(value) => map.serialize_entry(name, value),
            None => Ok(()),
        };
        text("stepId", self.step_id.as_deref())?;
        text("toolCallId", self.tool_call_id.as_deref())?;
        text("toolName", self.tool_name.as_deref())?;
        text("handle", self.handle.as_deref())?;
        text("callerTraceId", trace.caller_trace_id())?;
        map.serialize_entry("traceId", &trace.trace_id())?;
        map.serialize_entry("spanId", &trace.span_id())?;
        if let Some(parent) = trace.parent_span_id() {
            map.serialize_entry("parentSpanId", &parent)?;
        }
        if let Some(status) = self.status {
            map.serialize_entry("status", &status)?;
        }
        if let Some(duration) = self.duration_ms {
            map.serialize_entry("durationMs", &duration)?;
        }
        if let Some(error) = &self.error {
            map.serialize_entry("error", error)?;
        }
        if let Some(usage) = &self.usage {
            map.serialize_entry("usage", usage)?;
        }
        map.end()
    }
}

fn shared<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

/// An id or a name from elsewhere, within the limit.
pub(super) fn bounded(text: &str) -> Arc<str> {
    cut(text, ID_MAX_BYTES)
}

fn cut(text: &str, max: usize) -> Arc<str> {
    if text.len() <= max {
        return text.into();
    }
    let kept = text
        .get(..text.floor_char_boundary(max))
        .unwrap_or_default();
    format!("{kept}…").into()
}
