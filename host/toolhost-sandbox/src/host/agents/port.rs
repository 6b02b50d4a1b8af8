//! How a guest reaches other agents: through a port that the host gives to one call.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::Value;
use toolhost_contract::{HandlerError, JsonObject};

/// The other agents, as one call may reach them: behind it are the caller's identity and rights.
///
/// A port is the operator's grant: a call without one is denied, and no port hears of it.
///
/// Each method is called, and its future run, as a task of the runtime that the call is awaited in;
/// where there is none, on the sandbox's own threads, which have neither timers nor a network. The
/// call is parked meanwhile: it keeps its instance and its memory, and gives its running place to
/// others, so that what the port starts may run in the same sandbox. When the call is dropped, or
/// stopped at its deadline, the task is aborted.
///
/// A `code` of the host's, such as `AGENT_REQUEST_TIMEOUT`, reaches the guest as it is, and is not
/// one that the guest may raise.
pub trait AgentsPort: Send + Sync + fmt::Debug {
    /// Asks an agent and waits for its answer, within [`AgentRequest::timeout`].
    fn request(&self, request: AgentRequest) -> AgentsFuture<AgentResponse>;

    /// Tells an agent something.
    fn send(&self, send: AgentSend) -> AgentsFuture<AgentReceipt>;

    /// Sees to it that an instance of an agent is there.
    fn spawn(&self, spawn: AgentSpawn) -> AgentsFuture<AgentInstance>;

    /// Lists the instances the caller may speak to, as in `{"count": 0, "agents": []}`.
    fn list(&self) -> AgentsFuture<Value>;

    /// Lists the agents the caller may speak to.
    fn catalog(&self) -> AgentsFuture<Vec<AgentEntry>>;
}

/// What a port answers, in time.
pub type AgentsFuture<T> = Pin<Box<dyn Future<Output = Result<T, HandlerError>> + Send>>;

/// What a guest asks of an agent. Its texts are the guest's, bounded and otherwise unchecked.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentRequest {
    /// Name of the agent. At most 1 KiB, as are the key and the type.
    pub target: String,
    /// What it is given, within the limits of an input.
    pub input: Value,
    /// Key of the agent's instance; none means the caller's.
    pub instance_key: Option<String>,
    /// Type of the event; none means `agent.request`.
    pub event_type: Option<String>,
    /// How long to wait, 1 ms to 49 days. Default 60 s, and less than the call itself has left.
    pub timeout: Duration,
    /// Whether to come back once the request is accepted.
    pub no_wait: bool,
    /// What goes with the event, within the limits of an input.
    pub metadata: Option<JsonObject>,
}

/// What became of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentResponse {
    /// Name of the agent.
    pub target: String,
    /// Id of the event that was sent.
    pub event_id: String,
    /// Id that ties the answer to the request.
    pub correlation_id: String,
    /// Whether the event was accepted.
    pub accepted: bool,
    /// Whether the answer was not waited for.
    pub no_wait: bool,
    /// The agent's answer.
    pub response: Option<Value>,
}

/// What a guest tells an agent. Its texts are the guest's, bounded and otherwise unchecked.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentSend {
    /// Name of the agent. At most 1 KiB, as are the key and the type.
    pub target: String,
    /// What it is given, within the limits of an input.
    pub input: Value,
    /// Key of the agent's instance; none means the caller's.
    pub instance_key: Option<String>,
    /// Type of the event; none means `agent.send`.
    pub event_type: Option<String>,
    /// What goes with the event, within the limits of an input.
    pub metadata: Option<JsonObject>,
}

/// What became of an event that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentReceipt {
    /// Name of the agent.
    pub target: String,
    /// Id of the event.
    pub event_id: String,
    /// Whether it was accepted.
    pub accepted: bool,
}

/// Which instance a guest wants to be there.
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

/// An agent that may be spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEntry {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: Option<String>,
}
