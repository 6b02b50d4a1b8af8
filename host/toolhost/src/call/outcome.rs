//! How results and events name a call, and how its result leaves the host.

use toolhost_contract::{ErrorMessageLimit, Redactor, ToolCall, ToolResult, limit_error, text};

/// Longest tool name or call id in a result, in characters.
pub(crate) const NAME_SHOWN: usize = 128;

/// Returns a tool name as results and events contain it: escaped, at most 128 characters.
pub(crate) fn display_name(name: &str) -> String {
    text::shorten(name, NAME_SHOWN)
}

/// A call, as its result and its events name it.
#[derive(Debug)]
pub(crate) struct CallLabel {
    /// Id of the call.
    pub(crate) id: String,
    /// Name of the tool, for display.
    pub(crate) tool_name: String,
}

impl CallLabel {
    pub(crate) fn of(call: &ToolCall) -> Self {
        Self {
            id: call.id.clone(),
            tool_name: display_name(&call.name),
        }
    }
}

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
