//! One inner call, from its start to its answer.

use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{AssistantMessage, ToolCall, ToolResult, ToolStatus};
use toolhost_sandbox::{CallFailure, InFlight, StartedCall};
use tracing::Instrument;

use super::calls::{Calls, failure_of};
use super::released::ReleasedInner;
use super::started::StartedRecord;
use crate::call::cancellation::{cancelled_result, run_until, with_own_commits};
use crate::call::scope::CallScope;
use crate::middleware::CallIdentity;

/// Why a call ends whose caller cancels it.
const CANCELLED: &str = "the calling tool cancelled it";

/// How long to wait before a call that answered `pending` is polled: at first, and at most.
const POLL_AFTER: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// A call that was started.
pub(super) struct InnerCall {
    pub(super) scope: CallScope,
    pub(super) call: ToolCall,
    pub(super) started: Arc<StartedCall>,
    pub(super) running: StartedRecord,
    /// Its arguments as they were passed, if its caller may run again; which waits for its answer before that.
    pub(super) repeatable: Option<(String, InFlight)>,
}

impl InnerCall {
    /// Runs the call as the model's are run. Dropping the future stops it.
    pub(super) async fn run(self) {
        let Self {
            scope,
            call,
            started,
            running,
            repeatable,
        } = self;
        let calls = Arc::clone(running.calls());
        let message = AssistantMessage::for_call(&call);
        let identity = scope.identity(&call);
        let activity = scope.inner_activity(&identity, &call);
        let span = activity.span().clone();
        let executed = async {
            let executed = (calls.execute)(&scope, call, &identity, &message);
            settled(&calls, &scope, &identity, &message, executed.await).await
        };
        let executed = Box::pin(executed.instrument(span));
        // Its commits keep it from being stopped, but not the call around it.
        let outcome = with_own_commits(run_until(started.cancelled(), executed)).await;
        let (result, was_stopped) = match outcome {
            Some(result) => (result, false),
            None => (cancelled_result(&identity, CANCELLED), true),
        };
        activity.end_call(&result);
        // Before the caller sees the answer, so that it can start another one.
        if was_stopped {
            drop(running);
        } else {
            running.end(&result);
        }
        let name = identity.tool_name;
        let usage = result.usage();
        let has_sent = usage.http_requests > 0 || usage.tool_calls.is_some();
        let answer = calls.answer(result);
        if let (Some(gate), Some((arguments, in_flight))) = (&calls.gate, repeatable) {
            // What it staged has to be staged again.
            if scope.has_staged() {
                if has_sent {
                    gate.note_unrepeatable(&name);
                }
            } else {
                let kept = answer
                    .as_ref()
                    .map(String::as_str)
                    .map_err(|failed| &*failed.error);
                gate.keep_answer_of_call(&name, &arguments, kept);
            }
            drop(in_flight);
        }
        started.end(answer);
    }
}

impl Calls {
    /// Returns the answer of a call for the component that made it.
    fn answer(&self, mut result: ToolResult) -> Result<String, CallFailure> {
        if let Some(error) = result.tool_error() {
            let item = self.scope.catalog.get(result.tool_name());
            return Err(failure_of(error.clone(), item));
        }
        let output = result.output_mut().map(serde_json::Value::take);
        let output = output.unwrap_or_default().to_string();
        match self.budget.add_output(output.len()) {
            Ok(()) => Ok(output),
            Err(limit) => {
                let name = result.tool_name();
                let what = format!("The output of tool '{name}' does not fit");
                Err(failure_of(self.over_budget(&what, &limit), None))
            }
        }
    }
}

/// Waits for the result of a call that answered `pending`. If the future is dropped before, the call is cancelled.
async fn settled(
    calls: &Calls,
    scope: &CallScope,
    identity: &CallIdentity,
    message: &AssistantMessage,
    mut result: ToolResult,
) -> ToolResult {
    // It does what somebody has consented to within the call around it.
    while result.awaits_approval().is_some() {
        let mut waiting = PendingCall {
            scope,
            handle: result.handle().map(str::to_owned),
        };
        let (turn, handle) = (&scope.turn, waiting.handle.clone().unwrap_or_default());
        let pending = turn.pending();
        let released = pending.release_inner(turn, &handle).await;
        waiting.handle = None;
        let release = match released {
            Ok(ReleasedInner::Again(release)) => release,
            Ok(ReleasedInner::Ended(ended)) => {
                result = *ended;
                break;
            }
            Err(error) => return identity.error(error),
        };
        let Some(call) = message.tool_calls().first().cloned() else {
            return result;
        };
        let again = CallScope {
            release: Some(release),
            ..scope.clone()
        };
        result = (calls.execute)(&again, call, identity, message).await;
    }
    let (ToolStatus::Pending, Some(handle)) = (result.status(), result.handle()) else {
        return result;
    };
    let pending = PendingCall {
        scope,
        handle: Some(handle.to_owned()),
    };
    pending
        .wait()
        .await
        .with_call(&identity.call_id, &identity.tool_name)
}

/// A call whose result comes later.
struct PendingCall<'a> {
    scope: &'a CallScope,
    /// None once it has ended.
    handle: Option<String>,
}

impl PendingCall<'_> {
    async fn wait(mut self) -> ToolResult {
        let turn = &self.scope.turn;
        let threads = turn.agent().host.sandbox.threads();
        let handle = self.handle.clone().unwrap_or_default();
        let (mut wait, longest) = POLL_AFTER;
        loop {
            threads.pause(wait).await;
            wait = (wait * 2).min(longest);
            let reply = turn.pending().poll(&turn.instance, &handle).await;
            if reply.has_ended {
                self.handle = None;
                return reply.result;
            }
        }
    }
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        let Some(handle) = self.handle.take() else {
            return;
        };
        let (pending, instance) = (
            Arc::clone(self.scope.turn.pending()),
            Arc::clone(&self.scope.turn.instance),
        );
        let threads = self.scope.turn.agent().host.sandbox.threads();
        threads.spawn(async move {
            pending.cancel(&instance, &handle).await;
        });
    }
}
