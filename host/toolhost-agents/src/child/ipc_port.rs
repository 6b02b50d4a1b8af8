//! The operations of [`AgentsClient`](crate::AgentsClient), from an agent's own process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolhost_contract::{AgentEvent, EventSource, IpcMessage, ReplyTo};

use crate::client::Port;
use crate::ids::new_id;
use crate::request::DEFAULT_TIMEOUT;
use crate::{AgentsError, Undelivered, wire};

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

    /// Sends an event, and waits for the answer or the acceptance of this id.
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
}

#[async_trait]
impl Port for IpcPort {
    fn new_event(&self, event_type: String) -> Result<AgentEvent, Undelivered> {
        let source = EventSource::agent(&self.agent);
        Ok(AgentEvent {
            trace_id: self.trace_id.clone(),
            ..AgentEvent::new(new_id()?, event_type, now(), source)
        })
    }

    async fn submit(
        &self,
        target: &str,
        mut event: AgentEvent,
        timeout: Option<Duration>,
    ) -> Result<Value, AgentsError> {
        let mut awaited = event.id.clone();
        if let Some(reply_to) = &event.reply_to {
            let delivery = match timeout {
                Some(timeout) => {
                    awaited.clone_from(&reply_to.correlation_id);
                    json!({"timeoutMs": millis(timeout)})
                }
                None => json!({"async": true}),
            };
            let metadata = event.metadata.get_or_insert_default();
            metadata.insert(wire::DELIVERY.to_owned(), delivery);
        }
        let timeout = timeout.unwrap_or(DEFAULT_TIMEOUT);
        self.exchange(target, &awaited, event, timeout).await
    }

    async fn operate(&self, operation: &str, input: Value) -> Result<Value, AgentsError> {
        let to = wire::ORCHESTRATOR;
        let failed = |reason| AgentsError::undelivered(to, reason);
        let mut event = self.new_event(operation.to_owned()).map_err(failed)?;
        let correlation_id = new_id().map_err(failed)?;
        event.input = (!input.is_null()).then_some(input);
        event.reply_to = Some(ReplyTo {
            target: self.agent.clone(),
            correlation_id: correlation_id.clone(),
        });
        self.exchange(to, &correlation_id, event, DEFAULT_TIMEOUT)
            .await
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
