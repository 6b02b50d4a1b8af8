//! The methods `call/execute`, `call/submit`, `call/poll` and `call/cancel`.

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::{AssistantMessage, Step, ToolCall, ToolResult, TurnStart};

use crate::error::RpcError;
use crate::instances::InstanceParams;
use crate::session::Session;
use crate::turn_id::new_turn_id;

/// `{"step"?, "call", "message"?, "usage"?}`, or `instance` and `subject` in place of `step`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallParams {
    step: Option<String>,
    instance: Option<InstanceParams>,
    subject: Option<String>,
    call: ToolCall,
    message: Option<Value>,
    #[serde(default)]
    usage: bool,
}

/// `{"handle", "turn"?, "usage"?}`, or `instance` in place of `turn`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HandleParams {
    handle: String,
    turn: Option<String>,
    instance: Option<InstanceParams>,
    #[serde(default)]
    usage: bool,
}

/// How a call runs.
#[derive(Debug, Clone, Copy)]
enum Mode {
    Foreground,
    Background,
}

/// Executes a call: its ToolResult.
pub(super) async fn execute(session: &Session, params: CallParams) -> Result<Value, RpcError> {
    run(session, params, Mode::Foreground).await
}

/// Executes a call in the background: its ToolResult, with a handle.
pub(super) async fn submit(session: &Session, params: CallParams) -> Result<Value, RpcError> {
    run(session, params, Mode::Background).await
}

/// Polls a pending call: its ToolResult.
pub(super) async fn poll(session: &Session, params: HandleParams) -> Result<Value, RpcError> {
    let result = match &params.turn {
        // A required tool that succeeds counts for the turn.
        Some(turn) => {
            none_beside("turn", params.instance.as_ref())?;
            let (turn, _) = session.turns.turn(turn)?;
            turn.poll(&params.handle).await
        }
        None => {
            let instance = params.instance.unwrap_or_default();
            let instance = instance.open(&session.bundles, &session.config)?;
            instance.poll(&params.handle).await
        }
    };
    Ok(to_json(&result, params.usage))
}

/// Cancels a pending call: what its handle stands for from now on.
pub(super) async fn cancel(session: &Session, params: HandleParams) -> Result<Value, RpcError> {
    let instance = match &params.turn {
        Some(turn) => {
            none_beside("turn", params.instance.as_ref())?;
            session.turns.turn(turn)?.1
        }
        None => {
            let instance = params.instance.unwrap_or_default();
            instance.open(&session.bundles, &session.config)?
        }
    };
    let result = instance.cancel(&params.handle).await;
    Ok(to_json(&result, params.usage))
}

async fn run(session: &Session, params: CallParams, mode: Mode) -> Result<Value, RpcError> {
    let message = match params.message {
        Some(message) => AssistantMessage::parse(message)
            .and_then(|message| message.with_call(&params.call.id))
            .map_err(|error| RpcError::params(error.to_string()))?,
        None => AssistantMessage::for_call(&params.call),
    };
    let call = params.call;
    let result = match &params.step {
        Some(step) => {
            none_beside("step", params.instance.as_ref())?;
            if params.subject.is_some() {
                let message = "the turn of the `step` has a subject: `subject` cannot be given too";
                return Err(RpcError::params(message));
            }
            let step = session.turns.step(step)?;
            run_in(&step, call, &message, mode).await
        }
        None => {
            let instance = params.instance.unwrap_or_default();
            let instance = instance.open(&session.bundles, &session.config)?;
            let mut start = TurnStart::new(new_turn_id()?).with_exposure(session.config.tools);
            if let Some(subject) = params.subject {
                start = start.with_subject(subject);
            }
            let turn = instance.open_turn(start).await?;
            let step = turn.open_step().await?;
            let result = run_in(&step, call, &message, mode).await;
            step.close(()).await?;
            turn.close(()).await?;
            result
        }
    };
    Ok(to_json(&result, params.usage))
}

async fn run_in(step: &Step, call: ToolCall, message: &AssistantMessage, mode: Mode) -> ToolResult {
    match mode {
        Mode::Foreground => step.execute(call, message).await,
        Mode::Background => step.submit(call, message).await,
    }
}

fn none_beside(other: &str, instance: Option<&InstanceParams>) -> Result<(), RpcError> {
    match instance {
        None => Ok(()),
        Some(_) => {
            let message = format!("`{other}` and `instance` exclude each other");
            Err(RpcError::params(message))
        }
    }
}

/// The JSON of `toolhost call`; with `usage` that of `toolhost call --usage`.
pub(super) fn to_json(result: &ToolResult, usage: bool) -> Value {
    if usage {
        result.to_receipt()
    } else {
        json!(result)
    }
}
