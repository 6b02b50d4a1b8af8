//! The messages between the orchestrator and an agent's process: JSON, one message a line.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::limits::{self, NAME_BYTES_MAX};
use super::{AgentEvent, Delegation, EventError};
use crate::JsonShape;

/// Longest message, in bytes, its line feed not counted.
pub const IPC_LINE_BYTES_MAX: usize = 1 << 20;

/// Deepest nesting of a message.
pub const IPC_DEPTH_MAX: usize = 64;

/// Most JSON values in a message: each takes far more memory than the two bytes it may be written in.
pub(super) const IPC_VALUES_MAX: u64 = 100_000;

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
    /// Agent that speaks, or `orchestrator`.
    pub from: String,
    /// Agent it is for, or `orchestrator`.
    pub to: String,
    /// What is said.
    pub body: IpcBody,
}

/// What a message says.
#[derive(Debug, Clone, PartialEq)]
pub enum IpcBody {
    /// `event`: something an agent is told, or an answer.
    Event(Box<AgentEvent>),
    /// `shutdown`: end within the grace.
    Shutdown(Value),
    /// `shutdown_ack`: the process ends now.
    ShutdownAck(Value),
    /// `delegate`, of the earlier version: a request.
    Delegate(Delegation),
    /// `delegate_result`, of the earlier version: its answer.
    DelegateResult(Delegation),
}

/// Why a line is no message.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IpcError {
    /// The line is too long.
    #[error("the message has {bytes} bytes, and {IPC_LINE_BYTES_MAX} are the most")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It has more values than anybody accepts.
    #[error("the message has {values} values, and {IPC_VALUES_MAX} are the most")]
    TooManyValues {
        /// How many.
        values: u64,
    },
    /// It is nested too deep.
    #[error("the message is nested {depth} deep, and {IPC_DEPTH_MAX} is the most")]
    TooDeep {
        /// How deep.
        depth: usize,
    },
    /// It is no UTF-8.
    #[error("the message is not UTF-8")]
    NotUtf8(#[source] std::str::Utf8Error),
    /// It is no JSON, or not of this shape.
    #[error("the message does not have the shape of one")]
    Shape(#[source] serde_json::Error),
    /// A field is outside its limits.
    #[error("a field of the message is refused")]
    Field(#[from] EventError),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Event,
    Shutdown,
    ShutdownAck,
    Delegate,
    DelegateResult,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Read {
    #[serde(rename = "type")]
    kind: Kind,
    from: String,
    to: String,
    #[serde(default)]
    payload: Value,
    #[serde(default)]
    correlation_id: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Written<'a, P> {
    #[serde(rename = "type")]
    kind: Kind,
    from: &'a str,
    to: &'a str,
    payload: &'a P,
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<&'a str>,
}

impl IpcMessage {
    /// Makes a message that carries an event.
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
    /// [`IpcError`] where it is too long, too deep or no message of a known type.
    pub fn parse(line: &[u8]) -> Result<Self, IpcError> {
        let read: Read = bounded(line)?;
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
            Kind::Event => {
                let event: AgentEvent =
                    serde_json::from_value(read.payload).map_err(IpcError::Shape)?;
                event.check()?;
                IpcBody::Event(Box::new(event))
            }
            Kind::Shutdown => IpcBody::Shutdown(read.payload),
            Kind::ShutdownAck => IpcBody::ShutdownAck(read.payload),
            Kind::Delegate => IpcBody::Delegate(delegation(read.payload)),
            Kind::DelegateResult => IpcBody::DelegateResult(delegation(read.payload)),
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
    /// [`IpcError::TooLong`] or [`IpcError::TooDeep`] where nobody would accept it.
    pub fn to_line(&self) -> Result<String, IpcError> {
        let mut line = match &self.body {
            IpcBody::Event(event) => self.write(Kind::Event, event, None),
            IpcBody::Shutdown(payload) => self.write(Kind::Shutdown, payload, None),
            IpcBody::ShutdownAck(payload) => self.write(Kind::ShutdownAck, payload, None),
            IpcBody::Delegate(told) => self.delegation(Kind::Delegate, told),
            IpcBody::DelegateResult(told) => self.delegation(Kind::DelegateResult, told),
        }?;
        within(&line)?;
        line.push('\n');
        Ok(line)
    }

    fn delegation(&self, kind: Kind, told: &Delegation) -> Result<String, IpcError> {
        self.write(kind, &told.payload, told.correlation_id.as_deref())
    }

    fn write<P: Serialize>(
        &self,
        kind: Kind,
        payload: &P,
        correlation_id: Option<&str>,
    ) -> Result<String, IpcError> {
        let written = Written {
            kind,
            from: &self.from,
            to: &self.to,
            payload,
            correlation_id,
        };
        serde_json::to_string(&written).map_err(IpcError::Shape)
    }
}

/// Reads a value from JSON within the limits of a message.
pub(super) fn bounded<T: DeserializeOwned>(json: &[u8]) -> Result<T, IpcError> {
    let json = json.strip_suffix(b"\n").unwrap_or(json);
    let json = std::str::from_utf8(json).map_err(IpcError::NotUtf8)?;
    within(json)?;
    serde_json::from_str(json).map_err(IpcError::Shape)
}

fn within(json: &str) -> Result<(), IpcError> {
    let bytes = json.len();
    if bytes > IPC_LINE_BYTES_MAX {
        return Err(IpcError::TooLong { bytes });
    }
    let JsonShape { depth, values } = JsonShape::of(json);
    if depth > IPC_DEPTH_MAX {
        return Err(IpcError::TooDeep { depth });
    }
    if values > IPC_VALUES_MAX {
        return Err(IpcError::TooManyValues { values });
    }
    Ok(())
}
