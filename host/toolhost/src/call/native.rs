//! Runs an extension's handler within a tool's deadline and limits.

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use toolhost_contract::{ToolContext, ToolError, ToolErrorCode, Usage};
use toolhost_sandbox::{Limits, SandboxError};

use super::executor::{Answer, ValidCall};
use super::failure::failure;
use crate::handler::{FailureSource, HandlerContext, HandlerFailure, Logger, ToolHandler};
use crate::middleware::{Panicked, unpanicked};
use crate::step::Scope;
use toolhost_contract::normalise_error;
use toolhost_manifest::schema::json;

/// Runs a valid call.
pub(crate) async fn run(
    scope: &Scope,
    valid: ValidCall<'_>,
    context: ToolContext,
    owner: &Arc<str>,
    handler: &dyn ToolHandler,
) -> (Result<Answer, ToolError>, Usage) {
    let turn = &scope.turn;
    let (name, locale) = (&valid.tool.item.name, turn.locale());
    let Value::Object(args) = valid.args else {
        let message = format!("The arguments of '{name}' are no object.");
        let error = ToolError::host(ToolErrorCode::InvalidArgs, message, locale);
        return (Err(error), Usage::default());
    };
    let limits = &valid.permit.limits;
    let panicked = || {
        let message = format!("Tool '{name}' failed: its handler panicked.");
        Err(ToolError::host(ToolErrorCode::Trap, message, locale))
    };
    let Ok(own) = unpanicked(async { handler.deadline(&args) }).await else {
        return (panicked(), Usage::default());
    };
    let deadline = match (own, valid.permit.deadline_said) {
        (Some(own), false) => own,
        // What the operator says holds for a handler that asks for more.
        (Some(own), true) => own.min(limits.deadline),
        (None, _) => limits.deadline,
    };
    let started = Instant::now();
    let context = HandlerContext {
        context,
        workdir: turn.instance.workdir().clone(),
        logger: Logger::of(owner),
        agents: turn.agents.clone(),
    };
    let called = unpanicked(async { handler.call(context, args).await });
    let sandbox = &turn.agent().host.sandbox;
    let mut usage = Usage::default();
    let answer = match sandbox.within(deadline, called).await {
        None => Err(failure(name, &SandboxError::Timeout { deadline }, locale)),
        Some(Err(Panicked)) => panicked(),
        Some(Ok(Ok(output))) => {
            let bytes = output.to_string().len() as u64;
            usage.output_bytes = bytes;
            match exceeded(&output, bytes, limits) {
                None => Ok(Answer::Output(output)),
                Some(error) => Err(failure(name, &error, locale)),
            }
        }
        Some(Ok(Err(HandlerFailure(FailureSource::Host(code, message))))) => {
            Err(ToolError::host(code, message, locale))
        }
        Some(Ok(Err(HandlerFailure(FailureSource::Handler(error))))) => {
            let (bytes, limit) = (error.bytes(), limits.output_bytes);
            usage.output_bytes = bytes;
            Err(if bytes > limit {
                failure(name, &SandboxError::OutputTooLarge { bytes, limit }, locale)
            } else {
                let error = turn.agent().host.redactor.raised(error);
                normalise_error(error, valid.tool.error_message_limit, locale)
            })
        }
    };
    usage.wall = started.elapsed();
    (answer, usage)
}

/// The limit that an answer exceeds.
fn exceeded(output: &Value, bytes: u64, limits: &Limits) -> Option<SandboxError> {
    let limit = limits.output_bytes;
    if bytes > limit {
        return Some(SandboxError::OutputTooLarge { bytes, limit });
    }
    let (depth, most) = (json::depth(output), limits.json_depth);
    (depth > most).then(|| SandboxError::OutputTooDeep { depth, limit: most })
}
