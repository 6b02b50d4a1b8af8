//! Messages between the orchestrator and an agent's process: one JSON object per line.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::delegation::Delegation;
use super::event::AgentEvent;
use super::limits::{self, EventError, NAME_BYTES_MAX};
use crate::{JsonError, JsonLimits};

/// Longest message, in bytes without the line feed.
pub const IPC_LINE_BYTES_MAX: usize = 1 << 20;

/// Deepest nesting of a message.
pub const IPC_DEPTH_MAX: usize = 64;

/// Most JSON values in a message.
const IPC_VALUES_MAX: u64 = 100_000;

/// One message between the orchestrator and an agent's process.
///
/// ```json
/// {"type": "event", "from": "planner", "to": "coder", "payload": {"id": "evt-1", …}}
/// {"type": "shutdown", "from": "orchestrator", "to": "coder", "payload": {"graceMs": 5000}}
/// {"type": "shutdown_ack", "from": "coder", "to": "orchestrator", "payload": null}
/// ```
///
/// Spec: tool-spec-v2 §11.2; `delegate` and `delegate_result` as in its earlier version, §9.2.
#[derive(Debug, Clone, PartialEq)]
pub struct IpcMessage {
    /// Sending agent, or `orchestrator`.
    pub from: String,
    /// Receiving agent, or `orchestrator`.
    pub to: String,
    /// Type and payload.
    pub body: IpcBody,
}

/// Type and payload of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum IpcBody {
    /// `event`: an event or a response.
    Event(Box<AgentEvent>),
    /// `shutdown`: the process must end within the grace period.
    Shutdown(Value),
    /// `shutdown_ack`: the process is ending.
    ShutdownAck(Value),
    /// `delegate`, of the earlier version: a request.
    Delegate(Delegation),
    /// `delegate_result`, of the earlier version: its response.
    DelegateResult(Delegation),
}

/// A message that cannot be parsed or sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IpcError {
    /// The message exceeds a limit, is not JSON, or not a message.
    #[error("the message {0}")]
    Json(#[from] JsonError),
    /// The message lacks the fields of its type.
    #[error("the text is not a message of a known type")]
    Shape(#[source] serde_json::Error),
    /// A field of the event is invalid.
    #[error("a field of the message is invalid")]
    Field(#[from] EventError),
}

impl IpcError {
    /// Checks the length and the nesting of a JSON text that this host wrote.
    ///
    /// # Errors
    /// [`IpcError::Json`] if the text exceeds one of them.
    pub fn check_size(json: &str, bytes_max: usize, depth_max: usize) -> Result<(), Self> {
        let limits = JsonLimits::new(bytes_max as u64, depth_max, u64::MAX);
        limits.check(json)?;
        Ok(())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum MessageKind {
    Event,
    Shutdown,
    ShutdownAck,
    Delegate,
    DelegateResult,
}

/// A message in its JSON form. `S` is the type of its texts, `P` of its payload.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct JsonMessage<S, P> {
    #[serde(rename = "type")]
    kind: MessageKind,
    from: S,
    to: S,
    #[serde(default)]
    payload: P,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<S>,
}

impl AgentEvent {
    /// Parses an event from JSON of at most [`IPC_LINE_BYTES_MAX`] and [`IPC_DEPTH_MAX`].
    ///
    /// # Errors
    /// [`IpcError`] if the JSON exceeds a limit or is not an event.
    pub fn parse(json: &[u8]) -> Result<Self, IpcError> {
        let event: Self = bounded(json)?;
        event.check()?;
        Ok(event)
    }
}

impl IpcMessage {
    /// Creates a message that contains an event.
    pub fn event(from: impl Into<String>, to: impl Into<String>, event: AgentEvent) -> Self {
        Self {
            from: from.into(),
            to: to.into(),
            body: IpcBody::Event(Box::new(event)),
        }
    }

    /// Parses one line, with or without its line feed.
    ///
    /// # Errors
    /// [`IpcError`] if the line exceeds a limit or is not a message of a known type.
    pub fn parse(line: &[u8]) -> Result<Self, IpcError> {
        let read: JsonMessage<String, Value> = bounded(line)?;
        limits::text("from", &read.from, NAME_BYTES_MAX)?;
        limits::text("to", &read.to, NAME_BYTES_MAX)?;
        if let Some(id) = &read.correlation_id {
            limits::correlation_id(id)?;
        }
        let delegation = |payload| Delegation {
            payload,
            correlation_id: read.correlation_id,
        };
        let body = match read.kind {
            MessageKind::Event => {
                let event: AgentEvent =
                    serde_json::from_value(read.payload).map_err(IpcError::Shape)?;
                event.check()?;
                IpcBody::Event(Box::new(event))
            }
            MessageKind::Shutdown => IpcBody::Shutdown(read.payload),
            MessageKind::ShutdownAck => IpcBody::ShutdownAck(read.payload),
            MessageKind::Delegate => IpcBody::Delegate(delegation(read.payload)),
            MessageKind::DelegateResult => IpcBody::DelegateResult(delegation(read.payload)),
        };
        Ok(Self {
            from: read.from,
            to: read.to,
            body,
        })
    }

    /// Writes the message as one line, with its line feed.
    ///
    /// # Errors
    /// [`IpcError`] if the message exceeds a limit that [`Self::parse`] checks.
    pub fn to_line(&self) -> Result<String, IpcError> {
        let mut line = match &self.body {
            IpcBody::Event(event) => self.write(MessageKind::Event, event, None),
            IpcBody::Shutdown(payload) => self.write(MessageKind::Shutdown, payload, None),
            IpcBody::ShutdownAck(payload) => self.write(MessageKind::ShutdownAck, payload, None),
            IpcBody::Delegate(content) => self.delegation(MessageKind::Delegate, content),
            IpcBody::DelegateResult(content) => {
                self.delegation(MessageKind::DelegateResult, content)
            }
        }?;
        LIMITS.check(&line)?;
        line.push('\n');
        Ok(line)
    }

    fn delegation(&self, kind: MessageKind, content: &Delegation) -> Result<String, IpcError> {
        self.write(kind, &content.payload, content.correlation_id.as_deref())
    }

    fn write<P: Serialize>(
        &self,
        kind: MessageKind,
        payload: &P,
        correlation_id: Option<&str>,
    ) -> Result<String, IpcError> {
        let message = JsonMessage::<&str, &P> {
            kind,
            from: &self.from,
            to: &self.to,
            payload,
            correlation_id,
        };
        serde_json::to_string(&message).map_err(IpcError::Shape)
    }
}

/// The limits of a message. Its values bound the memory: a parsed value is much larger than its two bytes of
/// JSON.
const LIMITS: JsonLimits =
    JsonLimits::new(IPC_LINE_BYTES_MAX as u64, IPC_DEPTH_MAX, IPC_VALUES_MAX);

/// Parses JSON within the limits of a message.
fn bounded<T: DeserializeOwned>(json: &[u8]) -> Result<T, IpcError> {
    Ok(LIMITS.parse_bytes(json.strip_suffix(b"\n").unwrap_or(json))?)
}
