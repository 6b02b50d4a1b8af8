//! The operations of [`AgentsClient`](crate::AgentsClient), from an agent's own process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolhost_contract::{AgentEvent, EventSource, IpcError, IpcMessage, ReplyTo};

use crate::client::Port;
use crate::ids::new_id;
use crate::request::DEFAULT_TIMEOUT;
use crate::{
    AgentInfo, AgentsError, InstanceInfo, Message, Mode, Request, Requested, Sent, Spawned,
    Undelivered, wire,
};

use super::client::{Client, now};

/// How much longer this process waits for an answer than the orchestrator.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(10);

/// The connection of one turn to the other agents.
#[derive(Debug)]
pub(super) struct IpcPort {
    client: Arc<Client>,
    agent: String,
    trace_id: Option<String>,
}

impl IpcPort {
    pub(super) fn new(client: Arc<Client>, agent: String, turn: &AgentEvent) -> Self {
        Self {
            client,
            agent,
            trace_id: turn.trace_id.clone(),
        }
    }

    fn event(&self, event_type: String, input: Value) -> Result<AgentEvent, Undelivered> {
        let source = EventSource::agent(&self.agent);
        Ok(AgentEvent {
            trace_id: self.trace_id.clone(),
            input: (!input.is_null()).then_some(input),
            ..AgentEvent::new(new_id()?, event_type, now(), source)
        })
    }

    /// Requests an answer; returns the correlation id.
    fn set_reply_to(&self, event: &mut AgentEvent) -> Result<String, Undelivered> {
        let correlation_id = new_id()?;
        event.reply_to = Some(ReplyTo {
            target: self.agent.clone(),
            correlation_id: correlation_id.clone(),
        });
        Ok(correlation_id)
    }

    /// Sends an event, and waits for its answer or its acceptance.
    async fn exchange(
        &self,
        to: &str,
        id: &str,
        event: AgentEvent,
        timeout: Duration,
    ) -> Result<Value, AgentsError> {
        let message = IpcMessage::event(&self.agent, to, event);
        let answered = self.client.ask(id, &message);
        let answered = tokio::time::timeout(timeout.saturating_add(EXTRA_TIMEOUT), answered).await;
        let Ok(answered) = answered else {
            let timeout_ms = millis(timeout);
            let target = to.to_owned();
            return Err(AgentsError::Timeout { target, timeout_ms });
        };
        let event = answered.map_err(|reason| AgentsError::undelivered(to, reason))?;
        let failed = |failure: Value| wire::failure_from_json(to, &failure);
        event.into_answer().map_err(failed)
    }

    /// Sends a request to the orchestrator itself.
    async fn ask_orchestrator<T: DeserializeOwned>(
        &self,
        event_type: &str,
        input: Value,
    ) -> Result<T, AgentsError> {
        let to = wire::ORCHESTRATOR;
        let failed = |reason| AgentsError::undelivered(to, reason);
        let mut event = self.event(event_type.to_owned(), input).map_err(failed)?;
        let id = self.set_reply_to(&mut event).map_err(failed)?;
        let answer = self.exchange(to, &id, event, DEFAULT_TIMEOUT).await?;
        let malformed = |error| failed(Undelivered::Malformed(IpcError::Shape(error)));
        serde_json::from_value(answer).map_err(malformed)
    }
}

#[async_trait]
impl Port for IpcPort {
    async fn request(&self, request: Request) -> Result<Requested, AgentsError> {
        let target = request.target;
        let failed = |reason| AgentsError::undelivered(&target, reason);
        let delivery = match request.mode {
            Mode::Wait => json!({"timeoutMs": millis(request.timeout)}),
            Mode::Async => json!({"async": true}),
        };
        let mut metadata = request.metadata.unwrap_or_default();
        metadata.insert(wire::DELIVERY.to_owned(), delivery);
        let event = self.event(request.event_type, request.input);
        let mut event = event.map_err(failed)?;
        event.instance_key = request.instance_key;
        event.metadata = Some(metadata);
        let event_id = event.id.clone();
        let correlation_id = self.set_reply_to(&mut event).map_err(failed)?;
        let (awaited, timeout) = match request.mode {
            Mode::Wait => (&correlation_id, request.timeout),
            Mode::Async => (&event_id, DEFAULT_TIMEOUT),
        };
        let response = self.exchange(&target, awaited, event, timeout).await?;
        Ok(Requested {
            target,
            event_id,
            correlation_id,
            accepted: true,
            is_async: request.mode == Mode::Async,
            response,
        })
    }

    async fn send(&self, message: Message) -> Result<Sent, AgentsError> {
        let target = message.target;
        let event = self.event(message.event_type, message.input);
        let mut event = event.map_err(|reason| AgentsError::undelivered(&target, reason))?;
        event.instance_key = message.instance_key;
        event.metadata = message.metadata;
        let event_id = event.id.clone();
        self.exchange(&target, &event_id, event, DEFAULT_TIMEOUT)
            .await?;
        Ok(Sent {
            target,
            event_id,
            accepted: true,
            sent: true,
        })
    }

    async fn spawn(&self, target: &str, key: Option<&str>) -> Result<Spawned, AgentsError> {
        let input = json!({"target": target, "instanceKey": key});
        self.ask_orchestrator(wire::SPAWN, input).await
    }

    async fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError> {
        self.ask_orchestrator(wire::LIST, Value::Null).await
    }

    async fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError> {
        self.ask_orchestrator(wire::CATALOG, Value::Null).await
    }

    async fn take_responses(&self) -> Result<Vec<AgentEvent>, AgentsError> {
        let event_type = wire::TAKE_RESPONSES;
        self.ask_orchestrator(event_type, Value::Null).await
    }

    async fn acknowledge_responses(&self) -> Result<(), AgentsError> {
        let event_type = wire::ACKNOWLEDGE_RESPONSES;
        self.ask_orchestrator(event_type, Value::Null).await
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
