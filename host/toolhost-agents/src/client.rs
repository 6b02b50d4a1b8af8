//! The operations of an agent on the other agents.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use toolhost_contract::AgentEvent;

use super::{AgentInfo, AgentsError, InstanceInfo, Message, Request, Requested, Sent, Spawned};

/// Sends requests and messages of one instance to other agents. Cheap to clone.
///
/// In a turn it comes from [`TurnPort::agents`](super::TurnPort::agents); for an instance whose turns
/// are taken elsewhere, from [`Orchestrator::client`](super::Orchestrator::client). In an agent's own
/// process it reaches the orchestrator over the process's standard streams.
#[derive(Clone)]
pub struct AgentsClient(Arc<dyn Port>);

/// The connection to the orchestrator: in this process, or by IPC.
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

    /// Sends a request, and waits for the answer unless it is [`Mode::Async`](super::Mode).
    ///
    /// The event is stored before it is accepted; a missing instance is started. If this future is dropped,
    /// the request is withdrawn, unless its turn has begun.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not registered, does not answer in time, waits itself for the
    /// requester, was lost, or its turn failed.
    ///
    /// Spec: tool-spec-v2 §2.6(2), §11.1.
    pub async fn request(&self, request: Request) -> Result<Requested, AgentsError> {
        self.0.request(request).await
    }

    /// Sends a message, which gets no answer. The event is accepted when this returns.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not registered, or its mailbox is full.
    ///
    /// Spec: tool-spec-v2 §2.6(3), §11.1.
    pub async fn send(&self, message: Message) -> Result<Sent, AgentsError> {
        self.0.send(message).await
    }

    /// Starts an instance of an agent, unless it runs. The default key is the requester's own.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not registered, or cannot be started.
    pub async fn spawn(
        &self,
        target: &str,
        instance_key: Option<&str>,
    ) -> Result<Spawned, AgentsError> {
        self.0.spawn(target, instance_key).await
    }

    /// Lists the running instances, sorted.
    ///
    /// # Errors
    /// [`AgentsError`] where the orchestrator cannot be reached.
    pub async fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError> {
        self.0.list().await
    }

    /// Lists the registered agents, sorted.
    ///
    /// # Errors
    /// [`AgentsError`] where the orchestrator cannot be reached.
    pub async fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError> {
        self.0.catalog().await
    }

    /// Takes the responses to async requests that have arrived, oldest first: to be called before each step.
    /// One call returns one response, or more up to 512 KiB; the next call returns the rest.
    ///
    /// They are events of type `agent.response`; `metadata.inReplyTo` is the correlation id, `input`
    /// the answer, `metadata.error` the failure. This client takes each response once. The next client
    /// takes it again, unless it was acknowledged.
    ///
    /// # Errors
    /// [`AgentsError`] where they cannot be read.
    pub async fn take_responses(&self) -> Result<Vec<AgentEvent>, AgentsError> {
        self.0.take_responses().await
    }

    /// Acknowledges all responses this client has taken: they are removed. A turn that ends without an error
    /// acknowledges them too.
    ///
    /// # Errors
    /// [`AgentsError`] where they cannot be removed.
    pub async fn acknowledge_responses(&self) -> Result<(), AgentsError> {
        self.0.acknowledge_responses().await
    }
}

impl fmt::Debug for AgentsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgentsClient").field(&self.0).finish()
    }
}
