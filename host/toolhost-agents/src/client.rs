//! The operations of an agent on the other agents.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolhost_contract::{AgentEvent, IpcError, ReplyTo};

use super::ids::new_id;
use super::{
    AgentInfo, AgentsError, InstanceInfo, Message, Mode, Request, Requested, Sent, Spawned,
    Undelivered, wire,
};

/// Sends requests and messages of one instance to other agents. Cheap to clone.
///
/// In a turn it comes from [`TurnPort::agents`](super::TurnPort::agents); for an instance whose turns
/// are taken elsewhere, from [`Orchestrator::client`](super::Orchestrator::client). In an agent's own
/// process it reaches the orchestrator over the process's standard streams.
#[derive(Debug, Clone)]
pub struct AgentsClient(Arc<dyn Port>);

/// The connection to the orchestrator: in this process, or by IPC.
#[async_trait]
pub(super) trait Port: fmt::Debug + Send + Sync {
    /// Makes an event of the instance, without input.
    fn new_event(&self, event_type: String) -> Result<AgentEvent, Undelivered>;

    /// Sends an event to an agent. With `timeout`, waits for the answer to its request; otherwise returns
    /// null when the event is accepted.
    async fn submit(
        &self,
        target: &str,
        event: AgentEvent,
        timeout: Option<Duration>,
    ) -> Result<Value, AgentsError>;

    /// Has the orchestrator itself perform one of [`wire::OPERATIONS`].
    async fn operate(&self, operation: &str, input: Value) -> Result<Value, AgentsError>;
}

impl AgentsClient {
    pub(super) fn new(port: Arc<dyn Port>) -> Self {
        Self(port)
    }

    /// Sends a request, and waits for the answer unless it is [`Mode::Async`].
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
        let timeout = match request.mode {
            Mode::Wait => Some(request.timeout),
            Mode::Async => None,
        };
        let (target, mut event) = self.event(Message {
            target: request.target,
            input: request.input,
            instance_key: request.instance_key,
            event_type: request.event_type,
            metadata: request.metadata,
        })?;
        let correlation_id =
            new_id().map_err(|reason| AgentsError::undelivered(&target, reason))?;
        event.reply_to = Some(ReplyTo {
            target: event.source.name.clone(),
            correlation_id: correlation_id.clone(),
        });
        let event_id = event.id.clone();
        let response = self.0.submit(&target, event, timeout).await?;
        Ok(Requested {
            target,
            event_id,
            correlation_id,
            accepted: true,
            is_async: timeout.is_none(),
            response,
        })
    }

    /// Sends a message, which gets no answer. The event is accepted when this returns.
    ///
    /// # Errors
    /// [`AgentsError`]: the agent is not registered, or its mailbox is full.
    ///
    /// Spec: tool-spec-v2 §2.6(3), §11.1.
    pub async fn send(&self, message: Message) -> Result<Sent, AgentsError> {
        let (target, event) = self.event(message)?;
        let event_id = event.id.clone();
        self.0.submit(&target, event, None).await?;
        Ok(Sent {
            target,
            event_id,
            accepted: true,
            sent: true,
        })
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
        let input = json!({"target": target, "instanceKey": instance_key});
        self.operate(wire::SPAWN, input).await
    }

    /// Lists the running instances, sorted.
    ///
    /// # Errors
    /// [`AgentsError`] where the orchestrator cannot be reached.
    pub async fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError> {
        self.operate(wire::LIST, Value::Null).await
    }

    /// Lists the registered agents, sorted.
    ///
    /// # Errors
    /// [`AgentsError`] where the orchestrator cannot be reached.
    pub async fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError> {
        self.operate(wire::CATALOG, Value::Null).await
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
        self.operate(wire::TAKE_RESPONSES, Value::Null).await
    }

    /// Acknowledges all responses this client has taken: they are removed. A turn that ends without an error
    /// acknowledges them too.
    ///
    /// # Errors
    /// [`AgentsError`] where they cannot be removed.
    pub async fn acknowledge_responses(&self) -> Result<(), AgentsError> {
        self.operate(wire::ACKNOWLEDGE_RESPONSES, Value::Null).await
    }

    /// Makes the event of a message; returns its target too.
    fn event(&self, message: Message) -> Result<(String, AgentEvent), AgentsError> {
        let target = message.target;
        let event = self.0.new_event(message.event_type);
        let event = event.map_err(|reason| AgentsError::undelivered(&target, reason))?;
        let event = AgentEvent {
            input: (!message.input.is_null()).then_some(message.input),
            instance_key: message.instance_key,
            metadata: message.metadata,
            ..event
        };
        Ok((target, event))
    }

    async fn operate<T: DeserializeOwned>(
        &self,
        operation: &str,
        input: Value,
    ) -> Result<T, AgentsError> {
        let answer = self.0.operate(operation, input).await?;
        serde_json::from_value(answer).map_err(|error| {
            let reason = Undelivered::Malformed(IpcError::Shape(error));
            AgentsError::undelivered(wire::ORCHESTRATOR, reason)
        })
    }
}
