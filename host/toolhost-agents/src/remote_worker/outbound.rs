//! Messages to a worker: answers, acceptance, results of its delegations.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;
use toolhost_contract::{AgentEvent, Delegation, EventSource, IpcBody, IpcMessage, JsonObject};

use crate::delivery::ReplyMode;
use crate::ids::new_id;
use crate::{AgentsError, Undelivered, wire};

use super::connection::WorkerConnection;

/// Sends the results of delegations whenever `results` is notified, until the worker stops reading.
pub(super) async fn forward_results(connection: Arc<WorkerConnection>, results: Arc<Notify>) {
    loop {
        if let Err(error) = send_results(&connection).await {
            tracing::warn!(
                target: "toolhost::agents", instance = %connection.instance(), %error,
                "results of delegations were not sent"
            );
        }
        tokio::select! {
            () = results.notified() => {}
            () = connection.out.closed() => return,
        }
    }
}

async fn send_results(connection: &WorkerConnection) -> Result<(), AgentsError> {
    let local = connection.local();
    loop {
        let results = local
            .load_responses(ReplyMode::Delegate, Vec::new())
            .await?;
        if results.is_empty() {
            return Ok(());
        }
        for (correlation_id, response) in results {
            let from = response.source.name.clone();
            let result = send_result(connection, &from, response).await;
            result.map_err(|reason| AgentsError::undelivered(connection.agent(), reason))?;
            local.acknowledge(vec![correlation_id]).await?;
        }
    }
}

/// Sends a response as the result of a delegation.
pub(super) async fn send_result(
    connection: &WorkerConnection,
    from: &str,
    response: AgentEvent,
) -> Result<(), Undelivered> {
    let Some(result) = Delegation::result_of(response) else {
        return Ok(());
    };
    let body = IpcBody::DelegateResult(result);
    let message = wire::message(from, connection.agent(), body);
    connection.out.send(&message).await
}

/// Sends the answer to a request of the worker; the reason instead of an answer that exceeds the limits.
pub(super) async fn respond(
    connection: &WorkerConnection,
    from: &str,
    request: &AgentEvent,
    answer: Result<Value, AgentsError>,
) {
    let answer = answer.map_err(|failure| wire::failure_to_json(&failure));
    let result = send_response(connection, from, request, answer).await;
    if let Err(reason @ Undelivered::Malformed(_)) = result {
        let failure = AgentsError::undelivered(connection.agent(), reason);
        let failure = Err(wire::failure_to_json(&failure));
        // The worker may have ended.
        let _ = send_response(connection, from, request, failure).await;
    }
}

async fn send_response(
    connection: &WorkerConnection,
    from: &str,
    request: &AgentEvent,
    answer: Result<Value, JsonObject>,
) -> Result<(), Undelivered> {
    let Some(event) = response(connection, from, request, answer) else {
        return Ok(());
    };
    let message = IpcMessage::event(from, connection.agent(), event);
    connection.out.send(&message).await
}

/// Makes the response to a request of the worker.
pub(super) fn response(
    connection: &WorkerConnection,
    from: &str,
    request: &AgentEvent,
    answer: Result<Value, JsonObject>,
) -> Option<AgentEvent> {
    let id = new_id().ok()?;
    let now = connection.local().now();
    request.response(id, now, EventSource::agent(from), answer)
}

/// Tells the worker whether its event was accepted.
pub(super) async fn acknowledge(
    connection: &WorkerConnection,
    event: &AgentEvent,
    accepted: Result<Value, AgentsError>,
) {
    let Ok(id) = new_id() else { return };
    let failure = accepted.err();
    let event_type = match &failure {
        None => wire::ACCEPTED,
        Some(_) => wire::REFUSED,
    };
    let failure = failure.as_ref().map(wire::failure_to_json);
    let source = EventSource {
        kind: wire::ORCHESTRATOR.to_owned(),
        name: wire::ORCHESTRATOR.to_owned(),
    };
    let about = wire::about(&event.id, failure);
    let mut event = AgentEvent::new(id, event_type, connection.local().now(), source);
    event.metadata = Some(about);
    let message = IpcMessage::event(wire::ORCHESTRATOR, connection.agent(), event);
    // The worker may have ended.
    let _ = connection.out.send(&message).await;
}
