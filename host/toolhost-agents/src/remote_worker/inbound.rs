//! Messages from a worker. They are untrusted: each is checked against the turn and the limits.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use toolhost_contract::agents::DEFAULT_TIMEOUT;
use toolhost_contract::{AgentEvent, Delegation, IpcBody, IpcMessage, RESPONSE_TYPE};
use toolhost_runtime::lines::{Line, is_logged};

use crate::client::Port;
use crate::delivery::ReplyMode;
use crate::ids::new_id;
use crate::ipc_lines;
use crate::{AgentsError, Undelivered, wire};

use super::connection::{TurnKey, TurnResult, WorkerConnection};
use super::outbound::{acknowledge, respond, response, send_result};

/// Events and requests of one worker that are processed at the same time.
const UNDER_WAY_MAX: usize = 256;

/// Why a line is ignored while so many are processed.
const BUSY: &str = "too many requests are under way";

/// Ignored lines that are all logged. [`is_logged`] selects some of the later ones.
const IGNORED_LOGGED: u64 = 64;

const EXCERPT_BYTES: usize = 256;

/// Processes the messages of one worker.
#[derive(Debug)]
pub(super) struct Inbound {
    connection: Arc<WorkerConnection>,
    /// Requests that are being processed. They are dropped with the worker.
    under_way: JoinSet<()>,
    ignored: u64,
}

impl Inbound {
    pub(super) fn new(connection: Arc<WorkerConnection>) -> Self {
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

    pub(super) fn receive(&mut self, line: &Line) {
        let handled =
            ipc_lines::parse(line).and_then(|message| self.handle(message).map_err(str::to_owned));
        if let Err(why) = handled {
            self.ignore(&why, line);
        }
    }

    /// Processes a message; the error is why it is ignored.
    fn handle(&mut self, message: IpcMessage) -> Result<(), &'static str> {
        match message.body {
            IpcBody::Event(event) if event.event_type == RESPONSE_TYPE => {
                let turn = event.in_reply_to().unwrap_or_default().to_owned();
                self.end_turn_with(TurnKey::Request(&turn), *event)
            }
            IpcBody::Event(event) if message.to == wire::ORCHESTRATOR => self.operate(*event),
            IpcBody::Event(_) if self.under_way.len() >= 2 * UNDER_WAY_MAX => Err(BUSY),
            IpcBody::Event(event) => {
                self.submit(message.to, *event);
                Ok(())
            }
            IpcBody::Delegate(delegation) => self.delegate(message.to, delegation),
            IpcBody::DelegateResult(result) => {
                let turn = result.correlation_id.unwrap_or_default();
                self.end_turn(
                    TurnKey::Request(&turn),
                    None,
                    delegated_result(result.payload),
                )
            }
            IpcBody::ShutdownAck(_) => {
                let instance = self.connection.instance();
                tracing::debug!(target: "toolhost::agents", %instance, "a process ends");
                Ok(())
            }
            IpcBody::Shutdown(_) => Err("only the orchestrator sends shutdown"),
        }
    }

