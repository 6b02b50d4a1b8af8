//! The port through which a guest reaches other agents.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use toolhost_contract::{HandlerError, JsonObject};

/// The other agents that one call may reach, with the identity and the rights of the caller.
///
/// The port is a grant of the operator. Without one, each function of the interface is denied.
///
/// Each method is called, and its future run, as a task of the runtime that the call is awaited in;
/// where there is none, on the sandbox's own threads, which have neither timers nor a network. The
/// call is parked meanwhile: it keeps its instance and its memory, and gives back its call slot,
/// so that what the port starts may run in the same sandbox. When the call is dropped, or
/// stopped at its deadline, the task is aborted.
///
/// A `code` of the host's, such as `AGENT_REQUEST_TIMEOUT`, reaches the guest as it is, and is not
/// one that the guest may raise.
pub trait AgentsPort: Send + Sync + fmt::Debug {
    /// Sends a request to an agent and waits for its answer, within [`AgentRequest::timeout`].
    fn request(&self, request: AgentRequest) -> AgentsFuture<AgentResponse>;

    /// Sends an event to an agent.
    fn send(&self, send: AgentSend) -> AgentsFuture<AgentReceipt>;

    /// Makes an instance of an agent, where there is none yet.
    fn spawn(&self, spawn: AgentSpawn) -> AgentsFuture<AgentInstance>;

    /// Lists the instances that the caller may reach, as in `{"count": 0, "agents": []}`.
    fn list(&self) -> AgentsFuture<Value>;

    /// Lists the agents that the caller may reach.
    fn catalog(&self) -> AgentsFuture<Vec<AgentEntry>>;
}

/// The future of a port's method.
pub type AgentsFuture<T> = Pin<Box<dyn Future<Output = Result<T, HandlerError>> + Send>>;

/// A request of a guest to an agent. The texts are the guest's: limited in size, otherwise unchecked.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRequest {
    /// Name of the agent. At most 1 KiB, as are the key and the type.
    pub target: String,
    /// The input, within its limits.
    pub input: Value,
    /// Key of the agent's instance; none means the caller's.
    pub instance_key: Option<String>,
    /// Type of the event; none means `agent.request`.
    pub event_type: Option<String>,
    /// How long to wait, 1 ms to 49 days. Default 60 s, and less than the call itself has left.
    pub timeout: Duration,
    /// Whether to return once the request is accepted.
    pub no_wait: bool,
    /// Metadata of the event, within the limits of an input.
    pub metadata: Option<JsonObject>,
}

/// The answer to a request.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentResponse {
    /// Name of the agent.
    pub target: String,
    /// Id of the event that was sent.
    pub event_id: String,
    /// Id shared by the request and its answer.
    pub correlation_id: String,
    /// Whether the event was accepted.
    pub accepted: bool,
    /// Whether the answer was not waited for.
    pub no_wait: bool,
    /// The agent's answer.
    pub response: Option<Value>,
}

/// An event of a guest for an agent. The texts are the guest's: limited in size, otherwise unchecked.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSend {
    /// Name of the agent. At most 1 KiB, as are the key and the type.
    pub target: String,
    /// The input, within its limits.
    pub input: Value,
    /// Key of the agent's instance; none means the caller's.
    pub instance_key: Option<String>,
    /// Type of the event; none means `agent.send`.
    pub event_type: Option<String>,
    /// Metadata of the event, within the limits of an input.
    pub metadata: Option<JsonObject>,
}

/// The receipt of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReceipt {
    /// Name of the agent.
    pub target: String,
    /// Id of the event.
    pub event_id: String,
    /// Whether it was accepted.
    pub accepted: bool,
}

/// The instance that a guest wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSpawn {
    /// Name of the agent. At most 1 KiB, as is the key.
    pub target: String,
    /// Key of the instance; none means the caller's.
    pub instance_key: Option<String>,
}

/// An instance of an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentInstance {
    /// Name of the agent.
    pub target: String,
    /// Key of the instance.
    pub instance_key: String,
    /// Whether it was made now.
    pub spawned: bool,
}

/// An agent that the caller may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
}
