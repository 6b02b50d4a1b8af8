//! Messages from a worker. They are untrusted: each is checked against the turn and the limits.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use toolhost_contract::{AgentEvent, Delegation, IpcBody, IpcMessage, RESPONSE_TYPE};

use crate::delivery::ReplyMode;
use crate::ids::new_id;
use crate::lines::{Line, excerpt, is_logged};
use crate::request::DEFAULT_TIMEOUT;
use crate::{AgentsError, Undelivered, wire};

use super::connection::{Connection, TurnEnd, TurnKey};
use super::outbound::{acknowledge, answer, respond, response};

/// Events and requests of one worker that are processed at the same time.
const UNDER_WAY_MAX: usize = 256;

/// Ignored lines that are all logged. Of later ones [`is_logged`] selects some.
const IGNORED_LOGGED: u64 = 64;

/// Bytes of a line that are logged.
const EXCERPT_BYTES: usize = 256;

/// Processes the messages of one worker.
#[derive(Debug)]
pub(super) struct Inbound {
    connection: Arc<Connection>,
    /// Requests that are being processed. They are dropped with the worker.
    under_way: JoinSet<()>,
    ignored: u64,
}

impl Inbound {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self {
            connection,
            under_way: JoinSet::new(),
            ignored: 0,
        }
    }

    /// Waits until a request has been processed.
    pub(super) async fn answered(&mut self) {
        if self.under_way.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Processes a line.
    pub(super) fn receive(&mut self, line: Line) {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(line) => return self.ignore("the line is too long", &line),
        };
        match IpcMessage::parse(&line) {
            Ok(message) => self.handle(message, &line),
            Err(error) => self.ignore(&error.to_string(), &line),
        }
    }

    fn handle(&mut self, message: IpcMessage, line: &[u8]) {
        match message.body {
            IpcBody::Event(event) if event.event_type == RESPONSE_TYPE => {
                let turn = event.in_reply_to().unwrap_or_default().to_owned();
                self.end_turn(TurnKey::Request(&turn), turn_end(*event), line);
            }
            IpcBody::Event(event) if message.to == wire::ORCHESTRATOR => {
                self.deliver_event(*event, line);
            }
            IpcBody::Event(_) if self.under_way.len() >= 2 * UNDER_WAY_MAX => {
                self.ignore("too many requests are under way", line);
            }
            IpcBody::Event(event) => self.submit(message.to, *event),
            IpcBody::Delegate(delegation) => self.delegate(message.to, delegation),
            IpcBody::DelegateResult(result) => {
                let turn = result.correlation_id.unwrap_or_default();
                self.end_turn(TurnKey::Request(&turn), delegated_end(result.payload), line);
            }
            IpcBody::ShutdownAck(_) => tracing::debug!(
                target: "toolhost::agents", instance = %self.connection.instance(), "a process ends"
            ),
            IpcBody::Shutdown(_) => self.ignore("only the orchestrator sends shutdown", line),
        }
    }

    /// Processes an event that is addressed to the orchestrator itself.
    fn deliver_event(&mut self, event: AgentEvent, line: &[u8]) {
        match event.event_type.as_str() {
            wire::COMPLETED | wire::FAILED => {
                let id = event.metadata.as_ref();
                let id = id.and_then(|all| all.get(wire::EVENT_ID)?.as_str());
                let id = id.unwrap_or_default().to_owned();
                self.end_turn(TurnKey::Event(&id), turn_end(event), line);
            }
            wire::SPAWN
            | wire::LIST
            | wire::CATALOG
            | wire::TAKE_RESPONSES
            | wire::ACKNOWLEDGE_RESPONSES => {
                if self.is_busy() {
                    return self.ignore("too many requests are under way", line);
                }
                let connection = Arc::clone(&self.connection);
                let local = connection.local();
                self.under_way.spawn(async move {
                    let answer = answer(&local, &event).await;
                    respond(&connection, wire::ORCHESTRATOR, &header(event), answer).await;
                });
            }
            _ => self.ignore("the orchestrator does not know the type", line),
        }
    }

    /// Ends the current turn. A response to any other request is ignored.
    fn end_turn(&mut self, turn: TurnKey<'_>, end: TurnEnd, line: &[u8]) {
        if !self.connection.complete(turn, end) {
            self.ignore("it answers no request of the current turn", line);
        }
    }

    /// Submits an event for another agent.
    fn submit(&mut self, to: String, mut event: AgentEvent) {
        let connection = Arc::clone(&self.connection);
        let delivery = event.metadata.as_mut();
        let delivery = delivery.and_then(|all| all.shift_remove(wire::DELIVERY));
        let delivery = delivery.unwrap_or_default();
        let is_async = delivery.get("async").and_then(Value::as_bool) == Some(true);
        let timeout = delivery.get("timeoutMs").and_then(Value::as_u64);
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        let waits = event.reply_to.is_some() && !is_async;
        let request = header(event.clone());
        let admitted = if self.is_busy() {
            let under_way_max = UNDER_WAY_MAX;
            let reason = Undelivered::TooManyUnderWay { under_way_max };
            Err(AgentsError::undelivered(&to, reason))
        } else {
            Ok(())
        };
        let local = connection.local();
        self.under_way.spawn(async move {
            if waits {
                let answer = match admitted {
                    Ok(()) => local.ask(&to, event, timeout).await,
                    Err(busy) => Err(busy),
                };
                return respond(&connection, &to, &request, answer).await;
            }
            let mode = request.reply_to.as_ref().map(|_| ReplyMode::Async);
            let accepted = match admitted {
                Ok(()) => local.submit(&to, event, mode).await,
                Err(busy) => Err(busy),
            };
            acknowledge(&connection, &request, accepted).await;
        });
    }

    /// Submits a request of the earlier protocol.
    fn delegate(&mut self, to: String, delegation: Delegation) {
        if self.is_busy() {
            return self.ignore("too many requests are under way", b"delegate");
        }
        let connection = Arc::clone(&self.connection);
        let local = connection.local();
        self.under_way.spawn(async move {
            let Ok(id) = new_id() else { return };
            let event = delegation.into_event(connection.agent(), id, local.now());
            let request = header(event.clone());
            let mode = event.reply_to.as_ref().map(|_| ReplyMode::Delegate);
            let Err(error) = local.submit(&to, event, mode).await else {
                return;
            };
            let failure = wire::failure_to_json(&error);
            let response = response(&local, &to, &request, Err(failure));
            let Some(result) = response.and_then(Delegation::result_of) else {
                return tracing::warn!(target: "toolhost::agents", %error, "a delegation failed");
            };
            let message = IpcMessage {
                from: to,
                to: connection.agent().to_owned(),
                body: IpcBody::DelegateResult(result),
            };
            // The worker may have ended.
            let _ = connection.send(&message).await;
        });
    }

    fn is_busy(&self) -> bool {
        self.under_way.len() >= UNDER_WAY_MAX
    }

    fn ignore(&mut self, why: &str, line: &[u8]) {
        self.ignored += 1;
        if !is_logged(self.ignored, IGNORED_LOGGED) {
            return;
        }
        tracing::warn!(
            target: "toolhost::agents",
            instance = %self.connection.instance(), pid = self.connection.pid(), why,
            ignored = self.ignored, line = excerpt(line, EXCERPT_BYTES),
            "a line of a process was ignored"
        );
    }
}

/// The end of a turn in an event.
fn turn_end(event: AgentEvent) -> TurnEnd {
    let failed = event.event_type == wire::FAILED;
    match event.into_answer() {
        Ok(value) if !failed => Ok(value),
        Ok(error) | Err(error) => Err(wire::error_from_json(&error)),
    }
}

/// The end of a turn in a `delegate_result`.
fn delegated_end(mut payload: Value) -> TurnEnd {
    match payload.get("status").and_then(Value::as_str) {
        Some("error") => {
            let error = payload.get("error").unwrap_or(&Value::Null);
            Err(wire::error_from_json(error))
        }
        Some("ok") => {
            let output = payload.get_mut("output").map(Value::take);
            Ok(output.unwrap_or_default())
        }
        Some(_) | None => Ok(payload),
    }
}

/// The fields of a request that its response needs. The response may wait long for the worker to read.
fn header(event: AgentEvent) -> AgentEvent {
    AgentEvent {
        input: None,
        metadata: None,
        ..event
    }
}
