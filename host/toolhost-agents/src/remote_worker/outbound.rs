//! Messages to a worker: answers, acceptance, results of its delegations.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use toolhost_contract::{AgentEvent, Delegation, EventSource, IpcBody, IpcMessage, JsonObject};

use crate::client::Port;
use crate::ids::new_id;
use crate::local_port::LocalPort;
use crate::{AgentsError, Undelivered, wire};

use super::connection::Connection;

/// Sends the results of delegations whenever `results` is notified, until the worker stops reading.
pub(super) async fn forward_results(connection: Arc<Connection>, results: Arc<Notify>) {
    loop {
        if let Err(error) = send_results(&connection).await {
            tracing::warn!(
                target: "toolhost::agents", instance = %connection.instance(), %error,
                "results of delegations were not sent"
            );
        }
        tokio::select! {
            () = results.notified() => {}
            () = connection.closed_for_writing() => return,
        }
    }
}

async fn send_results(connection: &Connection) -> Result<(), AgentsError> {
    let local = connection.local();
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
                    to: connection.agent().to_owned(),
                    body: IpcBody::DelegateResult(delegation),
                };
                let sent = connection.send(&message).await;
                sent.map_err(|reason| AgentsError::undelivered(connection.agent(), reason))?;
            }
            local.acknowledge(vec![result.correlation_id]).await?;
        }
    }
}

/// Answers a request to the orchestrator itself.
pub(super) async fn answer(local: &LocalPort, event: &AgentEvent) -> Result<Value, AgentsError> {
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

/// Sends the answer to a request of the worker.
pub(super) async fn respond(
    connection: &Connection,
    from: &str,
    request: &AgentEvent,
    answer: Result<Value, AgentsError>,
) {
    let answer = answer.map_err(|failure| wire::failure_to_json(&failure));
    let sent = send_response(connection, from, request, answer).await;
    if let Err(reason @ Undelivered::Malformed(_)) = sent {
        let failure = AgentsError::undelivered(connection.agent(), reason);
        let failure = Err(wire::failure_to_json(&failure));
        // The worker may have ended.
        let _ = send_response(connection, from, request, failure).await;
    }
}

async fn send_response(
    connection: &Connection,
    from: &str,
    request: &AgentEvent,
    answer: Result<Value, JsonObject>,
) -> Result<(), Undelivered> {
    match response(&connection.local(), from, request, answer) {
        Some(event) => {
            let message = IpcMessage::event(from, connection.agent(), event);
            connection.send(&message).await
        }
        None => Ok(()),
    }
}

/// Makes the response to a request of the worker.
pub(super) fn response(
    local: &LocalPort,
    from: &str,
    request: &AgentEvent,
    answer: Result<Value, JsonObject>,
) -> Option<AgentEvent> {
    let id = new_id().ok()?;
    request.response(id, local.now(), EventSource::agent(from), answer)
}

/// Tells the worker whether its event was accepted.
pub(super) async fn acknowledge(
    connection: &Connection,
    event: &AgentEvent,
    accepted: Result<(), AgentsError>,
) {
    let Ok(id) = new_id() else { return };
    let mut metadata = JsonObject::new();
    metadata.insert(wire::EVENT_ID.to_owned(), json!(event.id));
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
    let mut event = AgentEvent::new(id, event_type, connection.local().now(), source);
    event.metadata = Some(metadata);
    let message = IpcMessage::event(wire::ORCHESTRATOR, connection.agent(), event);
    // The worker may have ended.
    let _ = connection.send(&message).await;
}