    /// Processes an event that is addressed to the orchestrator itself.
    fn operate(&mut self, mut event: AgentEvent) -> Result<(), &'static str> {
        match event.event_type.as_str() {
            wire::COMPLETED | wire::FAILED => {
                let id = wire::event_id(&event).unwrap_or_default().to_owned();
                self.end_turn_with(TurnKey::Event(&id), event)
            }
            operation if wire::OPERATIONS.contains(&operation) => {
                self.check_busy()?;
                let connection = Arc::clone(&self.connection);
                let local = connection.local();
                self.under_way.spawn(async move {
                    let input = event.input.take().unwrap_or_default();
                    let answer = local.operate(&event.event_type, input).await;
                    respond(&connection, wire::ORCHESTRATOR, &header(&event), answer).await;
                });
                Ok(())
            }
            _ => Err("the orchestrator does not know the type"),
        }
    }

    /// Ends the current turn with the event that a process sends for that.
    fn end_turn_with(&self, turn: TurnKey<'_>, event: AgentEvent) -> Result<(), &'static str> {
        let received = event.metadata.as_ref().and_then(wire::received);
        self.end_turn(turn, received, turn_result(event))
    }

    /// Ends the current turn. A response to any other request is ignored.
    fn end_turn(
        &self,
        turn: TurnKey<'_>,
        received: Option<Vec<String>>,
        result: TurnResult,
    ) -> Result<(), &'static str> {
        if self.connection.complete(turn, received, result) {
            return Ok(());
        }
        Err("it answers no request of the current turn")
    }

    /// Submits an event for another agent.
    fn submit(&mut self, to: String, mut event: AgentEvent) {
        let connection = Arc::clone(&self.connection);
        let delivery = event.metadata.as_mut();
        let delivery = delivery.and_then(|members| members.shift_remove(wire::DELIVERY));
        let delivery = delivery.unwrap_or_default();
        let is_async = delivery.get("async").and_then(Value::as_bool) == Some(true);
        let timeout = delivery.get("timeoutMs").and_then(Value::as_u64);
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        let timeout = (event.reply_to.is_some() && !is_async).then_some(timeout);
        let request = header(&event);
        let is_busy = self.check_busy().is_err();
        let local = connection.local();
        self.under_way.spawn(async move {
            let answer = if is_busy {
                let limit = format!("{UNDER_WAY_MAX} events of this process are under way already");
                let reason = Undelivered::LimitReached(limit);
                Err(AgentsError::undelivered(&to, reason))
            } else {
                local.submit(&to, event, timeout).await
            };
            match timeout {
                Some(_) => respond(&connection, &to, &request, answer).await,
                None => acknowledge(&connection, &request, answer).await,
            }
        });
    }

    /// Submits a request of the earlier protocol.
    fn delegate(&mut self, to: String, delegation: Delegation) -> Result<(), &'static str> {
        self.check_busy()?;
        let connection = Arc::clone(&self.connection);
        let local = connection.local();
        self.under_way.spawn(async move {
            let Ok(id) = new_id() else { return };
            let event = delegation.into_event(connection.agent(), id, local.now());
            let request = header(&event);
            let mode = event.reply_to.as_ref().map(|_| ReplyMode::Delegate);
            let Err(error) = local.accept(&to, event, mode).await else {
                return;
            };
            let failure = wire::failure_to_json(&error);
            let Some(response) = response(&connection, &to, &request, Err(failure)) else {
                return tracing::warn!(target: "toolhost::agents", %error, "a delegation failed");
            };
            // The worker may have ended.
            let _ = send_result(&connection, &to, response).await;
        });
        Ok(())
    }

    fn check_busy(&self) -> Result<(), &'static str> {
        let is_busy = self.under_way.len() >= UNDER_WAY_MAX;
        if is_busy { Err(BUSY) } else { Ok(()) }
    }

    fn ignore(&mut self, why: &str, line: &Line) {
        self.ignored += 1;
        if !is_logged(self.ignored, IGNORED_LOGGED) {
            return;
        }
        tracing::warn!(
            target: "toolhost::agents",
            instance = %self.connection.instance(), pid = self.connection.pid, why,
            ignored = self.ignored, line = line.excerpt(EXCERPT_BYTES),
            "a line of a process was ignored"
        );
    }
}

/// The result of a turn in an event.
fn turn_result(event: AgentEvent) -> TurnResult {
    let failed = event.event_type == wire::FAILED;
    match event.into_answer() {
        Ok(value) if !failed => Ok(value),
        Ok(error) | Err(error) => Err(wire::error_from_json(&error)),
    }
}

/// The result of a turn in a `delegate_result`.
fn delegated_result(mut payload: Value) -> TurnResult {
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
fn header(event: &AgentEvent) -> AgentEvent {
    let source = event.source.clone();
    AgentEvent {
        trace_id: event.trace_id.clone(),
        reply_to: event.reply_to.clone(),
        ..AgentEvent::new(&*event.id, &*event.event_type, &*event.created_at, source)
    }
}
