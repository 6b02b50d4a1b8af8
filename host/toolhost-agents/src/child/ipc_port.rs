//! The operations of [`AgentsClient`](crate::AgentsClient), from an agent's own process.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolhost_contract::{AgentEvent, EventSource, IpcMessage, ReplyTo, Timestamp};

use crate::client::Port;
use crate::ids::new_id;
use crate::lines::LineWriter;
use crate::reply_waiters::ReplyWaiters;
use crate::request::{DEFAULT_TIMEOUT, millis};
use crate::{AgentsError, Undelivered, wire};

/// How much longer this process waits for an answer than the orchestrator.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(10);

/// Writes messages, and matches answers with the requests that wait for them.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) out: LineWriter,
    /// By correlation id, or by event id if only acceptance is awaited.
    waiting: ReplyWaiters<AgentEvent>,
}

impl Client {
    pub(super) fn new(out: LineWriter) -> Self {
        let waiting = ReplyWaiters::default();
        Self { out, waiting }
    }

    /// Sends a message, and waits for the event that answers this id.
    pub(super) async fn ask(
        &self,
        id: &str,
        message: &IpcMessage,
    ) -> Result<AgentEvent, Undelivered> {
        let answered = self.waiting.register(id).ok_or(Undelivered::Duplicate)?;
        let _waiting = Waiting { client: self, id };
        self.out.send(message).await?;
        answered.await.map_err(|_| Undelivered::Disconnected)
    }

    /// Gives an event to the request that waits for it. Returns false if there is none.
    pub(super) fn answered(&self, event: &AgentEvent) -> bool {
        let id = match event.event_type.as_str() {
            wire::ACCEPTED | wire::REFUSED => wire::event_id(event),
            _ => event.in_reply_to(),
        };
        id.is_some_and(|id| self.waiting.is_expected(id) && self.waiting.reply(id, event.clone()))
    }

    /// Ends the writer after the queued lines; the requests that wait fail.
    pub(super) async fn close(&self) {
        self.out.close().await;
        self.waiting.forget_all();
    }
}

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

/// The current time as events contain it.
pub(super) fn now() -> String {
    Timestamp(SystemTime::now()).to_string()
}

/// A request that waits, removed when it is dropped.
struct Waiting<'a> {
    client: &'a Client,
    id: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.client.waiting.forget(self.id);
    }
}
