//! Errors of ports and of the host, in the guest's types.

use toolhost_contract::{HandlerError, Locale, ToolErrorCode};

use crate::host::bindings::agents::ToolError;

/// Longest text of an error that is passed to a guest, in bytes.
const ERROR_BYTES: usize = 4 << 10;

/// An error code of the host, in the guest's types.
pub(super) fn host_error(code: ToolErrorCode, message: impl Into<String>) -> ToolError {
    ToolError {
        message: message.into(),
        name: Some(code.error_name().to_owned()),
        code: Some(code.as_str().to_owned()),
        suggestion: Some(code.suggestion(Locale::En).to_owned()),
        help_url: Some(code.help_url()),
    }
}

/// An error of the port, in the guest's types. It may hold texts of another agent.
pub(super) fn to_wit(error: HandlerError) -> ToolError {
    let cut = |mut text: String| {
        text.truncate(text.floor_char_boundary(ERROR_BYTES));
        text
    };
    ToolError {
        message: cut(error.message),
        name: error.name.map(cut),
        code: error.code.map(cut),
        suggestion: error.suggestion.map(cut),
        help_url: error.help_url.map(cut),
    }
}
