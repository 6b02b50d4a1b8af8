//! The methods `turn/open`, `turn/status`, `turn/close`, `step/open` and `step/close`.

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::{HandlerError, ToolError, Turn, TurnStart};

use crate::catalog_format::CatalogFormat;
use crate::error::RpcError;
use crate::instances::InstanceParams;
use crate::session::Session;
use crate::turn_id::new_turn_id;

/// `{"instance"?, "input"?, "traceId"?, "subject"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct OpenParams {
    #[serde(default)]
    instance: InstanceParams,
    #[serde(default)]
    input: Value,
    trace_id: Option<String>,
    subject: Option<String>,
}

/// `{"turn"}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnParams {
    turn: String,
}

/// `{"turn", "format"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenStepParams {
    turn: String,
    #[serde(default)]
    format: CatalogFormat,
}

/// `{"turn", "answer"?}` or `{"turn", "error"}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseParams {
    turn: String,
    answer: Option<Value>,
    error: Option<HandlerError>,
}

/// `{"step", "answer"?}` or `{"step", "error"}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CloseStepParams {
    step: String,
    answer: Option<Value>,
    error: Option<HandlerError>,
}

/// Opens a turn: `{"turn", "traceId", "input", "requiredTools"}`.
pub(super) async fn open(session: &Session, params: OpenParams) -> Result<Value, RpcError> {
    let (config, turns) = (&session.config, &session.turns);
    turns.check_turns(&config.limits)?;
    let instance = params.instance.open(&session.bundles, config)?;
    let mut start = TurnStart::new(new_turn_id()?)
        .with_input(params.input)
        .with_exposure(config.tools);
    if let Some(trace_id) = params.trace_id {
        start = start.with_trace_id(trace_id);
    }
    if let Some(subject) = params.subject {
        start = start.with_subject(subject);
    }
    if let Some(bundle) = &config.bundle
        && instance.agent().changeset_grant().is_some()
    {
        // What a step commits takes effect at the next one.
        start = start.with_live_bundle(bundle);
    }
    let turn = instance.open_turn(start).await?;
    let turn = turns.add(turn, instance, &config.limits)?;
    Ok(json!({
        "turn": turn.id(),
        "traceId": turn.trace_id(),
        "input": turn.input(),
        "requiredTools": required(&turn),
    }))
}

/// Describes an open turn: `{"turn", "traceId", "requiredTools", "requiredToolsSatisfied", "steps"}`.
pub(super) fn status(session: &Session, params: &TurnParams) -> Result<Value, RpcError> {
    let (turn, _) = session.turns.turn(&params.turn)?;
    Ok(json!({
        "turn": turn.id(),
        "traceId": turn.trace_id(),
        "requiredTools": required(&turn),
        "requiredToolsSatisfied": turn.required_tools_satisfied(),
        "steps": session.turns.steps_of(&params.turn),
    }))
}

/// Closes a turn: `{"answer"}`, or `{"error"}` if it ends with an error.
pub(super) async fn close(session: &Session, params: CloseParams) -> Result<Value, RpcError> {
    let end = outcome(params.answer, params.error)?;
    let turn = session.turns.take_turn(&params.turn)?;
    Ok(end_json(match end {
        Ok(answer) => turn.close(answer).await,
        Err(error) => turn.fail(error).await,
    }))
}

/// Opens a step: `{"step", "tools"}`.
pub(super) async fn open_step(
    session: &Session,
    params: OpenStepParams,
) -> Result<Value, RpcError> {
    let (limits, turns) = (&session.config.limits, &session.turns);
    turns.check_steps(limits)?;
    let (turn, _) = turns.turn(&params.turn)?;
    let step = turn.open_step().await?;
    let tools = params.format.export(&step.exposed());
    let id = turns.add_step(&turn, step, limits)?;
    Ok(json!({"step": id, "tools": tools}))
}

/// Closes a step: `{"answer"}`, or `{"error"}` if it ends with an error.
pub(super) async fn close_step(
    session: &Session,
    params: CloseStepParams,
) -> Result<Value, RpcError> {
    let end = outcome(params.answer, params.error)?;
    let step = session.turns.take_step(&params.step)?;
    Ok(end_json(match end {
        Ok(answer) => step.close(answer).await,
        Err(error) => step.fail(error).await,
    }))
}

fn outcome(
    answer: Option<Value>,
    error: Option<HandlerError>,
) -> Result<Result<Value, HandlerError>, RpcError> {
    match (answer, error) {
        (Some(_), Some(_)) => Err(RpcError::params("`answer` and `error` exclude each other")),
        (_, Some(error)) => Ok(Err(error)),
        (answer, None) => Ok(Ok(answer.unwrap_or_default())),
    }
}

fn end_json(answer: Result<Value, ToolError>) -> Value {
    match answer {
        Ok(answer) => json!({"answer": answer}),
        Err(error) => json!({"error": error}),
    }
}

fn required(turn: &Turn) -> Vec<&str> {
    let tools = turn.required_tools().iter();
    tools.map(|name| name.as_str()).collect()
}
