//! The one way from a [`ToolCall`] to a [`ToolResult`].
//!
//! middleware → admit (is it in this step's catalog?) → validate (do the arguments fit?) → run (in
//! the sandbox, or an extension's handler) → exit (within every limit). No step can be skipped:
//! each takes what only the one before makes.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{
    AssistantMessage, ErrorMessageLimit, Locale, ToolCall, ToolError, ToolErrorCode, ToolResult,
    Usage,
};
use toolhost_sandbox::{Limits, Operation};

use super::failure::{answer_of, failure, raisable};
use super::native;
use super::telemetry;
use crate::agent::Permit;
use crate::middleware::{BoxFuture, Panicked, unpanicked};
use crate::middleware::{CallKind, Progress, Redactor, ToolCallContext};
use crate::pending;
use crate::registry::{RegisteredTool, Runs};
use crate::step::Scope;
use toolhost_contract::{limit_error, text};
use toolhost_manifest::schema::json;

/// Longest tool name echoed in a result, in characters.
const NAME_SHOWN: usize = 128;

/// A name as results and events show it.
pub(crate) fn shown(name: &str) -> String {
    text::shorten(name, NAME_SHOWN)
}

/// What a call came to, before it is made a result.
pub(crate) enum Answer {
    Output(Value),
    Pending(String),
}

/// A call of a tool that this step shows.
struct AdmittedCall<'a> {
    tool: &'a RegisteredTool,
    permit: Permit,
    call: ToolCall,
}

/// A call whose arguments fit.
pub(crate) struct ValidCall<'a> {
    pub(crate) tool: &'a RegisteredTool,
    pub(crate) permit: Permit,
    call_id: String,
    pub(crate) args: Value,
    input: String,
}

/// Executes a call: never an error, never a panic; dropping the future stops the guest.
pub(crate) async fn execute(
    scope: &Scope,
    call: ToolCall,
    message: &AssistantMessage,
) -> ToolResult {
    let (id, name) = (call.id.clone(), shown(&call.name));
    let tool = scope.registered(&call.name);
    let limit = tool.map_or(ErrorMessageLimit::DEFAULT, |tool| tool.error_message_limit);
    let result = if scope.layers().is_empty() {
        run_admitted(scope, call, message, None).await
    } else {
        let call_kind = match scope.catalog.get(&call.name) {
            Some(_) => CallKind::Call,
            None => CallKind::CallOutsideCatalog,
        };
        let progress = Arc::default();
        let context = ToolCallContext::new(call, call_kind, &progress, &scope.step_id, &scope.turn);
        let (inner, message, beneath) = (scope.clone(), message.clone(), Arc::clone(&progress));
        let core = move |context: ToolCallContext| -> BoxFuture<'static, ToolResult> {
            Box::pin(async move {
                let call = context.into_call();
                let result = run_admitted(&inner, call, &message, Some(&beneath)).await;
                beneath.said(&result);
                result
            })
        };
        let result = scope.layers().run(context, core).await;
        progress.sanitize_codes(result, scope.turn.locale())
    };
    let redactor = &scope.turn.agent().host.redactor;
    let result = exit(redactor, result.answering(&id, &name), limit);
    scope.turn.saw(&result);
    result
}

/// What leaves the host, whoever made it: without the policy's secrets, its error within the limit.
pub(crate) fn exit(
    redactor: &Redactor,
    result: ToolResult,
    limit: ErrorMessageLimit,
) -> ToolResult {
    let mut result = redactor.result(result);
    if let Some(error) = result.error_mut() {
        *error = limit_error(error.clone(), limit);
    }
    result
}

/// What the middleware is around. A panic in it is the host's: of a layer of `tracing`, say.
async fn run_admitted(
    scope: &Scope,
    call: ToolCall,
    message: &AssistantMessage,
    progress: Option<&Progress>,
) -> ToolResult {
    let (id, name) = (call.id.clone(), shown(&call.name));
    match unpanicked(attempt(scope, call, message, progress)).await {
        Ok((Ok(Answer::Output(output)), usage)) => {
            ToolResult::ok(&id, &name, output).with_usage(usage)
        }
        Ok((Ok(Answer::Pending(handle)), usage)) => {
            ToolResult::pending(&id, &name, handle).with_usage(usage)
        }
        Ok((Err(error), usage)) => ToolResult::error(&id, &name, error).with_usage(usage),
        Err(Panicked) => {
            let (code, locale) = (ToolErrorCode::Host, scope.turn.locale());
            let message = format!("Tool '{name}' failed: the host panicked.");
            ToolResult::error(&id, &name, ToolError::host(code, message, locale))
        }
    }
}

/// Admits, validates and runs.
async fn attempt(
    scope: &Scope,
    call: ToolCall,
    message: &AssistantMessage,
    progress: Option<&Progress>,
) -> (Result<Answer, ToolError>, Usage) {
    let valid = match admit(scope, call) {
        Ok(admitted) => validate(scope, admitted, message).await,
        Err(refusal) => Err(refusal),
    };
    match valid {
        Ok(valid) => {
            progress.inspect(|progress| progress.runs());
            run(scope, valid, message).await
        }
        Err(refusal) => (Err(refusal), Usage::default()),
    }
}

