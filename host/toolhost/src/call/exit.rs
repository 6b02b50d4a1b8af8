//! How a result leaves the host.

use toolhost_contract::{ErrorMessageLimit, Redactor, ToolResult, limit_error};

/// Prepares a result to leave the host: removes the policy's secrets, and cuts the error to its limit.
pub(crate) fn exit(
    redactor: &Redactor,
    result: ToolResult,
    limit: ErrorMessageLimit,
) -> ToolResult {
    let mut result = redactor.result(result);
    if let Some(error) = result.error_mut() {
        *error = limit_error(error.clone(), limit);
    }
    result
}
