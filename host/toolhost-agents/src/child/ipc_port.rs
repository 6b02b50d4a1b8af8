//! The operations of [`AgentsClient`](crate::AgentsClient), from an agent's own process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use serde_json::{Value, json};
use toolhost_contract::agents::DEFAULT_TIMEOUT;
use toolhost_contract::{AgentEvent, EventSource, IpcMessage, JsonObject, ReplyTo, Timestamp};
use toolhost_runtime::lock;

use crate::client::Port;
use crate::ids::new_id;
use crate::ipc_lines::LineWriter;
use crate::reply_waiters::ReplyWaiters;
use crate::request::millis;
use crate::{AgentsError, Undelivered, wire};

/// How much longer this process waits for an answer than the orchestrator.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(10);

/// Writes messages, and matches answers with the requests that wait for them.
#[derive(Debug)]
pub(super) struct IpcClient {
    pub(super) out: LineWriter,
    /// By correlation id, or by event id if only acceptance is awaited.
    waiting: ReplyWaiters<AgentEvent>,
}

impl IpcClient {
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
        let answer = self.waiting.register(id).ok_or(Undelivered::Duplicate)?;
        let _waiting = Waiting { client: self, id };
        self.out.send(message).await?;
        answer.await.map_err(|_| Undelivered::Disconnected)
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
    client: Arc<IpcClient>,
    agent: String,
    trace_id: Option<String>,
    received: Mutex<TurnResponses>,
}

/// The responses that the turn got.
#[derive(Debug, Default)]
struct TurnResponses {
    ids: Vec<String>,
    /// Whether others were requested and may be lost on their way.
    lost_some: bool,
}

impl IpcPort {
    pub(super) fn new(client: Arc<IpcClient>, agent: String, turn: &AgentEvent) -> Self {
        Self {
            client,
            agent,
            trace_id: turn.trace_id.clone(),
            received: Mutex::default(),
        }
    }

    /// Returns the list of the responses that the turn got, if others may be lost on their way.
    pub(super) fn received(&self) -> Option<JsonObject> {
        let responses = lock(&self.received);
        responses
            .lost_some
            .then(|| wire::received_to_json(&responses.ids))
    }

    /// Takes responses. If this future is dropped or fails, the orchestrator is asked for them again.
    async fn take_responses(&self) -> Result<Value, AgentsError> {
        let input = self.received().map(Value::Object);
        let mut taking = Taking {
            received: &self.received,
            has_arrived: false,
        };
        let mut answer = self.request(wire::TAKE_RESPONSES, input).await?;
        taking.has_arrived = true;
        let mut got = lock(&self.received);
        if let Some(responses) = answer.as_array_mut() {
            responses.retain(|response| {
                let id = response
                    .pointer("/metadata/inReplyTo")
                    .and_then(Value::as_str);
                // A take that was thought lost may have brought it.
                let is_new = id.is_none_or(|id| !got.ids.iter().any(|it| it == id));
                got.ids.extend(id.filter(|_| is_new).map(str::to_owned));
                is_new
            });
        }
        drop(got);
        Ok(answer)
    }

    /// Sends a request to the orchestrator itself, and waits for its answer.
    async fn request(&self, operation: &str, input: Option<Value>) -> Result<Value, AgentsError> {
        let to = wire::ORCHESTRATOR;
        let failed = |reason| AgentsError::undelivered(to, reason);
        let mut event = self.new_event(operation.to_owned()).map_err(failed)?;
        let correlation_id = new_id().map_err(failed)?;
        event.input = input;
        event.reply_to = Some(ReplyTo {
            target: self.agent.clone(),
            correlation_id: correlation_id.clone(),
        });
        self.exchange(to, &correlation_id, event, DEFAULT_TIMEOUT)
            .await
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
        let answer = self.client.ask(id, &message);
        let answer = tokio::time::timeout(timeout.saturating_add(EXTRA_TIMEOUT), answer).await;
        let Ok(answer) = answer else {
            let timeout_ms = millis(timeout);
            let target = to.to_owned();
            return Err(AgentsError::Timeout { target, timeout_ms });
        };
        let event = answer.map_err(|reason| AgentsError::undelivered(to, reason))?;
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
        match operation {
            wire::TAKE_RESPONSES => self.take_responses().await,
            wire::ACKNOWLEDGE_RESPONSES => {
                let input = self.received().map(Value::Object);
                self.request(operation, input).await
            }
            _ => {
                let input = (!input.is_null()).then_some(input);
                self.request(operation, input).await
            }
        }
    }
}

/// A request for responses. Unless they have arrived when it is dropped, some may be lost.
struct Taking<'a> {
    received: &'a Mutex<TurnResponses>,
    has_arrived: bool,
}

impl Drop for Taking<'_> {
    fn drop(&mut self) {
        lock(self.received).lost_some |= !self.has_arrived;
    }
}

/// The current time as events contain it.
pub(super) fn now() -> String {
    Timestamp(SystemTime::now()).to_string()
}

/// A request that waits, removed when it is dropped.
struct Waiting<'a> {
    client: &'a IpcClient,
    id: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.client.waiting.forget(self.id);
    }
}
