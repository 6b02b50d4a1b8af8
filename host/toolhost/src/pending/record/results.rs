//! Stored results, and the result of an interrupted call.

use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolResult, json_depth};

use super::Record;

/// Records ended or removed per transaction. Small, because other processes wait for the lock.
pub(super) const BATCH: u32 = 500;

/// Deepest nesting that `serde_json` can parse.
pub(super) const JSON_DEPTH_MAX: usize = 127;

/// Returns the JSON text of a result. A result that is nested too deep to be parsed is
/// replaced by an error.
pub(super) fn storable(result: &ToolResult, locale: Locale) -> String {
    let text = result.to_stored().to_string();
    if json_depth(&text) <= JSON_DEPTH_MAX {
        return text;
    }
    let (call_id, tool_name) = (result.tool_call_id(), result.tool_name());
    let message = format!("Tool '{tool_name}' failed: its result is nested too deep to be stored.");
    let error = ToolError::host(ToolErrorCode::InvalidOutput, message, locale);
    let result = ToolResult::error(call_id, tool_name, error).with_usage(result.usage().clone());
    result.to_stored().to_string()
}

/// Returns the result of a call whose process died.
pub(super) fn interrupted(record: &Record, locale: Locale) -> ToolResult {
    let (call_id, tool_name) = (&record.call.call_id, &record.call.tool_name);
    let message = format!("Tool '{tool_name}' was interrupted: the host stopped while it ran.");
    let error = ToolError::host(ToolErrorCode::Interrupted, message, locale);
    ToolResult::error(call_id, tool_name, error)
}
