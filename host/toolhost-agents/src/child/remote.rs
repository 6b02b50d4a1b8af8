//! The way to the orchestrator from an agent's own process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolhost_contract::{AgentEvent, EventSource, IpcError, IpcMessage, JsonObject, ReplyTo};

use crate::client::Port;
use crate::dispatch::new_id;
use crate::request::DEFAULT_TIMEOUT;
use crate::{
    AgentInfo, AgentsError, InstanceInfo, Message, Mode, Request, Requested, Sent, Spawned,
    Undelivered, wire,
};

use super::uplink::{Uplink, now};

/// How much longer than the orchestrator the process itself waits.
const SPARE: Duration = Duration::from_secs(10);

/// The instance of this process among the others, for one turn.
#[derive(Debug)]
pub(super) struct Remote {
    uplink: Arc<Uplink>,
    agent: String,
    trace_id: Option<String>,
}

/// What an event that goes out is made of.
struct Outgoing {
    event_type: String,
    input: Value,
    instance_key: Option<String>,
    metadata: Option<JsonObject>,
}

impl Remote {
    pub(super) fn new(uplink: Arc<Uplink>, agent: String, turn: &AgentEvent) -> Self {
        Self {
            uplink,
            agent,
            trace_id: turn.trace_id.clone(),
        }
    }

    fn event(&self, outgoing: Outgoing) -> Result<AgentEvent, Undelivered> {
        let source = EventSource::agent(&self.agent);
        Ok(AgentEvent {
            trace_id: self.trace_id.clone(),
            input: (!outgoing.input.is_null()).then_some(outgoing.input),
            instance_key: outgoing.instance_key,
            metadata: outgoing.metadata,
            ..AgentEvent::new(new_id()?, outgoing.event_type, now(), source)
        })
    }

    fn reply_to(&self) -> Result<ReplyTo, Undelivered> {
        Ok(ReplyTo {
            target: self.agent.clone(),
            correlation_id: new_id()?,
        })
    }

    /// Writes an event and waits for its answer, or for its acceptance.
    async fn exchange(
        &self,
        to: &str,
        id: &str,
        event: AgentEvent,
        timeout: Duration,
    ) -> Result<Value, AgentsError> {
        let message = IpcMessage::event(&self.agent, to, event);
        let answered = self.uplink.ask(id, &message);
        let answered = tokio::time::timeout(timeout.saturating_add(SPARE), answered).await;
        let Ok(answered) = answered else {
            let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            let target = to.to_owned();
            return Err(AgentsError::Timeout { target, timeout_ms });
        };
        let event = answered.map_err(|reason| AgentsError::undelivered(to, reason))?;
        let failed = |failure: Value| wire::failure_from_json(to, &failure);
        event.into_answer().map_err(failed)
    }

    /// Asks the orchestrator itself.
    async fn question<T: DeserializeOwned>(
        &self,
        event_type: &str,
        input: Value,
    ) -> Result<T, AgentsError> {
        let to = wire::ORCHESTRATOR;
        let failed = |reason| AgentsError::undelivered(to, reason);
        let mut event = self
            .event(Outgoing {
                event_type: event_type.to_owned(),
                input,
                instance_key: None,
                metadata: None,
            })
            .map_err(failed)?;
        let reply_to = self.reply_to().map_err(failed)?;
        let id = reply_to.correlation_id.clone();
        event.reply_to = Some(reply_to);
        let answer = self.exchange(to, &id, event, DEFAULT_TIMEOUT).await?;
        let malformed = |error| failed(Undelivered::Malformed(IpcError::Shape(error)));
        serde_json::from_value(answer).map_err(malformed)
    }
}

#[async_trait]
impl Port for Remote {
    async fn request(&self, request: Request) -> Result<Requested, AgentsError> {
        let target = request.target;
        let failed = |reason| AgentsError::undelivered(&target, reason);
        let is_async = request.mode == Mode::Async;
        let delivery = match request.mode {
            Mode::Wait => json!({"timeoutMs": millis(request.timeout)}),
            Mode::Async => json!({"async": true}),
        };
        let mut metadata = request.metadata.unwrap_or_default();
        metadata.insert(wire::DELIVERY.to_owned(), delivery);
        let outgoing = Outgoing {
            event_type: request.event_type,
            input: request.input,
            instance_key: request.instance_key,
            metadata: Some(metadata),
        };
        let mut event = self.event(outgoing).map_err(failed)?;
        let reply_to = self.reply_to().map_err(failed)?;
        let (event_id, correlation_id) = (event.id.clone(), reply_to.correlation_id.clone());
        event.reply_to = Some(reply_to);
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
            is_async,
            response,
        })
    }

    async fn send(&self, message: Message) -> Result<Sent, AgentsError> {
        let target = message.target;
        let outgoing = Outgoing {
            event_type: message.event_type,
            input: message.input,
            instance_key: message.instance_key,
            metadata: message.metadata,
        };
        let event = self.event(outgoing);
        let event = event.map_err(|reason| AgentsError::undelivered(&target, reason))?;
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
        self.question(wire::SPAWN, input).await
    }

    async fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError> {
        self.question(wire::LIST, Value::Null).await
    }

    async fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError> {
        self.question(wire::CATALOG, Value::Null).await
    }

    async fn take_responses(&self) -> Result<Vec<AgentEvent>, AgentsError> {
        self.question(wire::TAKE_RESPONSES, Value::Null).await
    }

    async fn acknowledge_responses(&self) -> Result<(), AgentsError> {
        self.question(wire::ACKNOWLEDGE_RESPONSES, Value::Null)
            .await
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
