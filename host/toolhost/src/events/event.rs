//! The event type and its JSON form.

use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use toolhost_contract::{Timestamp, ToolError, ToolStatus, Usage};

use super::bounded::{bounded_id, bounded_message};
use super::trace::TraceContext;

/// Kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[non_exhaustive]
pub enum EventKind {
    /// A turn started.
    #[serde(rename = "turn.started")]
    TurnStarted,
    /// A turn completed.
    #[serde(rename = "turn.completed")]
    TurnCompleted,
    /// A turn failed or was dropped.
    #[serde(rename = "turn.failed")]
    TurnFailed,
    /// A step started.
    #[serde(rename = "step.started")]
    StepStarted,
    /// A step completed.
    #[serde(rename = "step.completed")]
    StepCompleted,
    /// A step failed or was dropped.
    #[serde(rename = "step.failed")]
    StepFailed,
    /// A tool was called. Sent before the call is admitted.
    #[serde(rename = "tool.called")]
    ToolCalled,
    /// A call completed with an output.
    #[serde(rename = "tool.completed")]
    ToolCompleted,
    /// A call was denied, failed or was dropped.
    #[serde(rename = "tool.failed")]
    ToolFailed,
    /// A call continues in the background; its result comes later.
    #[serde(rename = "tool.pending")]
    ToolPending,
    /// A background call completed or failed: see `status`.
    #[serde(rename = "tool.settled")]
    ToolSettled,
}

/// Error of a failed turn, step or call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventError {
    /// Error code. A dropped turn or step has `E_CANCELLED`.
    #[serde(serialize_with = "shared")]
    pub code: Arc<str>,
    /// Message, as in the result for the model; cut at 4 KiB.
    #[serde(serialize_with = "shared")]
    pub message: Arc<str>,
}

impl EventError {
    /// Creates an error; truncates the code at 256 bytes and the message at 4 KiB.
    #[must_use]
    pub fn new(code: &str, message: &str) -> Self {
        Self {
            code: bounded_id(code),
            message: bounded_message(message),
        }
    }
}

impl From<&ToolError> for EventError {
    fn from(error: &ToolError) -> Self {
        Self::new(error.code.as_str(), &error.message)
    }
}

/// An event of a turn, a step or a call.
///
/// In JSON the fields are in camelCase, `kind` is `type`, and those of `trace` (`traceId`, `spanId`,
/// `parentSpanId`, `callerTraceId`) are at the top level. Unset fields are omitted.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RuntimeEvent {
    /// Kind of the event.
    pub kind: EventKind,
    /// Wall-clock time.
    pub timestamp: Timestamp,
    /// Name of the agent.
    pub agent_name: Arc<str>,
    /// Key of the agent's instance.
    pub instance_key: Arc<str>,
    /// Id of the turn.
    pub turn_id: Arc<str>,
    /// Id of the step. Unset for a turn.
    pub step_id: Option<Arc<str>>,
    /// Id of the call. Unset for turns and steps.
    pub tool_call_id: Option<Arc<str>>,
    /// Name of the called tool, as in the call.
    pub tool_name: Option<Arc<str>>,
    /// Trace and span. The start and end events of an activity have the same.
    pub trace: TraceContext,
    /// Outcome. Set in end events.
    pub status: Option<ToolStatus>,
    /// Milliseconds since the start, by the monotonic clock.
    pub duration_ms: Option<f64>,
    /// Error of a failed activity.
    pub error: Option<EventError>,
    /// Resources used by the call.
    pub usage: Option<Usage>,
    /// Handle of a background call.
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
