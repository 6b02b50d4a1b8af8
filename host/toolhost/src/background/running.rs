//! A call that runs in the background of this process, and the end of every pending call.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use toolhost_contract::{ToolError, ToolErrorCode, ToolResult};
use toolhost_runtime::lock;

use crate::call::scope::TurnScope;
use crate::middleware::CallIdentity;
use crate::pending::completion;
use crate::pending::record::Handle;

/// How often storing a result is tried, and the pause in between.
const STORE_RETRIES: (u32, Duration) = (5, Duration::from_secs(1));

/// A call that runs in the background. If it is dropped before [`Self::settle`] or [`Self::release`],
/// because its runtime ended, its record ends as `E_TOOL_INTERRUPTED`.
pub(super) struct BackgroundCall {
    turn: Arc<TurnScope>,
    pub(super) handle: Handle,
    call: CallIdentity,
    /// Notified when the call is cancelled.
    pub(super) stopped: Arc<Notify>,
    is_settled: bool,
}

impl BackgroundCall {
    pub(super) fn begin(turn: &Arc<TurnScope>, handle: &Handle, call: &CallIdentity) -> Self {
        let stopped = Arc::new(Notify::new());
        let mut running = lock(&turn.pending().running);
        running.insert(handle.clone(), Arc::clone(&stopped));
        drop(running);
        Self {
            turn: Arc::clone(turn),
            handle: handle.clone(),
            call: call.clone(),
            stopped,
            is_settled: false,
        }
    }

    pub(super) async fn settle(mut self, result: ToolResult) {
        let result = result.with_call(&self.call.call_id, &self.call.tool_name);
        store(&self.turn, &self.handle, &result).await;
        self.is_settled = true;
    }

    /// Ends without a result: another poll, process or cancellation has recorded one.
    pub(super) fn release(mut self) {
        self.is_settled = true;
    }
}

impl Drop for BackgroundCall {
    fn drop(&mut self) {
        let mut running = lock(&self.turn.pending().running);
        // Another run of the call may have begun.
        let own = running.get(&self.handle);
        if own.is_some_and(|it| Arc::ptr_eq(it, &self.stopped)) {
            running.remove(&self.handle);
        }
        drop(running);
        if self.is_settled {
            return;
        }
        let (turn, handle) = (Arc::clone(&self.turn), self.handle.clone());
        let name = &self.call.tool_name;
        let message = format!("Tool '{name}' was interrupted: the runtime that it ran in ended.");
        let error = ToolError::host(ToolErrorCode::Interrupted, message, turn.locale());
        let result = self.call.error(error);
        let sandbox = turn.agent().host.sandbox.clone();
        sandbox
            .threads()
            .spawn_own(async move { store(&turn, &handle, &result).await });
    }
}

/// Records a result, and tries again if the store fails.
async fn store(turn: &TurnScope, handle: &Handle, result: &ToolResult) {
    let (tries, pause) = STORE_RETRIES;
    for _ in 0..tries {
        if settle(turn, handle, result).await.is_ok() {
            return;
        }
        turn.agent().host.sandbox.threads().pause(pause).await;
    }
    let handle = handle.as_str();
    tracing::error!(handle, "the result of a pending call is lost");
}

/// Records the result of a call. The first to record one announces it. Returns whether this was the
/// first.
pub(super) async fn settle(
    turn: &TurnScope,
    handle: &Handle,
    result: &ToolResult,
) -> Result<bool, ToolError> {
    let pending = turn.pending();
    let recorded = pending.records().await?.complete(handle, result).await;
    let is_first = recorded.map_err(|error| pending.store_error(&error))?;
    if is_first {
        announce(turn, handle, result);
    }
    Ok(is_first)
}

/// Emits the event of a call that has ended, and notifies the listeners.
pub(super) fn announce(turn: &TurnScope, handle: &Handle, result: &ToolResult) {
    let (origin, emitter) = (&turn.origin, &turn.instance.emitter);
    emitter.settled(origin, handle.as_str(), result);
    let whose = (&*origin.agent_name, &*origin.instance_key);
    completion::announce(&turn.pending().listeners, whose, handle, result);
}
