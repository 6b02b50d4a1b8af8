//! What is asked of other agents, and what comes back.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolhost_contract::JsonObject;

/// How long a request waits where it does not say: `timeoutMs` is 60,000.
pub(super) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A request to another agent.
#[derive(Debug, Clone)]
pub struct Request {
    /// Agent that is asked.
    pub target: String,
    /// What it is asked.
    pub input: Value,
    /// Which instance of it. Default: the one under the key of the one who asks.
    pub instance_key: Option<String>,
    /// Type of the event. Default: `agent.request`.
    pub event_type: String,
    /// How long to wait for the answer; of no account in [`Mode::Async`]. Default: 60 s.
    pub timeout: Duration,
    /// Whether to wait. Default: yes.
    pub mode: Mode,
    /// Whatever else is said. The keys `delivery` and `deliveryAttempt` are the orchestrator's.
    pub metadata: Option<JsonObject>,
}

/// Whether a request waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It waits.
    Wait,
    /// It does not: the answer is kept for
    /// [`take_responses`](super::AgentsClient::take_responses), also over a restart of the host.
    Async,
}

/// Something another agent is told, and no answer wanted.
#[derive(Debug, Clone)]
pub struct Message {
    /// Agent that is told.
    pub target: String,
    /// What it is told.
    pub input: Value,
    /// Which instance of it. Default: the one under the key of the one who sends.
    pub instance_key: Option<String>,
    /// Type of the event. Default: `agent.send`.
    pub event_type: String,
    /// Whatever else is said. The keys `delivery` and `deliveryAttempt` are the orchestrator's.
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

/// What became of a request.
///
/// ```json
/// {"target": "coder", "eventId": "…", "correlationId": "…", "accepted": true, "async": false,
///  "response": {"n": 1}}
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Requested {
    /// Agent that was asked.
    pub target: String,
    /// Id of the event.
    pub event_id: String,
    /// Id that the response repeats.
    pub correlation_id: String,
    /// Always true: what is not accepted is an error.
    pub accepted: bool,
    /// Whether it was a [`Mode::Async`] request.
    #[serde(rename = "async")]
    pub is_async: bool,
    /// What the agent answered; `null` of a [`Mode::Async`] request.
    pub response: Value,
}

/// What became of a message: `{"target", "eventId", "accepted": true, "sent": true}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Sent {
    /// Agent that is told.
    pub target: String,
    /// Id of the event.
    pub event_id: String,
    /// Always true: what is not accepted is an error.
    pub accepted: bool,
    /// Always true.
    pub sent: bool,
}

/// What became of an event from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It was accepted.
    Accepted,
    /// An event of its id was accepted before; nothing was done.
    Duplicate,
}

/// An instance that was started: `{"target", "instanceKey", "spawned"}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spawned {
    /// Its agent.
    pub target: String,
    /// Its key.
    pub instance_key: String,
    /// Whether it was started now; it ran already otherwise.
    pub spawned: bool,
}

/// An instance that runs: `{"target", "instanceKey", "state": "idle", "queued": 0}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceInfo {
    /// Its agent.
    pub target: String,
    /// Its key.
    pub instance_key: String,
    /// What it does.
    pub state: InstanceState,
    /// Events that wait for it.
    pub queued: usize,
}

/// What an instance does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InstanceState {
    /// Nothing.
    Idle,
    /// It takes a turn.
    Running,
}

/// An agent that is known: `{"name", "description"?}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentInfo {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}
