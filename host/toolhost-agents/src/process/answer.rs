//! What a process is told: answers, acceptance, results of its delegations.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolhost_contract::{AgentEvent, Delegation, EventSource, IpcBody, IpcMessage, JsonObject};

use super::super::client::Port;
use super::super::dispatch::new_id;
use super::super::local::Local;
use super::super::{AgentsError, Undelivered, wire};
use super::link::Link;

/// Tells a process what came of its delegations, whenever there is something, as long as it reads.
pub(super) async fn keep_telling_results(link: Arc<Link>, results: Arc<Notify>) {
    loop {
        if let Err(error) = tell_results(&link).await {
            tracing::warn!(
                target: "toolhost::agents", instance = %link.instance(), %error,
                "results of delegations were not told"
            );
        }
        tokio::select! {
            () = results.notified() => {}
            () = link.is_deaf() => return,
        }
    }
}

async fn tell_results(link: &Link) -> Result<(), AgentsError> {
    let local = link.local();
    loop {
        let results = local.results().await?;
        if results.is_empty() {
            return Ok(());
        }
        for result in results {
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
    }
}

/// Answers a question to the orchestrator.
pub(super) async fn answer(local: &Local, event: &AgentEvent) -> Result<Value, AgentsError> {
    let input = |key: &str| event.input.as_ref()?.get(key)?.as_str();
    match event.event_type.as_str() {
        wire::SPAWN => {
            let target = input("target").unwrap_or_default();
            let spawned = local.spawn(target, input("instanceKey")).await?;
            Ok(json!(spawned))
        }
        wire::LIST => Ok(json!(local.list().await?)),
        wire::CATALOG => Ok(json!(local.catalog().await?)),
        wire::TAKE_RESPONSES => Ok(json!(local.take_responses().await?)),
        _ => Ok(json!(local.acknowledge_responses().await?)),
    }
}

/// Tells the process the answer to what it asked.
pub(super) async fn respond(
    link: &Link,
    from: &str,
    asked: &AgentEvent,
    answer: Result<Value, AgentsError>,
) {
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

/// Makes the answer to what a process asked.
pub(super) fn response(
    local: &Local,
    from: &str,
    asked: &AgentEvent,
    answer: Result<Value, JsonObject>,
) -> Option<AgentEvent> {
    let id = new_id().ok()?;
    asked.response(id, local.now(), EventSource::agent(from), answer)
}

/// Tells the process whether its event was accepted.
pub(super) async fn acknowledge(
    link: &Link,
    asked: &AgentEvent,
    accepted: Result<(), AgentsError>,
) {
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
