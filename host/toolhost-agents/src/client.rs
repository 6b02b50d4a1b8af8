//! What an agent may ask of the others.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use toolhost_contract::AgentEvent;

use super::{AgentInfo, AgentsError, InstanceInfo, Message, Request, Requested, Sent, Spawned};

/// The other agents, as one instance sees them. Cheap to clone.
///
/// In a turn it comes from [`TurnPort::agents`](super::TurnPort::agents); for an instance whose turns
/// are taken elsewhere, from [`Orchestrator::client`](super::Orchestrator::client). In an agent's own
/// process it speaks to the orchestrator over the process's standard streams.
#[derive(Clone)]
pub struct AgentsClient(Arc<dyn Port>);

/// The way to the orchestrator.
#[async_trait]
pub(super) trait Port: fmt::Debug + Send + Sync {
    async fn request(&self, request: Request) -> Result<Requested, AgentsError>;
    async fn send(&self, message: Message) -> Result<Sent, AgentsError>;
    async fn spawn(&self, target: &str, key: Option<&str>) -> Result<Spawned, AgentsError>;
    async fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError>;
    async fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError>;
    async fn take_responses(&self) -> Result<Vec<AgentEvent>, AgentsError>;
    async fn acknowledge_responses(&self) -> Result<(), AgentsError>;
}

impl AgentsClient {
    pub(super) fn new(port: Arc<dyn Port>) -> Self {
        Self(port)
    }

    /// Asks an agent, and waits for its answer unless the request is [`Mode::Async`](super::Mode).
    ///
    /// The event is stored before it is accepted; the agent's instance is started where it is missing.
    /// Where this future is dropped, the request is withdrawn unless its turn has begun.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not known, does not answer in time, waits itself for the one who
    /// asks, was lost, or its turn failed.
    ///
    /// Spec: tool-spec-v2 §2.6(2), §11.1.
    pub async fn request(&self, request: Request) -> Result<Requested, AgentsError> {
        self.0.request(request).await
    }

    /// Tells an agent something and does not wait: the event is accepted when this returns.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not known, or its mailbox is full.
    ///
    /// Spec: tool-spec-v2 §2.6(3), §11.1.
    pub async fn send(&self, message: Message) -> Result<Sent, AgentsError> {
        self.0.send(message).await
    }

    /// Starts an instance of an agent, unless it runs. Without a key it is the one under the key of
    /// the one who asks.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not known, or cannot be started.
    pub async fn spawn(
        &self,
        target: &str,
        instance_key: Option<&str>,
    ) -> Result<Spawned, AgentsError> {
        self.0.spawn(target, instance_key).await
    }

    /// Lists the instances that run, sorted.
    ///
    /// # Errors
    /// [`AgentsError`] where the orchestrator cannot be reached.
    pub async fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError> {
        self.0.list().await
    }

    /// Lists the agents that are known, sorted.
    ///
    /// # Errors
    /// [`AgentsError`] where the orchestrator cannot be reached.
    pub async fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError> {
        self.0.catalog().await
    }

    /// Takes the responses to async requests that have come since: to be called before each step. Oldest
    /// first, 512 KiB of them or one; the rest the next time.
    ///
    /// They are events of type `agent.response`; `metadata.inReplyTo` is the correlation id, `input`
    /// the answer, `metadata.error` the failure. Each is taken once by this client, and once more by
    /// the next one unless it is acknowledged.
    ///
    /// # Errors
    /// [`AgentsError`] where they cannot be read.
    pub async fn take_responses(&self) -> Result<Vec<AgentEvent>, AgentsError> {
        self.0.take_responses().await
    }

    /// Acknowledges all responses this client has taken: they are not given out again. The end of a
    /// turn that did not fail does the same.
    ///
    /// # Errors
    /// [`AgentsError`] where it cannot be stored.
    pub async fn acknowledge_responses(&self) -> Result<(), AgentsError> {
        self.0.acknowledge_responses().await
    }
}

impl fmt::Debug for AgentsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentsClient").field(&self.0).finish()
    }
}
