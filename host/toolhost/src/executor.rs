//! The one way from a [`ToolCall`] to a [`ToolResult`].
//!
//! admit (is it in this step's catalog?) → validate (do the arguments fit?) → run (in the sandbox) →
//! finish (within every limit). No step can be skipped: each takes what only the one before makes.

use serde_json::Value;
use toolhost_contract::{
    ErrorMessageLimit, ToolCall, ToolContext, ToolError, ToolErrorCode, ToolResult, Usage,
};
use toolhost_sandbox::{Ask, Invocation, Limits, Outcome};

use crate::agent::Scope;
use crate::context::CallContext;
use crate::failure::{Clues, explained, failure};
use crate::registry::RegisteredTool;
use crate::result::{limit_error, normalise_error, text};
use crate::schema::json;
use crate::telemetry;

/// Longest tool name echoed in a result, in characters.
const NAME_SHOWN: usize = 128;

/// What a call came to, before it is made a result.
enum Answer {
    Output(Value),
    Pending(String),
}

/// A call of a tool that this step shows.
struct AdmittedCall<'a> {
    tool: &'a RegisteredTool,
    call: ToolCall,
}

/// A call whose arguments fit.
struct ValidCall<'a> {
    tool: &'a RegisteredTool,
    call_id: String,
    input: String,
}

/// Executes a call: never an error, never a panic; dropping the future stops the guest.
pub(crate) async fn execute(scope: &Scope, call: ToolCall, context: &CallContext) -> ToolResult {
    let (id, name) = (call.id.clone(), text::shorten(&call.name, NAME_SHOWN));
    let finish = |limit, answer: Result<Answer, ToolError>, usage| {
        match answer {
            Ok(Answer::Output(output)) => ToolResult::ok(&id, &name, output),
            Ok(Answer::Pending(handle)) => ToolResult::pending(&id, &name, handle),
            Err(error) => ToolResult::error(&id, &name, limit_error(error, limit)),
        }
        .with_usage(usage)
    };
    let admitted = match admit(scope, call) {
        Ok(admitted) => admitted,
        Err(refusal) => {
            return finish(ErrorMessageLimit::DEFAULT, Err(refusal), Usage::default());
        }
    };
    let limit = admitted.tool.error_message_limit;
    match validate(scope, admitted, context) {
        Ok(valid) => {
            let (answer, usage) = run(scope, valid, context).await;
            finish(limit, answer, usage)
        }
        Err(refusal) => finish(limit, Err(refusal), Usage::default()),
    }
}

/// Admits a call of the step's catalog; of the registry only where the policy says so.
///
/// Spec: tool-spec-v2 §9.
fn admit(scope: &Scope, call: ToolCall) -> Result<AdmittedCall<'_>, ToolError> {
    let locale = scope.locale();
    let shown = scope.catalog.admit(&call.name, locale);
    if let (Err(refusal), false) = (&shown, scope.allows_registry_calls()) {
        return Err(refusal.clone());
    }
    match scope.registry().get(&call.name) {
        Some(tool) => {
            if shown.is_err() {
                telemetry::registry_call(scope, &call);
            }
            Ok(AdmittedCall { tool, call })
        }
        None => {
            let shown = text::shorten(&call.name, NAME_SHOWN);
            let message = format!("Tool '{shown}' is not in the Tool Registry.");
            Err(ToolError::host(ToolErrorCode::NotFound, message, locale))
        }
    }
}

/// Checks the arguments against the limits and the tool's schema.
fn validate<'a>(
    scope: &Scope,
    admitted: AdmittedCall<'a>,
    context: &CallContext,
) -> Result<ValidCall<'a>, ToolError> {
    let AdmittedCall { tool, call } = admitted;
    let locale = scope.locale();
    let limits = &scope.permit(tool).limits;
    let refuse = |code, message| Err(ToolError::host(code, message, locale));
    if !context.message.holds(&call.id) {
        let shown = text::shorten(&call.id, NAME_SHOWN);
        let message = format!("The call context's message does not hold the tool call '{shown}'.");
        return refuse(ToolErrorCode::Host, message);
    }
    let args = Value::Object(call.args);
    let name = &tool.item.name;
    let depth = json::depth(&args);
    if depth > limits.json_depth {
        let most = limits.json_depth;
        let message =
            format!("Invalid arguments for tool '{name}': nested {depth} deep, at most {most}");
        return refuse(ToolErrorCode::InvalidArgs, message);
    }
    let input = args.to_string();
    if input.len() as u64 > limits.input_bytes {
        let (bytes, most) = (input.len(), limits.input_bytes);
        let message = format!("Invalid arguments for tool '{name}': {bytes} bytes, at most {most}");
        return refuse(ToolErrorCode::InvalidArgs, message);
    }
    if let Err(message) = check_message(context, limits) {
        return refuse(ToolErrorCode::InvalidArgs, message);
    }
    tool.schema
        .validate(name, &args)
        .map_err(|error| error.into_tool_error(locale))?;
    Ok(ValidCall {
        tool,
        call_id: call.id,
        input,
    })
}

/// Checks the message against the limits: it holds the arguments, other calls and text.
fn check_message(context: &CallContext, limits: &Limits) -> Result<(), String> {
    let (bytes, depth) = (context.message.as_json().len(), context.message.depth());
    let (most, deepest) = (limits.message_bytes(), limits.message_depth());
    if bytes as u64 <= most && depth <= deepest {
        return Ok(());
    }
    Err(format!(
        "The assistant message is {bytes} bytes of JSON, nested {depth} deep: at most {most} bytes and {deepest} levels are allowed."
    ))
}

/// Runs a call in the sandbox.
async fn run(
    scope: &Scope,
    valid: ValidCall<'_>,
    context: &CallContext,
) -> (Result<Answer, ToolError>, Usage) {
    let ValidCall {
        tool,
        call_id,
        input,
    } = valid;
    let permit = scope.permit(tool);
    let invocation = Invocation {
        ask: Ask::Handler {
            name: tool.item.name.export().clone(),
            input,
        },
        context: ToolContext {
            agent_name: scope.agent_name().to_owned(),
            instance_key: context.instance_key.clone(),
            turn_id: context.turn_id.clone(),
            tool_call_id: call_id,
            trace_id: context.trace_id.clone(),
            message: context.message.clone(),
            workdir: "/".to_owned(),
        },
        workdir: Some(context.workdir.clone()),
        protected: scope.protected().clone(),
        grants: permit.grants.clone(),
        agents: None,
        limits: permit.limits.clone(),
    };
    let report = tool.component.call(invocation).await;
    telemetry::ran(scope, tool, &report);
    let locale = scope.locale();
    let error = match report.outcome {
        Ok(Outcome::Output(output)) => return (Ok(Answer::Output(output)), report.usage),
        Ok(Outcome::Pending(handle)) => return (Ok(Answer::Pending(handle)), report.usage),
        Ok(Outcome::Failed(error)) => normalise_error(error, tool.error_message_limit, locale),
        Err(error) => failure(&tool.item.name, &error, locale),
    };
    let clues = Clues {
        disk_limit_hit: report.disk_limit_hit,
        denials: &report.usage.denials,
    };
    (Err(explained(error, &clues, locale)), report.usage)
}
