//! The outcome of a call, and the result that the host returns.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{
    ErrorMessageLimit, ToolCall, ToolError, ToolResult, Usage, limit_error, text,
};

use toolhost_contract::Redactor;

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

/// What a run of a tool returned.
pub(crate) struct Ran {
    pub(crate) answer: Result<Answer, ToolError>,
    pub(crate) usage: Usage,
    /// The file in which the host recorded the failed run.
    pub(crate) recording: Option<Arc<Path>>,
}

impl Ran {
    /// A run that was refused before it used anything.
    pub(crate) fn refused(error: ToolError) -> Self {
        Self {
            answer: Err(error),
            usage: Usage::default(),
            recording: None,
        }
    }
}

/// The outcome of a call that did not fail.
pub(crate) enum Answer {
    /// The tool's output.
    Output(Value),
    /// The handle of a call whose result comes later.
    Pending(String),
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
