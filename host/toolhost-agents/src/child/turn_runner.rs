//! Runs the turns of an agent's process, one at a time.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use serde_json::Value;
use tokio::task::JoinSet;
use toolhost_contract::{
    AgentEvent, Delegation, EventSource, HandlerError, IpcBody, IpcMessage, JsonObject,
};

use crate::delivery::bounded;
use crate::ids::new_id;
use crate::{AgentRuntime, AgentsClient, TurnPort, wire};

use super::ipc_port::{IpcClient, IpcPort, now};

/// Events that may wait for the running turn: the orchestrator sends one at a time.
const WAITING_MAX: usize = 16;

/// Why an agent's process cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// A turn panicked. The process should end; the orchestrator starts it again.
    #[error("a turn panicked")]
    Panicked,
}

/// The running turn, and the events that wait for it.
pub(super) struct TurnRunner {
    agent: Arc<dyn AgentRuntime>,
    client: Arc<IpcClient>,
    waiting: VecDeque<TurnEvent>,
    turn: JoinSet<Result<Value, HandlerError>>,
    current: Option<Current>,
}

/// The event of the running turn, and the turn's connection.
struct Current {
    received: TurnEvent,
    port: Arc<IpcPort>,
}

/// An event, and the protocol of its response.
#[derive(Debug)]
pub(super) struct TurnEvent {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) event: AgentEvent,
    pub(super) protocol: Protocol,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Protocol {
    Event,
    Delegate,
}

impl TurnEvent {
    /// Makes the message that ends the turn. `responses` lists those that the turn got, if others may be
    /// lost.
    fn end(
        self,
        end: Result<Value, HandlerError>,
        responses: Option<JsonObject>,
    ) -> Option<IpcMessage> {
        let id = new_id().ok()?;
        let source = EventSource::agent(self.to.clone());
        let end = end.map_err(|error| wire::error_to_json(&error));
        let Some(reply_to) = &self.event.reply_to else {
            let mut event = end_of_turn(&self.event.id, id, source, end);
            add_metadata(&mut event, responses);
            return Some(IpcMessage::event(self.to, wire::ORCHESTRATOR, event));
        };
        let target = reply_to.target.clone();
        let mut response = self.event.response(id, now(), source, end)?;
        add_metadata(&mut response, responses);
        Some(match self.protocol {
            Protocol::Event => IpcMessage::event(self.to, target, response),
            Protocol::Delegate => {
                let result = IpcBody::DelegateResult(Delegation::result_of(response)?);
                wire::message(&self.to, &self.from, result)
            }
        })
    }
}

impl TurnRunner {
    pub(super) fn new(agent: Arc<dyn AgentRuntime>, client: Arc<IpcClient>) -> Self {
        Self {
            agent,
            client,
            waiting: VecDeque::new(),
            turn: JoinSet::new(),
            current: None,
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    pub(super) fn take(&mut self, event: TurnEvent) {
        if self.is_idle() {
            self.begin(event);
        } else if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(event);
        } else {
            tracing::warn!(target: "toolhost::agent", id = event.event.id, "too many events");
        }
    }

    /// Drops the events that wait: the orchestrator keeps them.
    pub(super) fn clear_waiting(&mut self) {
        self.waiting.clear();
    }

    fn begin(&mut self, received: TurnEvent) {
        let event = received.event.clone();
        let port = IpcPort::new(Arc::clone(&self.client), received.to.clone(), &event);
        let port = Arc::new(port);
        self.current = Some(Current {
            received,
            port: Arc::clone(&port),
        });
        let port = TurnPort::new(AgentsClient::new(port), wire::attempt(&event));
        let agent = Arc::clone(&self.agent);
        self.turn
            .spawn(async move { agent.on_event(event, &port).await });
    }

    /// Waits for the end of the turn, sends its result, and begins the next.
    pub(super) async fn turn_ended(&mut self) -> Result<(), ServeError> {
        let Some(ended) = self.turn.join_next().await else {
            return pending().await;
        };
        let end = ended.map_err(|_| ServeError::Panicked)?.and_then(bounded);
        if let Some(Current { received, port }) = self.current.take()
            && let Some(message) = received.end(end, port.received())
        {
            // If the orchestrator is gone, the end of the stream is read next.
            let _ = self.client.out.send(&message).await;
        }
        if let Some(next) = self.waiting.pop_front() {
            self.begin(next);
        }
        Ok(())
    }
}

fn add_metadata(event: &mut AgentEvent, more: Option<JsonObject>) {
    if let Some(more) = more {
        event.metadata.get_or_insert_default().extend(more);
    }
}

fn end_of_turn(
    of: &str,
    id: String,
    source: EventSource,
    end: Result<Value, JsonObject>,
) -> AgentEvent {
    let (event_type, input, error) = match end {
        Ok(value) => (wire::COMPLETED, Some(value), None),
        Err(error) => (wire::FAILED, None, Some(error)),
    };
    AgentEvent {
        input,
        metadata: Some(wire::about(of, error)),
        ..AgentEvent::new(id, event_type, now(), source)
    }
}
