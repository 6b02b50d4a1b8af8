//! Stops calls.

use std::panic::AssertUnwindSafe;
use std::pin::pin;

use futures_util::future::{BoxFuture, poll_immediate};
use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolResult};

use super::outcome::CallLabel;

/// Why a call of a cancelled turn ends.
pub(crate) const TURN_CANCELLED: &str = "its turn was cancelled";

/// Runs a call until it or `stop` ends; in the latter case it is dropped, which stops the guest, before this
/// returns none. If `stop` has ended already, the call does not begin.
pub(crate) async fn run_until(
    stop: impl Future<Output = ()>,
    mut call: BoxFuture<'_, ToolResult>,
) -> Option<ToolResult> {
    let mut stop = pin!(stop);
    if poll_immediate(&mut stop).await.is_none() {
        tokio::select! {
            biased;
            // A result that is ready is returned.
            result = &mut call => return Some(result),
            () = &mut stop => {}
        }
    }
    // This may run code of an extension.
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| drop(call)));
    drop(dropped.err());
    None
}

/// Returns the result of a call that was stopped, for this reason.
pub(crate) fn cancelled_result(label: &CallLabel, reason: &str, locale: Locale) -> ToolResult {
    let name = &label.tool_name;
    let message = format!("The call of '{name}' ended: {reason}.");
    let error = ToolError::host(ToolErrorCode::Cancelled, message, locale);
    ToolResult::error(&label.id, name, error)
}
