//! What a process says, and what is done about it. It is a stranger's: nothing it says is trusted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinSet;
use toolhost_contract::{AgentEvent, Delegation, IpcBody, IpcMessage, RESPONSE_TYPE};

use super::super::delivery::ReplyMode;
use super::super::dispatch::new_id;
use super::super::lines::{Line, is_logged, shown};
use super::super::request::DEFAULT_TIMEOUT;
use super::super::{AgentsError, Undelivered, wire};
use super::answer::{acknowledge, answer, respond, response};
use super::link::{Link, Said, TurnOf};

/// Events and questions of one process that are under way at the same time.
const UNDER_WAY_MAX: usize = 256;

/// Ignored lines that are all logged; of further ones ever fewer are.
const IGNORED_LOGGED: u64 = 64;

/// Bytes of a line that are shown in a log.
const SHOWN_BYTES: usize = 256;

/// The ear for one process.
#[derive(Debug)]
pub(super) struct Inbound {
    link: Arc<Link>,
    /// What is being done for it; given up when it ends.
    under_way: JoinSet<()>,
    ignored: u64,
}

impl Inbound {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self {
            link,
            under_way: JoinSet::new(),
            ignored: 0,
        }
    }

    /// Waits until something it asked for has been answered.
    pub(super) async fn answered(&mut self) {
        if self.under_way.join_next().await.is_none() {
            std::future::pending::<()>().await;
        }
    }

    /// Does what a line says.
    pub(super) fn take(&mut self, line: Line) {
        let line = match line {
            Line::Whole(line) => line,
            Line::TooLong(line) => return self.ignore("a line is too long", &line),
        };
        match IpcMessage::parse(&line) {
            Ok(message) => self.hear(message, &line),
            Err(error) => self.ignore(&error.to_string(), &line),
        }
    }

    fn hear(&mut self, message: IpcMessage, line: &[u8]) {
        match message.body {
            IpcBody::Event(event) if event.event_type == RESPONSE_TYPE => {
                let turn = event.in_reply_to().map(str::to_owned);
                self.end_of_turn(
                    TurnOf::Request(&turn.unwrap_or_default()),
                    said(*event),
                    line,
                );
            }
            IpcBody::Event(event) if message.to == wire::ORCHESTRATOR => self.told(*event, line),
            IpcBody::Event(_) if self.under_way.len() >= 2 * UNDER_WAY_MAX => {
                self.ignore("it asks faster than it reads refusals", line);
            }
            IpcBody::Event(event) => self.submit(message.to, *event),
            IpcBody::Delegate(delegation) => self.delegate(message.to, delegation),
            IpcBody::DelegateResult(result) => {
                let turn = result.correlation_id.unwrap_or_default();
                self.end_of_turn(TurnOf::Request(&turn), said_earlier(result.payload), line);
            }
            IpcBody::ShutdownAck(_) => tracing::debug!(
                target: "toolhost::agents", instance = %self.link.instance(), "a process ends"
            ),
            IpcBody::Shutdown(_) => self.ignore("only the orchestrator says shutdown", line),
        }
    }

    /// Hears what is said to the orchestrator itself.
    fn told(&mut self, event: AgentEvent, line: &[u8]) {
        match event.event_type.as_str() {
            wire::COMPLETED | wire::FAILED => {
                let id = event.metadata.as_ref();
                let id = id.and_then(|all| all.get(wire::EVENT_ID)?.as_str());
                let id = id.unwrap_or_default().to_owned();
                self.end_of_turn(TurnOf::Event(&id), said(event), line);
            }
            wire::SPAWN
            | wire::LIST
            | wire::CATALOG
            | wire::TAKE_RESPONSES
            | wire::ACKNOWLEDGE_RESPONSES => {
                let (link, local) = (Arc::clone(&self.link), self.link.local());
                if self.is_busy() {
                    return self.ignore("too much is under way", line);
                }
                self.under_way.spawn(async move {
                    let answer = answer(&local, &event).await;
                    respond(&link, wire::ORCHESTRATOR, &as_asked(event), answer).await;
                });
            }
            _ => self.ignore("the orchestrator knows no such event", line),
        }
    }

    /// A response that nobody asked this instance for is nobody's: it is dropped here.
    fn end_of_turn(&mut self, turn: TurnOf<'_>, said: Said, line: &[u8]) {
        if !self.link.complete(turn, said) {
            self.ignore("it answers what this instance is not asked", line);
        }
    }

    /// Has an event for another agent delivered.
    fn submit(&mut self, to: String, mut event: AgentEvent) {
        let link = Arc::clone(&self.link);
        let delivery = event.metadata.as_mut();
        let delivery = delivery.and_then(|all| all.shift_remove(wire::DELIVERY));
        let delivery = delivery.unwrap_or_default();
        let is_async = delivery.get("async").and_then(Value::as_bool) == Some(true);
        let timeout = delivery.get("timeoutMs").and_then(Value::as_u64);
        let timeout = timeout.map_or(DEFAULT_TIMEOUT, Duration::from_millis);
        let waits = event.reply_to.is_some() && !is_async;
        let asked = as_asked(event.clone());
        let busy = self.is_busy().then(|| {
            let under_way_max = UNDER_WAY_MAX;
            AgentsError::undelivered(&to, Undelivered::TooManyUnderWay { under_way_max })
        });
        let local = self.link.local();
        let work = async move {
            if waits {
                let answer = match busy {
                    Some(busy) => Err(busy),
                    None => local.ask(&to, event, timeout).await,
                };
                return respond(&link, &to, &asked, answer).await;
            }
            let mode = asked.reply_to.as_ref().map(|_| ReplyMode::Async);
            let accepted = match busy {
                Some(busy) => Err(busy),
                None => local.submit(&to, event, mode).await,
            };
            acknowledge(&link, &asked, accepted).await;
        };
        self.under_way.spawn(work);
    }

    /// Has a request of the earlier kind delivered.
    fn delegate(&mut self, to: String, delegation: Delegation) {
        let (link, local) = (Arc::clone(&self.link), self.link.local());
        if self.is_busy() {
            return self.ignore("too much is under way", b"delegate");
        }
        self.under_way.spawn(async move {
            let Ok(id) = new_id() else { return };
            let event = delegation.into_event(link.agent(), id, local.now());
            let asked = as_asked(event.clone());
            let mode = event.reply_to.as_ref().map(|_| ReplyMode::Delegate);
            let Err(error) = local.submit(&to, event, mode).await else {
                return;
            };
            let failure = wire::failure_to_json(&error);
            let response = response(&local, &to, &asked, Err(failure));
            let Some(result) = response.and_then(Delegation::result_of) else {
                return tracing::warn!(target: "toolhost::agents", %error, "not delegated");
            };
            let message = IpcMessage {
                from: to,
                to: link.agent().to_owned(),
                body: IpcBody::DelegateResult(result),
            };
            // The process may be gone.
            let _ = link.tell(&message).await;
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
            instance = %self.link.instance(), pid = self.link.pid(), why,
            ignored = self.ignored, line = shown(line, SHOWN_BYTES),
            "what a process said was ignored"
        );
    }
}

/// What an event says came of a turn.
fn said(event: AgentEvent) -> Said {
    let failed = event.event_type == wire::FAILED;
    match event.into_answer() {
        Ok(value) if failed => Err(wire::error_from_json(&value)),
        Ok(value) => Ok(value),
        Err(error) => Err(wire::error_from_json(&error)),
    }
}

/// What a `delegate_result` says came of a turn.
fn said_earlier(mut payload: Value) -> Said {
    let status = payload.get("status").and_then(Value::as_str);
    let key = match status {
        Some("error") => "error",
        Some("ok") => "output",
        Some(_) | None => return Ok(payload),
    };
    let failed = key == "error";
    let part = payload.get_mut(key).map(Value::take).unwrap_or_default();
    if failed {
        return Err(wire::error_from_json(&part));
    }
    Ok(part)
}

/// What an answer repeats of a request: it may wait for long until the process reads it.
fn as_asked(event: AgentEvent) -> AgentEvent {
    AgentEvent {
        input: None,
        metadata: None,
        ..event
    }
}
