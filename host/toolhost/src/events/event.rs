//! The event type and its JSON form.

use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use toolhost_contract::{Timestamp, ToolError, ToolName, ToolStatus, Usage};

use super::bounded::{bounded_id, bounded_message};
use super::trace::TraceContext;
use crate::oauth::Granted;

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
    /// The tools of a step were searched: see `search`.
    #[serde(rename = "tools.searched")]
    ToolsSearched,
    /// A user granted access to an OAuthApp: see `auth`. It belongs to no agent, instance or turn.
    #[serde(rename = "auth.granted")]
    AuthGranted,
}

/// Most names of hits in an event.
const BEST_MAX: usize = 5;

/// A search of the tools of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ToolSearch {
    /// The query without the policy's secrets; cut at 256 bytes.
    #[serde(serialize_with = "shared")]
    pub query: Arc<str>,
    /// Number of tools that it found.
    pub hits: usize,
    /// Names of the first five.
    pub best: Vec<ToolName>,
}

impl ToolSearch {
    pub(super) fn new(query: &str, hits: &[ToolName]) -> Self {
        Self {
            query: bounded_id(query),
            hits: hits.len(),
            best: hits.iter().take(BEST_MAX).cloned().collect(),
        }
    }
}

/// Error of a failed turn, step or call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
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
    /// The search of a `tools.searched` event.
    pub search: Option<Box<ToolSearch>>,
    /// The grant of an `auth.granted` event.
    pub auth: Option<Box<Granted>>,
}

impl RuntimeEvent {
    /// Returns an event that belongs to nobody, without its time.
    pub(super) fn new(kind: EventKind, trace: TraceContext) -> Self {
        Self {
            kind,
            timestamp: Timestamp(UNIX_EPOCH),
            agent_name: Arc::default(),
            instance_key: Arc::default(),
            turn_id: Arc::default(),
            step_id: None,
            tool_call_id: None,
            tool_name: None,
            trace,
            status: None,
            duration_ms: None,
            error: None,
            usage: None,
            handle: None,
            search: None,
            auth: None,
        }
    }
}

impl Serialize for RuntimeEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", &self.kind)?;
        map.serialize_entry("timestamp", &self.timestamp)?;
        if let Some(auth) = &self.auth {
            map.serialize_entry("auth", auth)?;
            return map.end();
        }
        map.serialize_entry("agentName", &*self.agent_name)?;
        map.serialize_entry("instanceKey", &*self.instance_key)?;
        map.serialize_entry("turnId", &*self.turn_id)?;
        optional(&mut map, "stepId", self.step_id.as_deref())?;
        optional(&mut map, "toolCallId", self.tool_call_id.as_deref())?;
        optional(&mut map, "toolName", self.tool_name.as_deref())?;
        optional(&mut map, "handle", self.handle.as_deref())?;
        optional(&mut map, "callerTraceId", self.trace.caller_trace_id())?;
        map.serialize_entry("traceId", &self.trace.trace_id())?;
        map.serialize_entry("spanId", &self.trace.span_id())?;
        let parent_span_id = self.trace.parent_span_id();
        optional(&mut map, "parentSpanId", parent_span_id.as_ref())?;
        optional(&mut map, "status", self.status.as_ref())?;
        optional(&mut map, "durationMs", self.duration_ms.as_ref())?;
        optional(&mut map, "error", self.error.as_ref())?;
        optional(&mut map, "usage", self.usage.as_ref())?;
        optional(&mut map, "search", self.search.as_deref())?;
        map.end()
    }
}

fn optional<M: SerializeMap>(
    map: &mut M,
    key: &str,
    value: Option<&(impl Serialize + ?Sized)>,
) -> Result<(), M::Error> {
    value.map_or(Ok(()), |value| map.serialize_entry(key, value))
}

fn shared<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}
