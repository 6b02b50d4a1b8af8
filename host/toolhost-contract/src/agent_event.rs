//! The unified event model: what agents, users and connectors say to an agent, and how it travels.

mod delegation;
mod ipc;
mod limits;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::JsonObject;

pub use delegation::Delegation;
pub use ipc::{IPC_DEPTH_MAX, IPC_LINE_BYTES_MAX, IpcBody, IpcError, IpcMessage};
pub use limits::EventError;

/// `type` of the event that answers a request.
pub const RESPONSE_TYPE: &str = "agent.response";

/// Key of a response's `metadata`: the correlation id of the request it answers.
const IN_REPLY_TO: &str = "inReplyTo";

/// Key of a response's `metadata`: why the turn failed, where it did.
const ERROR: &str = "error";

/// Something an agent is told: one event is one turn.
///
/// ```json
/// {"id": "evt-1", "type": "agent.request", "createdAt": "2026-11-21T05:00:00.000Z",
///  "traceId": "trace-1", "source": {"kind": "agent", "name": "planner"}, "input": {"q": 1},
///  "instanceKey": "user-7", "metadata": {}, "replyTo": {"target": "planner", "correlationId": "c-1"}}
/// ```
///
/// The fields are open, so what others sent is to be taken by [`AgentEvent::parse`] or
/// [`IpcMessage::parse`], which check them.
///
/// Spec: tool-spec-v2 §2.6, §11.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentEvent {
    /// Id: two events of one id are one event, delivered twice. At most 128 bytes.
    pub id: String,
    /// What kind of event it is, such as `agent.request`. At most 128 bytes.
    #[serde(rename = "type")]
    pub event_type: String,
    /// When it was made: RFC 3339.
    pub created_at: String,
    /// Trace it belongs to. At most 128 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Who made it.
    pub source: EventSource,
    /// What is said; `null` is nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Instance of the agent it is for. At most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_key: Option<String>,
    /// Whatever else its maker says of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// Who waits for an answer: set for a request, absent for what is merely sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<ReplyTo>,
}

/// Who made an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventSource {
    /// `agent`, `user`, `connector`, or a runtime's own word. At most 64 bytes.
    pub kind: String,
    /// Its name. At most 256 bytes.
    pub name: String,
}

/// Who waits for an answer, and under which id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplyTo {
    /// Agent that asks. At most 256 bytes.
    pub target: String,
    /// Id that the answer repeats as `metadata.inReplyTo`. At most 128 bytes.
    pub correlation_id: String,
}

impl EventSource {
    /// An agent of this name.
    pub fn agent(name: impl Into<String>) -> Self {
        Self {
            kind: "agent".to_owned(),
            name: name.into(),
        }
    }

    /// A user of this name.
    pub fn user(name: impl Into<String>) -> Self {
        Self {
            kind: "user".to_owned(),
            name: name.into(),
        }
    }
}

impl AgentEvent {
    /// Makes an event with nothing but what it must have.
    pub fn new(
        id: impl Into<String>,
        event_type: impl Into<String>,
        created_at: impl Into<String>,
        source: EventSource,
    ) -> Self {
        Self {
            id: id.into(),
            event_type: event_type.into(),
            created_at: created_at.into(),
            trace_id: None,
            source,
            input: None,
            instance_key: None,
            metadata: None,
            reply_to: None,
        }
    }

    /// Parses an event from JSON, of at most [`IPC_LINE_BYTES_MAX`] and [`IPC_DEPTH_MAX`].
    ///
    /// # Errors
    /// [`IpcError`] where it is too large, too deep, or no event.
    pub fn parse(json: &[u8]) -> Result<Self, IpcError> {
        let event: Self = ipc::bounded(json)?;
        event.check()?;
        Ok(event)
    }

    /// Checks that every field is within its limits.
    ///
    /// # Errors
    /// [`EventError`] naming the first field that is not.
    pub fn check(&self) -> Result<(), EventError> {
        limits::check(self)
    }

    /// Makes the answer to a request: a value, or an error as a JSON object. None where nobody waits.
    ///
    /// Carries the trace of the request, and its correlation id as `metadata.inReplyTo`.
    pub fn response(
        &self,
        id: impl Into<String>,
        created_at: impl Into<String>,
        source: EventSource,
        answer: Result<Value, JsonObject>,
    ) -> Option<Self> {
        let reply_to = self.reply_to.as_ref()?;
        let mut metadata = JsonObject::new();
        metadata.insert(IN_REPLY_TO.to_owned(), json!(reply_to.correlation_id));
        let input = match answer {
            Ok(value) => Some(value),
            Err(error) => {
                metadata.insert(ERROR.to_owned(), Value::Object(error));
                None
            }
        };
        Some(Self {
            trace_id: self.trace_id.clone(),
            input,
            metadata: Some(metadata),
            ..Self::new(id, RESPONSE_TYPE, created_at, source)
        })
    }

    /// The correlation id of the request that this event answers; none for any other event.
    #[must_use]
    pub fn in_reply_to(&self) -> Option<&str> {
        if self.event_type != RESPONSE_TYPE {
            return None;
        }
        self.metadata.as_ref()?.get(IN_REPLY_TO)?.as_str()
    }

    /// What a response says: its value, or the error of the turn as a JSON value.
    ///
    /// # Errors
    /// The error, where the turn failed.
    pub fn into_answer(self) -> Result<Value, Value> {
        let error = self.metadata.and_then(|mut all| all.shift_remove(ERROR));
        error.map_or(Ok(self.input.unwrap_or_default()), Err)
    }
}

#[cfg(test)]
mod tests;
