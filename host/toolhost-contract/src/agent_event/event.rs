//! Events that agents, users and connectors send to an agent.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::JsonObject;

/// `type` of the event that answers a request.
pub const RESPONSE_TYPE: &str = "agent.response";

/// Key in a response's `metadata` of the correlation id of the answered request.
const IN_REPLY_TO: &str = "inReplyTo";

/// Key in a response's `metadata` of the error of a failed turn.
const ERROR: &str = "error";

/// An event sent to an agent. The agent runs one turn for each event.
///
/// ```json
/// {"id": "evt-1", "type": "agent.request", "createdAt": "2026-11-21T05:00:00.000Z",
///  "traceId": "trace-1", "source": {"kind": "agent", "name": "planner"}, "input": {"q": 1},
///  "instanceKey": "user-7", "metadata": {}, "replyTo": {"target": "planner", "correlationId": "c-1"}}
/// ```
///
/// The fields are public and unchecked. [`AgentEvent::parse`] and [`IpcMessage::parse`] check the
/// limits of received events.
///
/// [`IpcMessage::parse`]: crate::IpcMessage::parse
///
/// Spec: tool-spec-v2 §2.6, §11.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentEvent {
    /// Id, for deduplication: events with the same id are the same event. At most 128 bytes.
    pub id: String,
    /// Event type, such as `agent.request`. At most 128 bytes.
    #[serde(rename = "type")]
    pub event_type: String,
    /// Creation time, in RFC 3339 format.
    pub created_at: String,
    /// Trace id. At most 128 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The sender.
    pub source: EventSource,
    /// Payload. Absent is the same as `null`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// Key of the receiving agent instance. At most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance_key: Option<String>,
    /// Further fields set by the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
    /// Where to send the response. Absent if the sender expects none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<ReplyTo>,
}

/// Sender of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventSource {
    /// `agent`, `user`, `connector`, or a kind defined by the runtime. At most 64 bytes.
    pub kind: String,
    /// Name of the sender. At most 256 bytes.
    pub name: String,
}

/// Address of a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplyTo {
    /// Agent that receives the response. At most 256 bytes.
    pub target: String,
    /// Id that the response repeats as `metadata.inReplyTo`. At most 128 bytes.
    pub correlation_id: String,
}

impl EventSource {
    /// Returns the source of an agent with this name.
    pub fn agent(name: impl Into<String>) -> Self {
        Self {
            kind: "agent".to_owned(),
            name: name.into(),
        }
    }

    /// Returns the source of a user with this name.
    pub fn user(name: impl Into<String>) -> Self {
        Self {
            kind: "user".to_owned(),
            name: name.into(),
        }
    }
}

impl AgentEvent {
    /// Creates an event with the required fields only.
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

    /// Creates the response to this request: a value, or an error as a JSON object. Returns `None` if
    /// the event has no `replyTo`.
    ///
    /// The response has the request's trace id, and its correlation id as `metadata.inReplyTo`.
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

    /// Returns the correlation id of the answered request, or `None` if this is not a response.
    pub fn in_reply_to(&self) -> Option<&str> {
        if self.event_type != RESPONSE_TYPE {
            return None;
        }
        self.metadata.as_ref()?.get(IN_REPLY_TO)?.as_str()
    }

    /// Returns the value of a response.
    ///
    /// # Errors
    /// The error of the failed turn, as a JSON value.
    pub fn into_answer(self) -> Result<Value, Value> {
        let error = self
            .metadata
            .and_then(|mut members| members.shift_remove(ERROR));
        error.map_or(Ok(self.input.unwrap_or_default()), Err)
    }
}
