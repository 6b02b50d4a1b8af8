//! Asks a component again with the handle it gave, in a fresh sandbox.

use std::sync::{Arc, OnceLock};

use toolhost_contract::{
    AssistantMessage, ErrorMessageLimit, JsonObject, Locale, ToolCall, ToolError, ToolErrorCode,
    ToolResult,
};
use toolhost_sandbox::{CallReport, Operation, PreparedTool};

use super::record::PendingCall;
use crate::call::executor::{self, Answer};
use crate::call::failure::answer_of;
use crate::call::telemetry;
use crate::middleware::BoxFuture;
use crate::middleware::{CallKind, Progress, ToolCallContext};
use crate::registry::{RegisteredTool, Runs};
use crate::step::Scope;
use crate::turn::TurnInner;

/// What a component said when it was asked again.
pub(super) enum PollReply {
    /// The call has ended, well or not.
    Ended(ToolResult),
    /// Not yet; ask with this handle the next time.
    Pending(String),
    /// It could not be asked, or did not answer; it may be asked again.
    Unanswered(ToolResult),
}

/// Gives the host's handle for the component's own. Where it cannot, the component is told that nobody
/// waits: its work would be done twice.
///
/// Spec: tool-spec-v2 §10.2.
pub(crate) async fn accept(
    scope: &Scope,
    call_id: &str,
    tool: &RegisteredTool,
    message: &AssistantMessage,
    guests: String,
) -> Result<Answer, ToolError> {
    let (turn, name) = (&scope.turn, &tool.item.name);
    if !tool.polls() {
        let message = format!(
            "Tool '{name}' failed: it answered pending, and does not export goondan:tool/polling to be asked again."
        );
        let code = ToolErrorCode::InvalidOutput;
        return Err(ToolError::host(code, message, turn.locale()));
    }
    let call = (call_id, name.as_str());
    let accepted = match turn.agent().host.pending(turn.locale()).await {
        Ok(pending) => {
            let background = scope.background.as_ref();
            pending
                .accept_guest(turn, call, message, guests.clone(), background)
                .await
        }
        Err(error) => Err(error),
    };
    match accepted {
        Ok(handle) => Ok(Answer::Pending(handle.as_str().to_owned())),
        Err(error) => {
            forget(turn, call, message, guests).await;
            Err(error)
        }
    }
}

/// Tells a component that nobody waits for the handle it has just given.
async fn forget(
    turn: &Arc<TurnInner>,
    (call_id, tool_name): (&str, &str),
    message: &AssistantMessage,
    guest_handle: String,
) {
    let call = PendingCall {
        call_id: call_id.to_owned(),
        tool_name: tool_name.to_owned(),
        turn_id: turn.id.clone(),
        trace_id: Some(turn.trace_id.clone()),
        message: message.clone(),
    };
    cancel(turn, &call, guest_handle).await;
}

/// Asks; what comes of it passes through the agent's `toolCall` layers, as every result does.
pub(super) async fn ask(
    turn: &Arc<TurnInner>,
    call: &PendingCall,
    guest_handle: String,
) -> PollReply {
    let agent = turn.agent();
    let tool = agent.registry.get(&call.tool_name).cloned();
    let limit = tool
        .as_ref()
        .map_or(ErrorMessageLimit::DEFAULT, |tool| tool.error_message_limit);
    let fate: Arc<OnceLock<PollOutcome>> = Arc::default();
    let layers = agent.overlay.snapshot().tool_call.clone();
    let progress = Arc::default();
    let core = {
        let (turn, call, fate) = (Arc::clone(turn), call.clone(), Arc::clone(&fate));
        let beneath: Arc<Progress> = Arc::clone(&progress);
        move |_: ToolCallContext| -> BoxFuture<'static, ToolResult> {
            Box::pin(async move {
                beneath.runs();
                let result = core(&turn, &call, tool, guest_handle, &fate).await;
                beneath.said(&result);
                result
            })
        }
    };
    let asked = ToolCall::new(
        call.call_id.as_str(),
        call.tool_name.as_str(),
        JsonObject::new(),
    );
    let context = ToolCallContext::new(asked, CallKind::Poll, &progress, &"".into(), turn);
    let result = layers.run(context, core).await;
    let result = progress.sanitize_codes(result, turn.locale());
    let result = executor::exit(
        &agent.host.redactor,
        result.answering(&call.call_id, &call.tool_name),
        limit,
    );
    match fate.get() {
        Some(PollOutcome::Ended) => PollReply::Ended(result),
        Some(PollOutcome::Pending(renewed)) => PollReply::Pending(renewed.clone()),
        None => PollReply::Unanswered(result),
    }
}

/// What became of a call that was asked for.
enum PollOutcome {
    Ended,
    Pending(String),
}

async fn core(
    turn: &Arc<TurnInner>,
    call: &PendingCall,
    tool: Option<RegisteredTool>,
    guest_handle: String,
    fate: &OnceLock<PollOutcome>,
) -> ToolResult {
    let locale = turn.locale();
    let (id, name) = (&call.call_id, &call.tool_name);
    let Some((tool, component)) = tool.as_ref().and_then(polling) else {
        return ToolResult::error(id, name, gone(name, locale));
    };
    let operation = Operation::Poll {
        handle: guest_handle,
    };
    let report = visit(turn, call, tool, component, operation).await;
    // What stopped it may not stop it the next time.
    let answered = report.outcome.is_ok();
    let (answer, usage) = answer_of(report, tool, turn);
    let result = match answer {
        Ok(Answer::Output(output)) => ToolResult::ok(id, name, output),
        Ok(Answer::Pending(renewed)) => {
            let _first = fate.set(PollOutcome::Pending(renewed)).is_ok();
            ToolResult::pending(id, name, String::new())
        }
        Err(error) => ToolResult::error(id, name, error),
    };
    if answered {
        let _first = fate.set(PollOutcome::Ended).is_ok();
    }
    result.with_usage(usage)
}

/// Tells a component that nobody waits for its handle any more. What it makes of it is its own.
pub(super) async fn cancel(turn: &Arc<TurnInner>, call: &PendingCall, guest_handle: String) {
    let tool = turn.agent().registry.get(&call.tool_name);
    if let Some((tool, component)) = tool.and_then(polling) {
        let operation = Operation::Cancel {
            handle: guest_handle,
        };
        let report = visit(turn, call, tool, component, operation).await;
        if report.outcome.is_err() {
            let tool = tool.item.name.as_str();
            tracing::warn!(tool, "a component could not be told of a cancelled call");
        }
    }
}

/// A component that can be asked again.
fn polling(tool: &RegisteredTool) -> Option<(&RegisteredTool, &PreparedTool)> {
    match &tool.runs {
        Runs::Component(component) if tool.polls() => Some((tool, component)),
        Runs::Component(_) | Runs::Native { .. } => None,
    }
}

fn gone(name: &str, locale: Locale) -> ToolError {
    let message = format!("Tool '{name}' is no longer there to be asked for its result.");
    ToolError::host(ToolErrorCode::NotFound, message, locale)
}

async fn visit(
    turn: &Arc<TurnInner>,
    call: &PendingCall,
    tool: &RegisteredTool,
    component: &PreparedTool,
    operation: Operation,
) -> CallReport {
    let agent = turn.agent();
    let permit = agent.permit(tool.item.name.resource());
    let context = turn.tool_context(&call.call_id, &call.message);
    let invocation = turn.invocation(permit, agent.host.protected(), context, operation);
    let report = component.call(invocation).await;
    telemetry::ran(turn, tool, &report);
    report
}
