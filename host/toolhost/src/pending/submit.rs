//! Runs a call in the background.

use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use toolhost_contract::{AssistantMessage, ToolCall, ToolError, ToolErrorCode, ToolResult};

use super::calls::Pending;
use super::poll::PollStatus;
use super::record::{Handle, NewSource};
use crate::call::executor;
use crate::turn::TurnInner;

/// How long a component that answers `pending` in the background is left alone at first, and at most.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// How often the store is asked to keep a result, and how long between.
const KEEP: (u32, Duration) = (5, Duration::from_secs(1));

impl Pending {
    /// Runs a call in the background; the answer is a handle at once. `work` is given the handle: a
    /// component that answers `pending` there has it stand for its own, and is asked again until it
    /// has its result, here or by whoever polls.
    pub(crate) async fn submit<W>(
        self: &Arc<Self>,
        turn: &Arc<TurnInner>,
        call: &ToolCall,
        message: &AssistantMessage,
        work: impl FnOnce(Handle) -> W + Send + 'static,
    ) -> ToolResult
    where
        W: Future<Output = ToolResult> + Send,
    {
        let (id, name) = (call.id.clone(), executor::shown(&call.name));
        let (tell, told) = oneshot::channel();
        let (own, turn, message) = (Arc::clone(self), Arc::clone(turn), message.clone());
        let (call_id, tool_name) = (id.clone(), name.clone());
        let sandbox = turn.agent().host.sandbox.clone();
        // One task from the record to its end: nobody can drop it in between.
        sandbox.spawn(async move {
            let named = (call_id.as_str(), tool_name.as_str());
            let accepted = own
                .accept(&turn, named, &message, NewSource::Background)
                .await;
            let handle = match accepted {
                Ok(handle) => handle,
                Err(error) => {
                    // Nobody waits for the answer where this is not heard.
                    let _heard = tell.send(Err(error)).is_ok();
                    return;
                }
            };
            let over = BackgroundCall::begin(&own, &turn, &handle, named);
            if tell.send(Ok(handle.clone())).is_err() {
                over.settle(cancelled(&turn, named)).await;
                return;
            }
            own.run(over, work(handle)).await;
        });
        match told.await {
            Ok(Ok(handle)) => ToolResult::pending(&id, &name, handle.as_str().to_owned()),
            Ok(Err(error)) => ToolResult::error(&id, &name, error),
            Err(_) => {
                let locale = self.locale;
                let message = "The call could not be run in the background.";
                let error = ToolError::host(ToolErrorCode::Host, message, locale);
                ToolResult::error(&id, &name, error)
            }
        }
    }

    async fn run(&self, over: BackgroundCall, work: impl Future<Output = ToolResult> + Send) {
        let (turn, handle) = (Arc::clone(&over.turn), over.handle.clone());
        let stopped = over.stopped.clone();
        let ended = async {
            let result = work.await;
            if result.handle().is_none() {
                return Some(result);
            }
            let sandbox = &turn.agent().host.sandbox;
            let (mut wait, longest) = ASK_AGAIN;
            loop {
                let _waited = sandbox.within(wait, std::future::pending::<()>()).await;
                wait = (wait * 2).min(longest);
                match self.ask(&turn.instance, handle.as_str()).await {
                    PollStatus::NotYet(_) | PollStatus::Unanswered(_) => {}
                    // Whoever asked has recorded it.
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
            Some(result) => over.settle(result).await,
            None => over.forget(),
        }
    }

    /// Stops a call that runs in the background of this process.
    pub(super) fn stop(&self, handle: &Handle) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stopped) = running.get(handle) {
            stopped.notify_one();
        }
    }
}

fn cancelled(turn: &TurnInner, (call_id, tool_name): (&str, &str)) -> ToolResult {
    let message = "The caller went away before the call began.";
    let error = ToolError::host(ToolErrorCode::Cancelled, message, turn.locale());
    ToolResult::error(call_id, tool_name, error)
}

/// A background call until its record has ended. Dropped before, with the runtime it ran in, it ends
/// as interrupted.
struct BackgroundCall {
    pending: Arc<Pending>,
    turn: Arc<TurnInner>,
    handle: Handle,
    named: (String, String),
    stopped: Arc<tokio::sync::Notify>,
    is_settled: bool,
}

impl BackgroundCall {
    fn begin(
        pending: &Arc<Pending>,
        turn: &Arc<TurnInner>,
        handle: &Handle,
        (call_id, tool_name): (&str, &str),
    ) -> Self {
        let stopped = Arc::new(tokio::sync::Notify::new());
        let mut running = pending
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        running.insert(handle.clone(), Arc::clone(&stopped));
        drop(running);
        Self {
            pending: Arc::clone(pending),
            turn: Arc::clone(turn),
            handle: handle.clone(),
            named: (call_id.to_owned(), tool_name.to_owned()),
            stopped,
            is_settled: false,
        }
    }

    async fn settle(mut self, result: ToolResult) {
        let result = result.answering(&self.named.0, &self.named.1);
        keep(&self.pending, &self.turn, &self.handle, &result).await;
        self.is_settled = true;
    }

    /// Somebody else ended it.
    fn forget(mut self) {
        self.is_settled = true;
    }
}

/// Records a result; a store that is locked is asked again.
async fn keep(pending: &Pending, turn: &TurnInner, handle: &Handle, result: &ToolResult) {
    let (times, pause) = KEEP;
    for _ in 0..times {
        match pending.settle(turn, handle, result).await {
            Ok(_) => return,
            Err(error) => tracing::warn!(%error, "a result is not recorded yet"),
        }
        let sandbox = &turn.agent().host.sandbox;
        let _waited = sandbox.within(pause, std::future::pending::<()>()).await;
    }
    tracing::error!(
        handle = handle.as_str(),
        "the result of a pending call is lost"
    );
}

impl Drop for BackgroundCall {
    fn drop(&mut self) {
        let running = self.pending.running.lock();
        let mut running = running.unwrap_or_else(PoisonError::into_inner);
        running.remove(&self.handle);
        drop(running);
        if self.is_settled {
            return;
        }
        let (pending, turn) = (Arc::clone(&self.pending), Arc::clone(&self.turn));
        let handle = self.handle.clone();
        let message = format!(
            "Tool '{}' was interrupted: what it ran in came to its end.",
            self.named.1
        );
        let error = ToolError::host(ToolErrorCode::Interrupted, message, turn.locale());
        let result = ToolResult::error(&self.named.0, &self.named.1, error);
        let sandbox = turn.agent().host.sandbox.clone();
        sandbox.spawn_own(async move { keep(&pending, &turn, &handle, &result).await });
    }
}
