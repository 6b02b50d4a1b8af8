//! Admits a call, and checks its arguments and its message.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{
    AssistantMessage, ErrorCode, Locale, ToolCall, ToolError, ToolErrorCode, text,
};
use toolhost_sandbox::Limits;

use super::failure::failure;
use super::hints::suggest_raising;
use super::scope::CallScope;
use crate::agent::ToolPermit;
use crate::middleware::{NAME_SHOWN, display_name};
use crate::registry::{RegisteredTool, ToolRegistry};
use toolhost_schema::json;

/// A call of a tool that this step may call.
pub(super) struct AdmittedCall<'a> {
    tool: &'a RegisteredTool,
    permit: Arc<ToolPermit>,
    call: ToolCall,
}

/// A call with valid arguments.
pub(super) struct ValidCall<'a> {
    pub(super) tool: &'a RegisteredTool,
    pub(super) permit: Arc<ToolPermit>,
    pub(super) args: Value,
    /// The arguments as JSON text.
    pub(super) input: String,
}

/// Admits a call of the step's catalog; if the policy allows it, also one of the registry.
///
/// Spec: tool-spec-v2 §9.
pub(super) fn admit<'a>(
    scope: &'a CallScope,
    registry: &'a ToolRegistry,
    call: ToolCall,
) -> Result<AdmittedCall<'a>, ToolError> {
    let tool = find(scope, registry, &call.name).inspect_err(|refusal| {
        if refusal.code == ErrorCode::Host(ToolErrorCode::NotInCatalog) {
            tracing::info!(
                agent = &*scope.turn.origin.agent_name,
                tool = display_name(&call.name),
                advice = ToolErrorCode::NotInCatalog.suggestion(Locale::En),
                "a call names a tool that its step does not have"
            );
        }
    })?;
    if scope.catalog.get(&call.name).is_none() {
        tracing::info!(
            target: "toolhost::audit",
            agent = &*scope.turn.origin.agent_name,
            tool = display_name(&call.name),
            "called from the registry: the policy allows it"
        );
    }
    let permit = scope.permit(tool);
    Ok(AdmittedCall { tool, permit, call })
}

/// Finds the tool of a call in the step's catalog; if the policy allows it, also in the registry.
fn find<'a>(
    scope: &'a CallScope,
    registry: &'a ToolRegistry,
    name: &str,
) -> Result<&'a RegisteredTool, ToolError> {
    let locale = scope.turn.locale();
    if let (Err(refusal), false) = (
        scope.catalog.admit(name, locale),
        scope.turn.agent().host.policy.registry_direct_call(),
    ) {
        return Err(refusal);
    }
    scope.registered(registry, name).ok_or_else(|| {
        let message = format!("Tool '{}' is not in the Tool Registry.", display_name(name));
        ToolError::host(ToolErrorCode::NotFound, message, locale)
    })
}

/// Returns whether the catalog or the schema refuses a call as it is, before middleware.
///
/// Spec: tool-spec-v2 §9.2.
pub(crate) async fn is_refused(
    scope: &CallScope,
    registry: &ToolRegistry,
    call: &ToolCall,
    message: &AssistantMessage,
) -> bool {
    let Ok(tool) = find(scope, registry, &call.name) else {
        return true;
    };
    let admitted = AdmittedCall {
        tool,
        permit: scope.permit(tool),
        call: call.clone(),
    };
    let refusal = validate(scope, admitted, message).await.err();
    // Any other failure is the host's: the call may succeed later.
    refusal.is_some_and(|error| error.code == ErrorCode::Host(ToolErrorCode::InvalidArgs))
}

/// Checks the arguments and the message against the limits, and the arguments against the schema.
pub(super) async fn validate<'a>(
    scope: &CallScope,
    admitted: AdmittedCall<'a>,
    message: &AssistantMessage,
) -> Result<ValidCall<'a>, ToolError> {
    let AdmittedCall { tool, permit, call } = admitted;
    let locale = scope.turn.locale();
    let limits = &permit.limits;
    let exceeds = |limit, message| {
        let error = ToolError::host(ToolErrorCode::InvalidArgs, message, locale);
        Err(suggest_raising(error, limit, locale))
    };
    check_message_of(message, &call.id, locale)?;
    let name = &tool.item.name;
    if let Some(reason) = call.args_error() {
        let message = format!("Invalid arguments for tool '{name}': {reason}");
        return Err(ToolError::host(ToolErrorCode::InvalidArgs, message, locale));
    }
    let mut args = Value::Object(call.args);
    let size = json::measure(&args);
    if size.depth > limits.json_depth {
        let (depth, most) = (size.depth, limits.json_depth);
        let message =
            format!("Invalid arguments for tool '{name}': nested {depth} deep, at most {most}");
        return exceeds("jsonDepth", message);
    }
    if size.floats > 0 {
        json::write_integers(&mut args);
    }
    // A value is always written; `Value::to_string` takes twice as long.
    let input = serde_json::to_string(&args).unwrap_or_default();
    if input.len() as u64 > limits.input_bytes {
        let (bytes, most) = (input.len(), limits.input_bytes);
        let message = format!("Invalid arguments for tool '{name}': {bytes} bytes, at most {most}");
        return exceeds("inputBytes", message);
    }
    check_message_limits(message, limits, locale)?;
    let args = if tool.schema.is_short(&args, size) {
        tool.schema.validate(name, &args, size).map(|()| args)
    } else {
        // Validated on another thread, so that the caller's thread can run other calls.
        let (schema, name) = (Arc::clone(&tool.schema), name.clone());
        let check = move || schema.validate(&name, &args, size).map(|()| args);
        let checked = scope
            .turn
            .agent()
            .host
            .sandbox
            .threads()
            .compute(check)
            .await;
        checked.map_err(|error| failure(&tool.item.name, &error.into(), locale))?
    };
    let args =
        args.map_err(|error| error.into_tool_error(tool.item.parameters.as_ref(), locale))?;
    Ok(ValidCall {
        tool,
        permit,
        args,
        input,
    })
}

/// Checks the message of a call before it is stored for the background: against the limits of the
/// called tool, or the default limits if there is no such tool.
pub(crate) fn check_submitted(
    scope: &CallScope,
    registry: &ToolRegistry,
    call: &ToolCall,
    message: &AssistantMessage,
) -> Result<(), ToolError> {
    let locale = scope.turn.locale();
    check_message_of(message, &call.id, locale)?;
    let tool = scope.registered(registry, &call.name);
    let limits = tool.map_or_else(Limits::default, |tool| scope.permit(tool).limits.clone());
    check_message_limits(message, &limits, locale)
}

/// Checks that the message contains the call.
fn check_message_of(
    message: &AssistantMessage,
    call_id: &str,
    locale: Locale,
) -> Result<(), ToolError> {
    if message.contains_call(call_id) {
        return Ok(());
    }
    let id = text::shorten(call_id, NAME_SHOWN);
    let message = format!("The assistant message does not contain the tool call '{id}'.");
    Err(ToolError::host(ToolErrorCode::Host, message, locale))
}

/// Checks the message against the limits: it contains the arguments, other calls and text.
fn check_message_limits(
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
    Err(suggest_raising(error, limit, locale))
}
