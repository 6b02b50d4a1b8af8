//! Requests and messages of an agent to others, and their outcomes.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;

/// How long a request waits by default: `timeoutMs` is 60,000.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A request to another agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The agent.
    pub target: String,
    /// Any JSON.
    pub input: Value,
    /// Key of its instance. Default: the requester's own key.
    pub instance_key: Option<String>,
    /// Type of the event. Default: `agent.request`.
    pub event_type: String,
    /// How long to wait for the answer; not used in [`Mode::Async`]. Default: 60 s.
    pub timeout: Duration,
    /// Whether to wait. Default: [`Mode::Wait`].
    pub mode: Mode,
    /// Further data. The keys `delivery` and `deliveryAttempt` are reserved for the orchestrator.
    pub metadata: Option<JsonObject>,
}

/// Whether a request waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It waits.
    Wait,
    /// It does not wait. The answer is stored, over restarts of the host, until the requester takes it.
    Async,
}

/// A message to another agent, which gets no answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The agent.
    pub target: String,
    /// Any JSON.
    pub input: Value,
    /// Key of its instance. Default: the sender's own key.
    pub instance_key: Option<String>,
    /// Type of the event. Default: `agent.send`.
    pub event_type: String,
    /// Further data. The keys `delivery` and `deliveryAttempt` are reserved for the orchestrator.
    pub metadata: Option<JsonObject>,
}

impl Request {
    /// A request that waits.
    pub fn new(target: impl Into<String>, input: Value) -> Self {
        Self {
            target: target.into(),
            input,
            instance_key: None,
            event_type: "agent.request".to_owned(),
            timeout: DEFAULT_TIMEOUT,
            mode: Mode::Wait,
            metadata: None,
        }
    }
}

impl Message {
    /// A message.
    pub fn new(target: impl Into<String>, input: Value) -> Self {
        Self {
            target: target.into(),
            input,
            instance_key: None,
            event_type: "agent.send".to_owned(),
            metadata: None,
        }
    }
}

/// The outcome of a request.
///
/// ```json
/// {"target": "coder", "eventId": "…", "correlationId": "…", "accepted": true, "async": false,
///  "response": {"n": 1}}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Requested {
    /// The agent.
    pub target: String,
    /// Id of the event.
    pub event_id: String,
    /// Id that the response carries.
    pub correlation_id: String,
    /// Always true: a refused event is an error.
    pub accepted: bool,
    /// Whether it was a [`Mode::Async`] request.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// The agent's answer; `null` for a [`Mode::Async`] request.
    pub response: Value,
}

/// The outcome of a message: `{"target", "eventId", "accepted": true, "sent": true}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// The agent.
    pub target: String,
    /// Id of the event.
    pub event_id: String,
    /// Always true: a refused event is an error.
    pub accepted: bool,
    /// Always true.
    pub sent: bool,
}

/// The outcome of starting an instance: `{"target", "instanceKey", "spawned"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spawned {
    /// Its agent.
    pub target: String,
    /// Its key.
    pub instance_key: String,
    /// True if it was started, false if it ran already.
    pub spawned: bool,
}

/// A registered agent: `{"name", "description"?}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
