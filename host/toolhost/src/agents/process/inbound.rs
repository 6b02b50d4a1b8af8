//! What a process says, and what is done about it. It is a stranger's: nothing it says is trusted.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolhost_contract::{
    AgentEvent, Delegation, EventSource, IpcBody, IpcMessage, JsonObject, RESPONSE_TYPE,
};

use super::super::client::Port;
use super::super::delivery::ReplyMode;
use super::super::dispatch::new_id;
use super::super::lines::{Line, shown};
use super::super::local::Local;
use super::super::request::DEFAULT_TIMEOUT;
use super::super::{AgentsError, Undelivered, wire};
use super::link::{Link, Said, TurnOf};

/// Events and questions of one process that are under way at the same time.
const UNDER_WAY_MAX: usize = 256;

/// Bytes of responses that are given at once.
const RESPONSES_BYTES_MAX: usize = 512 << 10;

/// Bytes of a line that are shown in a log.
const SHOWN_BYTES: usize = 256;

/// The ear for one process.
#[derive(Debug)]
pub(super) struct Inbound {
    link: Arc<Link>,
    /// What is being done for it; given up when it ends.
    under_way: JoinSet<()>,
    /// Held by the one who tells results, so that each is told once.
    telling: Arc<tokio::sync::Mutex<()>>,
}

impl Inbound {
    pub(super) fn new(link: Arc<Link>) -> Self {
        Self {
            link,
            under_way: JoinSet::new(),
            telling: Arc::default(),
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
                    respond(&link, wire::ORCHESTRATOR, &event, answer).await;
                });
            }
            _ => self.ignore("the orchestrator knows no such event", line),
        }
    }

    /// A response that nobody asked this instance for is nobody's: it is dropped here.
    fn end_of_turn(&self, turn: TurnOf<'_>, said: Said, line: &[u8]) {
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
        // What an answer repeats of the request.
        let asked = AgentEvent {
            input: None,
            metadata: None,
            ..event.clone()
        };
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
            let asked = event.clone();
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

    /// Tells the process what came of its delegations.
    pub(super) fn hand_over_results(&mut self) {
        let (link, telling) = (Arc::clone(&self.link), Arc::clone(&self.telling));
        self.under_way.spawn(async move {
            let _telling = telling.lock().await;
            if let Err(error) = tell_results(&link).await {
                tracing::warn!(
                    target: "toolhost::agents", instance = %link.instance(), %error,
                    "results of delegations were not told"
                );
            }
        });
    }

    fn is_busy(&self) -> bool {
        self.under_way.len() >= UNDER_WAY_MAX
    }

    fn ignore(&self, why: &str, line: &[u8]) {
        tracing::warn!(
            target: "toolhost::agents",
            instance = %self.link.instance(), pid = self.link.pid(), why,
            line = shown(line, SHOWN_BYTES),
            "what a process said was ignored"
        );
    }
}

async fn tell_results(link: &Link) -> Result<(), AgentsError> {
    let local = link.local();
    for result in local.results().await? {
        let from = result.event.source.name.clone();
        if let Some(delegation) = Delegation::result_of(result.event) {
            let message = IpcMessage {
                from,
                to: link.agent().to_owned(),
                body: IpcBody::DelegateResult(delegation),
            };
            let told = link.tell(&message).await;
            told.map_err(|reason| AgentsError::undelivered(link.agent(), reason))?;
        }
        local.acknowledge(vec![result.correlation_id]).await?;
    }
    Ok(())
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

/// Answers a question to the orchestrator.
async fn answer(local: &Local, event: &AgentEvent) -> Result<Value, AgentsError> {
    let input = |key: &str| event.input.as_ref()?.get(key)?.as_str();
    match event.event_type.as_str() {
        wire::SPAWN => {
            let target = input("target").unwrap_or_default();
            let spawned = local.spawn(target, input("instanceKey")).await?;
            Ok(json!(spawned))
        }
        wire::LIST => Ok(json!(local.list().await?)),
        wire::CATALOG => Ok(json!(local.catalog().await?)),
        wire::TAKE_RESPONSES => {
            let taken = local.take_responses_within(RESPONSES_BYTES_MAX).await?;
            Ok(json!(taken))
        }
        _ => Ok(json!(local.acknowledge_responses().await?)),
    }
}

/// Tells the process the answer to what it asked.
async fn respond(link: &Link, from: &str, asked: &AgentEvent, answer: Result<Value, AgentsError>) {
    let answer = answer.map_err(|failure| wire::failure_to_json(&failure));
    let local = link.local();
    let Some(event) = response(&local, from, asked, answer) else {
        return;
    };
    let message = IpcMessage::event(from, link.agent(), event);
    if let Err(reason @ Undelivered::Malformed(_)) = link.tell(&message).await {
        let failure = AgentsError::undelivered(link.agent(), reason);
        let failure = wire::failure_to_json(&failure);
        if let Some(event) = response(&local, from, asked, Err(failure)) {
            let message = IpcMessage::event(from, link.agent(), event);
            // The process may be gone.
            let _ = link.tell(&message).await;
        }
    }
}

fn response(
    local: &Local,
    from: &str,
    asked: &AgentEvent,
    answer: Result<Value, JsonObject>,
) -> Option<AgentEvent> {
    let id = new_id().ok()?;
    asked.response(id, local.now(), EventSource::agent(from), answer)
}

/// Tells the process whether its event was accepted.
async fn acknowledge(link: &Link, asked: &AgentEvent, accepted: Result<(), AgentsError>) {
    let Ok(id) = new_id() else { return };
    let mut metadata = JsonObject::new();
    metadata.insert(wire::EVENT_ID.to_owned(), json!(asked.id));
    let event_type = match &accepted {
        Ok(()) => wire::ACCEPTED,
        Err(failure) => {
            let failure = wire::failure_to_json(failure);
            metadata.insert(wire::ERROR.to_owned(), Value::Object(failure));
            wire::REFUSED
        }
    };
    let source = EventSource {
        kind: wire::ORCHESTRATOR.to_owned(),
        name: wire::ORCHESTRATOR.to_owned(),
    };
    let mut event = AgentEvent::new(id, event_type, link.local().now(), source);
    event.metadata = Some(metadata);
    let message = IpcMessage::event(wire::ORCHESTRATOR, link.agent(), event);
    // The process may be gone.
    let _ = link.tell(&message).await;
}
