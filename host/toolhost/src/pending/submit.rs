//! Runs calls in the background.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use toolhost_contract::{AssistantMessage, ToolCall, ToolError, ToolErrorCode, ToolResult};

use super::background::BackgroundCall;
use super::calls::Pending;
use super::opening::PendingCalls;
use super::poll::PollStatus;
use super::record::{Handle, NewSource};
use crate::call::outcome::display_name;
use crate::call::scope::{CallScope, TurnScope};
use crate::call::{executor, validate};

/// How long to wait before a component that answered `pending` in the background is polled: at first,
/// and at most.
const POLL_AFTER: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

impl PendingCalls {
    /// Runs a call in the background, and returns its handle at once. `instrument` wraps the run.
    pub(crate) async fn submit<W>(
        &self,
        scope: &CallScope,
        call: ToolCall,
        message: &AssistantMessage,
        instrument: impl FnOnce(CallRun) -> W + Send + 'static,
    ) -> ToolResult
    where
        W: Future<Output = ToolResult> + Send,
    {
        let (id, name) = (call.id.clone(), display_name(&call.name));
        let opened = match validate::check_submitted(scope, &call, message) {
            Ok(()) => self.open(scope.turn.locale()).await,
            Err(refusal) => Err(refusal),
        };
        let result = match opened {
            Ok(pending) => {
                let run = (scope.clone(), call, message.clone());
                let run = |handle| {
                    let (scope, call, message) = run;
                    let background = Some(handle);
                    let scope = CallScope {
                        background,
                        ..scope
                    };
                    instrument(Box::pin(async move {
                        executor::execute(&scope, call, &message).await
                    }))
                };
                pending.submit(&scope.turn, (id, name), message, run).await
            }
            Err(error) => ToolResult::error(&id, &name, error),
        };
        scope.turn.instance.exit(result)
    }
}

/// A call that runs in the background.
pub(crate) type CallRun = futures_util::future::BoxFuture<'static, ToolResult>;

impl Pending {
    /// Runs a call in the background, and returns its handle at once. If a component answers `pending`
    /// there, the handle stands for the component's own, which is polled until it has a result.
    async fn submit<W>(
        self: &Arc<Self>,
        turn: &Arc<TurnScope>,
        (id, name): (String, String),
        message: &AssistantMessage,
        run: impl FnOnce(Handle) -> W + Send + 'static,
    ) -> ToolResult
    where
        W: Future<Output = ToolResult> + Send,
    {
        let (send, accepted) = oneshot::channel();
        let (own, scope, message) = (Arc::clone(self), Arc::clone(turn), message.clone());
        let (call_id, tool_name) = (id.clone(), name.clone());
        // One task from the record to its end, so that dropping the caller leaves nothing half done.
        turn.agent().host.sandbox.spawn(async move {
            let named = (&*call_id, &*tool_name);
            let (owner, call) = (scope.instance.owner(), scope.pending_call(named, &message));
            let locale = scope.locale();
            let handle = match own.accept(owner, call, NewSource::Background, locale).await {
                Ok(handle) => handle,
                Err(error) => {
                    // The receiver may have been dropped.
                    let _is_received = send.send(Err(error)).is_ok();
                    return;
                }
            };
            let background = BackgroundCall::begin(&own, &scope, &handle, named);
            if send.send(Ok(handle.clone())).is_err() {
                let message = "The caller went away before the call began.";
                let error = ToolError::host(ToolErrorCode::Cancelled, message, locale);
                background
                    .settle(ToolResult::error(&call_id, &tool_name, error))
                    .await;
                return;
            }
            own.run(background, run(handle)).await;
        });
        match accepted.await {
            Ok(Ok(handle)) => ToolResult::pending(&id, &name, handle.as_str().to_owned()),
            Ok(Err(error)) => ToolResult::error(&id, &name, error),
            Err(_) => {
                let message = "The call could not be run in the background.";
                let error = ToolError::host(ToolErrorCode::Host, message, self.locale);
                ToolResult::error(&id, &name, error)
            }
        }
    }

    async fn run(&self, background: BackgroundCall, run: impl Future<Output = ToolResult> + Send) {
        let (turn, handle) = (Arc::clone(&background.turn), background.handle.clone());
        let stopped = Arc::clone(&background.stopped);
        let ended = async {
            let result = run.await;
            if result.handle().is_none() {
                return Some(result);
            }
            let sandbox = &turn.agent().host.sandbox;
            let (mut wait, longest) = POLL_AFTER;
            loop {
                let _elapsed = sandbox.within(wait, std::future::pending::<()>()).await;
                wait = (wait * 2).min(longest);
                match self.poll(&turn.instance, handle.as_str()).await {
                    PollStatus::NotYet(_) | PollStatus::Unanswered(_) => {}
                    // The poll has recorded the result.
                    PollStatus::Ended(_) => return None,
                }
            }
        };
        let result = tokio::select! {
            biased;
            () = stopped.notified() => None,
            result = ended => result,
        };
        match result {
            Some(result) => background.settle(result).await,
            None => background.release(),
        }
    }
}
