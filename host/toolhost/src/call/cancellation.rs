//! Stops calls.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use futures_util::future::{BoxFuture, poll_immediate};
use toolhost_contract::{ToolError, ToolErrorCode, ToolResult};

use crate::middleware::CallIdentity;

/// Why a call of a cancelled turn ends.
pub(crate) const TURN_CANCELLED: &str = "its turn was cancelled";

tokio::task_local! {
    /// Whether the call that the task runs commits its changes, or has done so.
    static COMMITS: Arc<AtomicBool>;
}

/// Notes that the call of this task commits its changes: [`run_until`] lets it end from now on, so that its
/// result is that of the commit.
pub(super) fn note_commit() {
    // Nothing can stop a call without a value.
    let _ = COMMITS.try_with(|commits| commits.store(true, Relaxed));
}

/// Runs a handler of this process, whose own calls do not keep the call that it answers from being stopped.
pub(super) async fn with_own_commits<T>(handler: impl Future<Output = T>) -> T {
    COMMITS.scope(Arc::default(), handler).await
}

/// Runs a call until it or `stop` ends; in the latter case it is dropped, which stops the guest, before this
/// returns none. If `stop` has ended already, the call does not begin. A call that commits its changes is not
/// stopped any more.
pub(crate) async fn run_until(
    stop: impl Future<Output = ()>,
    call: BoxFuture<'_, ToolResult>,
) -> Option<ToolResult> {
    let mut stop = pin!(stop);
    // One value for all functions that can stop the call.
    let commits = COMMITS.try_with(Arc::clone).unwrap_or_default();
    let mut call = Box::pin(COMMITS.scope(Arc::clone(&commits), call));
    if poll_immediate(&mut stop).await.is_none() {
        tokio::select! {
            biased;
            // A result that is ready is returned.
            result = &mut call => return Some(result),
            () = &mut stop => {}
        }
        if commits.load(Relaxed) {
            return Some(call.await);
        }
    }
    // This may run code of an extension.
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| drop(call)));
    drop(dropped.err());
    None
}

/// Returns the result of a call that was stopped, for this reason.
pub(crate) fn cancelled_result(call: &CallIdentity, reason: &str) -> ToolResult {
    let message = format!("The call of '{}' ended: {reason}.", call.tool_name);
    call.error(ToolError::host(
        ToolErrorCode::Cancelled,
        message,
        call.origin.locale,
    ))
}
