//! Polls a component for the result of a call, in a fresh sandbox.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use futures_util::future::BoxFuture;
use serde_json::Value;
use toolhost_contract::{AssistantMessage, ToolError, ToolErrorCode, ToolResult};
use toolhost_sandbox::Operation;

use crate::call::component::stored_run;
use crate::call::consent;
use crate::call::run::Answer;
use crate::call::scope::TurnScope;
use crate::catalog::ToolCatalog;
use crate::middleware::{CallIdentity, CallKind, Extensions, Progress, ToolCallContext};
use crate::pending::record::{Handle, Hold, PendingCall};
use crate::registry::RegisteredTool;

/// What the component itself answered, beneath the layers.
#[derive(Clone)]
pub(super) enum PollOutcome {
    /// The call has ended, well or not.
    Ended,
    /// The call has not ended. The next poll uses this handle.
    Pending(String),
}

/// Runs `core` within the agent's `toolCall` layers, as a poll of a stored call: what becomes of it goes through them, as
/// every result does.
pub(super) async fn in_layers(
    turn: &Arc<TurnScope>,
    call: &PendingCall,
    core: impl FnOnce(Arc<Progress>) -> BoxFuture<'static, ToolResult> + Send + 'static,
) -> ToolResult {
    let (identity, begin) = (turn.stored_identity(call), Instant::now());
    let progress: Arc<Progress> = Arc::default();
    let core = {
        let progress = Arc::clone(&progress);
        move |_: ToolCallContext| -> BoxFuture<'static, ToolResult> {
            Box::pin(async move {
                progress.set_running();
                let result = core(Arc::clone(&progress)).await;
                progress.set_result(&result);
                result
            })
        }
    };
    let polled = call.tool_call();
    let step = (ToolCatalog::default(), &Extensions::default());
    let context = ToolCallContext::new(&identity, polled, CallKind::Poll, step, &progress);
    let layers = turn.agent().overlay.snapshot().added.tool_call.clone();
    let result = layers.run(context, core).await;
    let result = progress.sanitize_codes(result, turn.locale());
    let result = result.with_call(&call.call_id, &call.tool_name);
    let result = turn.instance.exit(result);
    turn.instance.emitter.polled(&identity, &result, begin);
    result
}

/// Polls a component. Returns no outcome if the component could not run or returned no result; it can be polled again.
pub(super) async fn poll(
    turn: &Arc<TurnScope>,
    call: &PendingCall,
    guest_handle: String,
    consent: (Option<Arc<Hold>>, Handle),
) -> (ToolResult, Option<PollOutcome>) {
    let identity = turn.stored_identity(call);
    let running = match turn.begin_call() {
        Ok(running) => running,
        // It can be polled once the bundle is loaded again.
        Err(error) => return (identity.error(error), None),
    };
    let tool = running.registry.get(&*call.tool_name).cloned();
    let outcome: Arc<OnceLock<PollOutcome>> = Arc::default();
    let core = {
        let (turn, message) = (Arc::clone(turn), call.message.clone());
        let outcome = Arc::clone(&outcome);
        move |_| -> BoxFuture<'static, ToolResult> {
            Box::pin(async move {
                let polled = (guest_handle, consent);
                run(&turn, &identity, &message, tool.as_ref(), polled, &outcome).await
            })
        }
    };
    let result = in_layers(turn, call, core).await;
    (result, outcome.get().cloned())
}

async fn run(
    turn: &TurnScope,
    identity: &CallIdentity,
    message: &AssistantMessage,
    tool: Option<&RegisteredTool>,
    (guest_handle, (release, handle)): (String, (Option<Arc<Hold>>, Handle)),
    outcome: &OnceLock<PollOutcome>,
) -> ToolResult {
    let approved = handle.clone();
    let Some(mut run) = stored_run(turn, identity, message, tool, Some(handle)) else {
        let name = &identity.tool_name;
        let message = format!("Tool '{name}' has been removed, so its result cannot be polled.");
        let error = ToolError::host(ToolErrorCode::NotFound, message, turn.locale());
        return identity.error(error);
    };
    let mut calls = message.tool_calls().iter();
    let args = calls.find(|one| one.id == *identity.call_id);
    let args: Value = args.map(|one| one.args.clone()).unwrap_or_default().into();
    let call = (&args, guest_handle.as_str());
    let is_approved = match run.permit.ask {
        None => false,
        Some(_) => {
            let bound = consent::bound(run.tool, &run.permit, &args.to_string());
            match turn.pending().is_call_approved(&approved, bound).await {
                Ok(is_approved) => is_approved,
                Err(error) => return identity.error(error),
            }
        }
    };
    match consent::check_poll(
        turn,
        run.tool,
        &run.permit,
        call,
        release.as_ref(),
        is_approved,
    ) {
        Ok(consent) => run.wait_with(consent),
        Err(error) => return identity.error(*error),
    }
    let operation = Operation::Poll {
        handle: guest_handle,
    };
    let mut end = run.run(operation).await;
    let polled = match &mut end.answer {
        // The host's handle takes the place of the component's.
        Ok(Answer::Pending(renewed)) => PollOutcome::Pending(std::mem::take(renewed)),
        Ok(Answer::Held(..)) => return end.into_result(identity),
        Ok(Answer::Output(_)) | Err(_) => PollOutcome::Ended,
    };
    // If the host stopped the component, the next poll may succeed.
    if end.has_answered {
        let _is_first = outcome.set(polled).is_ok();
    }
    end.into_result(identity)
}