/// Admits a call of the step's catalog; of the registry only where the policy says so.
///
/// Spec: tool-spec-v2 §9.
fn admit(scope: &Scope, call: ToolCall) -> Result<AdmittedCall<'_>, ToolError> {
    let locale = scope.turn.locale();
    let shown = scope.catalog.admit(&call.name, locale);
    if let (Err(refusal), false) = (&shown, scope.allows_registry_calls()) {
        return Err(refusal.clone());
    }
    match scope.registered(&call.name) {
        Some(tool) => {
            if shown.is_err() {
                telemetry::registry_call(scope, &call);
            }
            let permit = scope.permit(tool);
            Ok(AdmittedCall { tool, permit, call })
        }
        None => {
            let shown = self::shown(&call.name);
            let message = format!("Tool '{shown}' is not in the Tool Registry.");
            Err(ToolError::host(ToolErrorCode::NotFound, message, locale))
        }
    }
}

/// Checks the arguments against the limits and the tool's schema.
async fn validate<'a>(
    scope: &Scope,
    admitted: AdmittedCall<'a>,
    message: &AssistantMessage,
) -> Result<ValidCall<'a>, ToolError> {
    let AdmittedCall { tool, permit, call } = admitted;
    let locale = scope.turn.locale();
    let limits = &permit.limits;
    let exceeds = |limit, message| {
        let error = ToolError::host(ToolErrorCode::InvalidArgs, message, locale);
        Err(raisable(error, limit, locale))
    };
    check_held(message, &call.id, locale)?;
    let args = Value::Object(call.args);
    let name = &tool.item.name;
    let depth = json::depth(&args);
    if depth > limits.json_depth {
        let most = limits.json_depth;
        let message =
            format!("Invalid arguments for tool '{name}': nested {depth} deep, at most {most}");
        return exceeds("jsonDepth", message);
    }
    let input = args.to_string();
    if input.len() as u64 > limits.input_bytes {
        let (bytes, most) = (input.len(), limits.input_bytes);
        let message = format!("Invalid arguments for tool '{name}': {bytes} bytes, at most {most}");
        return exceeds("inputBytes", message);
    }
    check_message(message, limits, locale)?;
    let args = if tool.schema.is_short(&args) {
        let fits = tool.schema.validate(name, &args);
        fits.map(|()| args)
    } else {
        // The caller's thread has other calls to run.
        let (schema, name) = (Arc::clone(&tool.schema), name.clone());
        let check = move || schema.validate(&name, &args).map(|()| args);
        let checked = scope.turn.agent().host.sandbox.compute(check).await;
        checked.map_err(|error| failure(&tool.item.name, &error, locale))?
    };
    let args = args.map_err(|error| error.into_tool_error(locale))?;
    Ok(ValidCall {
        tool,
        permit,
        call_id: call.id,
        args,
        input,
    })
}

/// Checks a message before it is stored for a call in the background: under the limits of its tool, or
/// of any where there is none.
pub(crate) fn check_submitted(
    scope: &Scope,
    call: &ToolCall,
    message: &AssistantMessage,
) -> Result<(), ToolError> {
    let locale = scope.turn.locale();
    check_held(message, &call.id, locale)?;
    let tool = scope.registered(&call.name);
    let limits = tool.map_or_else(Limits::default, |tool| scope.permit(tool).limits);
    check_message(message, &limits, locale)
}

/// Checks that the message is the call's.
fn check_held(message: &AssistantMessage, call_id: &str, locale: Locale) -> Result<(), ToolError> {
    if message.holds(call_id) {
        return Ok(());
    }
    let shown = text::shorten(call_id, NAME_SHOWN);
    let message = format!("The assistant message given does not hold the tool call '{shown}'.");
    Err(ToolError::host(ToolErrorCode::Host, message, locale))
}

/// Checks the message against the limits: it holds the arguments, other calls and text.
fn check_message(
    message: &AssistantMessage,
    limits: &Limits,
    locale: Locale,
) -> Result<(), ToolError> {
    let (bytes, depth) = (message.as_json().len(), message.depth());
    let (most, deepest) = (limits.message_bytes(), limits.message_depth());
    let limit = match (bytes as u64 > most, depth > deepest) {
        (false, false) => return Ok(()),
        (true, _) => "inputBytes",
        (false, true) => "jsonDepth",
    };
    let message = format!(
        "The assistant message is {bytes} bytes of JSON, nested {depth} deep: at most {most} bytes and {deepest} levels are allowed."
    );
    let error = ToolError::host(ToolErrorCode::InvalidArgs, message, locale);
    Err(raisable(error, limit, locale))
}

/// Runs a call: in the sandbox, or in this process where an extension handles it.
async fn run(
    scope: &Scope,
    valid: ValidCall<'_>,
    message: &AssistantMessage,
) -> (Result<Answer, ToolError>, Usage) {
    let turn = &scope.turn;
    let context = turn.tool_context(&valid.call_id, message);
    let tool = valid.tool;
    match &tool.runs {
        Runs::Native { owner, handler } => {
            native::run(scope, valid, context, owner, &**handler).await
        }
        Runs::Component(component) => {
            let operation = Operation::Handler {
                name: tool.item.name.export().clone(),
                input: valid.input,
            };
            let protected = scope.protected().clone();
            let invocation = turn.invocation(valid.permit, protected, context, operation);
            let report = component.call(invocation).await;
            telemetry::ran(turn, tool, &report);
            let (answer, usage) = answer_of(report, tool, turn);
            match answer {
                Ok(Answer::Pending(guests)) => (
                    pending::accept(scope, &valid.call_id, tool, message, guests).await,
                    usage,
                ),
                answer => (answer, usage),
            }
        }
    }
}
