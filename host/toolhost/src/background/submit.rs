//! Runs calls in the background.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use toolhost_contract::{AssistantMessage, ToolCall, ToolError, ToolErrorCode, ToolResult};
use tracing::instrument::WithSubscriber;
use tracing::{Instrument, Span};

use super::held;
use super::running::BackgroundCall;
use crate::call::cancellation::{TURN_CANCELLED, cancelled_result};
use crate::call::scope::CallScope;
use crate::call::{executor, validate};
use crate::pending::record::Handle;

/// Runs a call in the background, within `span`, and returns its handle at once. If a component answers
/// `pending` there, the handle stands for the component's own, which is polled until it has a result.
///
/// A call that the catalog or the schema refuses gets no handle: it goes through the middleware, which
/// may still repair it, and its result is returned.
///
/// Spec: tool-spec-v2 §9.2, §10.2.
pub(crate) async fn submit(
    scope: &CallScope,
    call: ToolCall,
    message: &AssistantMessage,
    span: Span,
) -> ToolResult {
    let identity = scope.identity(&call);
    if scope
        .cancellation()
        .is_some_and(CancellationToken::is_cancelled)
    {
        let cancelled = cancelled_result(&identity, TURN_CANCELLED);
        return scope.turn.instance.exit(cancelled);
    }
    let running = match scope.turn.begin_call() {
        Ok(running) => running,
        Err(error) => return identity.error(error),
    };
    let registry = &running.registry;
    let submitted = match validate::check_submitted(scope, registry, &call, message) {
        Ok(()) if Box::pin(validate::is_refused(scope, registry, &call, message)).await => {
            let executed = Box::pin(executor::execute(scope, call, &identity, message));
            return executed.instrument(span).await;
        }
        Ok(()) => start(scope.clone(), call, message.clone(), span).await,
        Err(refusal) => Err(refusal),
    };
    scope.turn.instance.exit(match submitted {
        Ok(handle) => {
            let handle = handle.as_str().to_owned();
            ToolResult::pending(&identity.call_id, &identity.tool_name, handle)
        }
        Err(error) => identity.error(error),
    })
}

async fn start(
    scope: CallScope,
    call: ToolCall,
    message: AssistantMessage,
    span: Span,
) -> Result<Handle, ToolError> {
    let turn = Arc::clone(&scope.turn);
    let (send, accepted) = oneshot::channel();
    // One task from the record to its end, so that dropping the caller leaves nothing half done.
    let running = async move {
        let (turn, identity) = (&scope.turn, scope.identity(&call));
        let (owner, stored) = (
            turn.instance.owner(),
            turn.pending_call(&identity, &message),
        );
        let handle = match turn.pending().accept(owner, stored, None).await {
            Ok(handle) => handle,
            Err(error) => {
                // The receiver may have been dropped.
                let _is_received = send.send(Err(error)).is_ok();
                return;
            }
        };
        let background = BackgroundCall::begin(turn, &handle, &identity);
        if send.send(Ok(handle.clone())).is_err() {
            let message = "The caller dropped the call before it began.";
            let error = ToolError::host(ToolErrorCode::Cancelled, message, turn.locale());
            return background.settle(identity.error(error)).await;
        }
        let background_scope = CallScope {
            background: Some(handle),
            ..scope
        };
        run(background, background_scope, call, &message, span).await;
    };
    // What the call logs belongs to whoever submitted it.
    let running = running.with_current_subscriber();
    turn.agent().host.sandbox.threads().spawn(running);
    accepted.await.unwrap_or_else(|_| {
        let message = "The call could not be run in the background.";
        Err(ToolError::host(ToolErrorCode::Host, message, turn.locale()))
    })
}

async fn run(
    background: BackgroundCall,
    scope: CallScope,
    call: ToolCall,
    message: &AssistantMessage,
    span: Span,
) {
    let (turn, handle) = (&scope.turn, background.handle.clone());
    let stopped = Arc::clone(&background.stopped);
    let end = async {
        let identity = scope.identity(&call);
        let executed = pin!(executor::execute(&scope, call, &identity, message));
        let result = executed.instrument(span).await;
        if result.handle().is_none() {
            return Some(result);
        }
        if result.awaits_approval().is_some() {
            held::watch(&turn.instance);
            return None;
        }
        let pending = turn.pending();
        pending.poll_until_ended(&turn.instance, &handle).await;
        None
    };
    let result = tokio::select! {
        biased;
        () = stopped.notified() => None,
        result = end => result,
    };
    match result {
        Some(result) => background.settle(result).await,
        None => background.release(),
    }
}
