//! Stops the calls of a turn when its token is cancelled.

use std::panic::AssertUnwindSafe;

use futures_util::future::BoxFuture;
use tokio_util::sync::CancellationToken;
use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolResult};

use super::outcome::CallLabel;

/// Runs a call until it ends or `token` is cancelled; then it is dropped, which stops the guest, before
/// this returns none. A call whose token is cancelled already does not begin.
pub(super) async fn run_until_cancelled(
    token: &CancellationToken,
    mut call: BoxFuture<'_, ToolResult>,
) -> Option<ToolResult> {
    if !token.is_cancelled() {
        tokio::select! {
            biased;
            // A result that is ready is returned.
            result = &mut call => return Some(result),
            () = token.cancelled() => {}
        }
    }
    // This may run code of an extension.
    let dropped = std::panic::catch_unwind(AssertUnwindSafe(|| drop(call)));
    drop(dropped.err());
    None
}

/// Returns the result of a call of a cancelled turn.
pub(crate) fn cancelled_result(label: &CallLabel, locale: Locale) -> ToolResult {
    let name = &label.tool_name;
    let message = format!("The call of '{name}' ended: its turn was cancelled.");
    let error = ToolError::host(ToolErrorCode::Cancelled, message, locale);
    ToolResult::error(&label.id, name, error)
}
