//! The port through which a guest reaches other agents.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use serde_json::Value;
use toolhost_contract::HandlerError;
use toolhost_contract::agents::{AgentInfo, Message, Request, Requested, Sent, Spawned};

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
/// What a guest passes is limited in size, and otherwise unchecked: each name, key and type has at most 1 KiB, and
/// inputs and metadata are within the limits of an input.
///
/// A `code` of the host's, such as `AGENT_REQUEST_TIMEOUT`, reaches the guest as it is, and is not
/// one that the guest may raise.
pub trait AgentsPort: Send + Sync + fmt::Debug {
    /// Sends a request to an agent and waits for its answer, within [`Request::timeout`], which is 1 ms to 49 days and
    /// less than the call itself has left.
    fn request(&self, request: Request) -> AgentsFuture<Requested>;

    /// Sends an event to an agent.
    fn send(&self, message: Message) -> AgentsFuture<Sent>;

    /// Makes an instance of an agent, where there is none yet. The default key is the caller's.
    fn spawn(&self, target: String, instance_key: Option<String>) -> AgentsFuture<Spawned>;

    /// Lists the instances that the caller may reach, as in `{"count": 0, "agents": []}`.
    fn list(&self) -> AgentsFuture<Value>;

    /// Lists the agents that the caller may reach.
    fn catalog(&self) -> AgentsFuture<Vec<AgentInfo>>;
}

/// The future of a port's method.
pub type AgentsFuture<T> = Pin<Box<dyn Future<Output = Result<T, HandlerError>> + Send>>;
