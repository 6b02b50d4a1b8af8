//! The orchestrator's event types, keys of `metadata`, and errors as JSON.
//!
//! The protocol is described at [`child`](super::child).

use serde_json::{Value, json};
use toolhost_contract::{
    AgentEvent, ErrorMessageLimit, HandlerError, IpcBody, IpcMessage, JsonObject, RESPONSE_TYPE,
    ToolErrorCode, limit_handler_error,
};

use super::AgentsError;

/// The orchestrator's name in messages.
pub(super) const ORCHESTRATOR: &str = "orchestrator";

pub(super) const ACCEPTED: &str = "event.accepted";
pub(super) const REFUSED: &str = "event.refused";
pub(super) const COMPLETED: &str = "turn.completed";
pub(super) const FAILED: &str = "turn.failed";
pub(super) const SPAWN: &str = "agents.spawn";
pub(super) const LIST: &str = "agents.list";
pub(super) const CATALOG: &str = "agents.catalog";
pub(super) const TAKE_RESPONSES: &str = "agents.takeResponses";
pub(super) const ACKNOWLEDGE_RESPONSES: &str = "agents.acknowledgeResponses";

/// Types of the requests to the orchestrator itself.
pub(super) const OPERATIONS: [&str; 5] =
    [SPAWN, LIST, CATALOG, TAKE_RESPONSES, ACKNOWLEDGE_RESPONSES];

/// Keys of `metadata`.
const EVENT_ID: &str = "eventId";
const ERROR: &str = "error";
pub(super) const ATTEMPT: &str = "deliveryAttempt";
pub(super) const DELIVERY: &str = "delivery";
const RECEIVED: &str = "received";

/// Correlation ids in one list; a response that is left out is taken again.
const RECEIVED_MAX: usize = 1000;

/// Whether only the orchestrator may send events of a type. An agent that could send a response could
/// answer requests of which it is not the target.
pub(super) fn is_reserved(event_type: &str) -> bool {
    event_type == RESPONSE_TYPE
        || ["event.", "turn.", "agents."]
            .iter()
            .any(|beginning| event_type.starts_with(beginning))
}

pub(super) fn message(from: &str, to: &str, body: IpcBody) -> IpcMessage {
    let (from, to) = (from.to_owned(), to.to_owned());
    IpcMessage { from, to, body }
}

/// Returns the `metadata` of an event about another one: its id, and the error if it failed.
pub(super) fn about(event_id: &str, error: Option<JsonObject>) -> JsonObject {
    let error = error.map(|error| (ERROR.to_owned(), Value::Object(error)));
    let id = (EVENT_ID.to_owned(), json!(event_id));
    std::iter::once(id).chain(error).collect()
}

/// Returns the id of the event that an event is about.
pub(super) fn event_id(event: &AgentEvent) -> Option<&str> {
    event.metadata.as_ref()?.get(EVENT_ID)?.as_str()
}

/// Returns the correlation ids of the responses that a process got, if `object` lists them.
pub(super) fn received(object: &JsonObject) -> Option<Vec<String>> {
    let ids = object.get(RECEIVED)?.as_array()?.iter();
    Some(ids.filter_map(|id| Some(id.as_str()?.to_owned())).collect())
}

/// Lists the correlation ids of the responses that a process got.
pub(super) fn received_to_json(ids: &[String]) -> JsonObject {
    let ids: Vec<&String> = ids.iter().take(RECEIVED_MAX).collect();
    std::iter::once((RECEIVED.to_owned(), json!(ids))).collect()
}

pub(super) fn set_attempt(event: &mut AgentEvent, attempt: u32) {
    let metadata = event.metadata.get_or_insert_default();
    metadata.insert(ATTEMPT.to_owned(), json!(attempt));
}

/// Returns the number of the delivery, from 1.
pub(super) fn attempt(event: &AgentEvent) -> u32 {
    let metadata = event.metadata.as_ref();
    let attempt = metadata.and_then(|members| members.get(ATTEMPT)?.as_u64());
    attempt.and_then(|n| u32::try_from(n).ok()).unwrap_or(1)
}

pub(super) fn error_to_json(error: &HandlerError) -> JsonObject {
    if let Value::Object(error) = json!(error) {
        error
    } else {
        JsonObject::new()
    }
}

/// Reads an agent's error from any JSON that its process sent.
pub(super) fn error_from_json(error: &Value) -> HandlerError {
    let text = |key: &str| Some(error.get(key)?.as_str()?.to_owned());
    let whole = error.as_str().map(str::to_owned);
    let unknown = || "the agent gave no message".to_owned();
    HandlerError {
        message: text("message").or(whole).unwrap_or_else(unknown),
        name: text("name"),
        code: text("code"),
        suggestion: text("suggestion"),
        help_url: text("helpUrl"),
    }
}

/// Writes a failure as JSON, which a model may read. An agent's own error is bounded, and cannot have a code
/// of the host's.
pub(super) fn failure_to_json(failure: &AgentsError) -> JsonObject {
    if let Some(error) = failure.handler_error() {
        return error_to_json(&limit_handler_error(
            error.clone(),
            ErrorMessageLimit::DEFAULT,
        ));
    }
    let code = failure.code();
    let mut object = error_to_json(&HandlerError {
        message: failure.to_string(),
        name: Some(code.error_name().to_owned()),
        code: Some(code.as_str().to_owned()),
        suggestion: None,
        help_url: Some(code.help_url()),
    });
    object.insert("host".to_owned(), json!(true));
    object
}

/// Reads a failure that the orchestrator reported.
pub(super) fn failure_from_json(target: &str, failure: &Value) -> AgentsError {
    let error = error_from_json(failure);
    let from_host = failure.get("host") == Some(&Value::Bool(true));
    let code = error.code.as_deref().and_then(ToolErrorCode::from_code);
    match code {
        Some(code) if from_host => AgentsError::Reported {
            code,
            message: error.message,
        },
        Some(_) | None => AgentsError::TurnFailed {
            target: target.to_owned(),
            error: Box::new(error),
        },
    }
}
