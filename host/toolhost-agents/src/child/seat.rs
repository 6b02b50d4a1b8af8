//! Where the turns of an agent's process are taken, one at a time.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolhost_contract::{
    AgentEvent, Delegation, EventSource, HandlerError, IpcBody, IpcMessage, JsonObject,
};

use crate::delivery::check_answer;
use crate::dispatch::new_id;
use crate::{AgentRuntime, AgentsClient, TurnPort, wire};

use super::ServeError;
use super::remote::Remote;
use super::uplink::{Uplink, now};

/// Events that may wait behind a turn: the orchestrator sends one at a time.
const WAITING_MAX: usize = 16;

/// The turn that is taken, and what waits behind it.
pub(super) struct Seat {
    agent: Arc<dyn AgentRuntime>,
    uplink: Arc<Uplink>,
    waiting: VecDeque<Told>,
    turn: JoinSet<Result<Value, HandlerError>>,
    current: Option<Told>,
}

/// An event, and in which words it came.
#[derive(Debug)]
pub(super) struct Told {
    from: String,
    to: String,
    event: AgentEvent,
    words: Words,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Words {
    Event,
    Delegate,
}

impl Told {
    pub(super) fn event(from: String, to: String, event: AgentEvent) -> Self {
        Self {
            from,
            to,
            event,
            words: Words::Event,
        }
    }

    pub(super) fn delegate(from: String, to: String, delegation: Delegation) -> Self {
        let id = new_id().unwrap_or_default();
        let event = delegation.into_event(&from, id, now());
        Self {
            from,
            to,
            event,
            words: Words::Delegate,
        }
    }
}

impl Seat {
    pub(super) fn new(agent: Arc<dyn AgentRuntime>, uplink: Arc<Uplink>) -> Self {
        Self {
            agent,
            uplink,
            waiting: VecDeque::new(),
            turn: JoinSet::new(),
            current: None,
        }
    }

    pub(super) fn is_free(&self) -> bool {
        self.current.is_none()
    }

    /// Begins a turn, or has it wait.
    pub(super) fn take(&mut self, told: Told) {
        if self.is_free() {
            self.begin(told);
        } else if self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(told);
        } else {
            tracing::warn!(target: "toolhost::agent", id = told.event.id, "too many events");
        }
    }

    /// Forgets what waits: the orchestrator has it still.
    pub(super) fn forget_waiting(&mut self) {
        self.waiting.clear();
    }

    fn begin(&mut self, told: Told) {
        let event = told.event.clone();
        let remote = Remote::new(Arc::clone(&self.uplink), told.to.clone(), &event);
        let port = TurnPort::new(AgentsClient::new(Arc::new(remote)), wire::attempt(&event));
        let agent = Arc::clone(&self.agent);
        self.turn
            .spawn(async move { agent.on_event(event, &port).await });
        self.current = Some(told);
    }

    /// Waits for the end of the turn, says what came of it, and begins the next.
    pub(super) async fn ended(&mut self) -> Result<(), ServeError> {
        let Some(ended) = self.turn.join_next().await else {
            return pending().await;
        };
        let said = ended.map_err(|_| ServeError::Panicked)?;
        let said = said.and_then(|value| match check_answer(&value) {
            Ok(()) => Ok(value),
            Err(error) => {
                let message = format!("the answer cannot travel: {error}");
                Err(wire::host_ended_turn(message))
            }
        });
        if let Some(told) = self.current.take()
            && let Some(message) = message(told, said)
        {
            // Where the orchestrator is gone, the stream's end is read next.
            let _ = self.uplink.tell(&message).await;
        }
        if let Some(next) = self.waiting.pop_front() {
            self.begin(next);
        }
        Ok(())
    }
}

/// What is said at the end of a turn.
fn message(told: Told, said: Result<Value, HandlerError>) -> Option<IpcMessage> {
    let id = new_id().ok()?;
    let source = EventSource::agent(told.to.clone());
    let said = said.map_err(|error| wire::error_to_json(&error));
    let Some(reply_to) = &told.event.reply_to else {
        let event = end_of_turn(&told.event.id, id, source, said);
        return Some(IpcMessage::event(told.to, wire::ORCHESTRATOR, event));
    };
    let target = reply_to.target.clone();
    let response = told.event.response(id, now(), source, said)?;
    Some(match told.words {
        Words::Event => IpcMessage::event(told.to, target, response),
        Words::Delegate => IpcMessage {
            from: told.to,
            to: told.from,
            body: IpcBody::DelegateResult(Delegation::result_of(response)?),
        },
    })
}

fn end_of_turn(
    of: &str,
    id: String,
    source: EventSource,
    said: Result<Value, JsonObject>,
) -> AgentEvent {
    let mut metadata = JsonObject::new();
    metadata.insert(wire::EVENT_ID.to_owned(), json!(of));
    let (event_type, input) = match said {
        Ok(value) => (wire::COMPLETED, Some(value)),
        Err(error) => {
            metadata.insert(wire::ERROR.to_owned(), Value::Object(error));
            (wire::FAILED, None)
        }
    };
    AgentEvent {
        input,
        metadata: Some(metadata),
        ..AgentEvent::new(id, event_type, now(), source)
    }
}
