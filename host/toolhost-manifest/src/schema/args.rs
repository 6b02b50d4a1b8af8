//! The refusal of a call whose arguments do not fit.

use std::fmt;

use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolName};

use super::issues::Issues;
use toolhost_contract::text;

/// Most names listed as required or allowed.
const NAMES_MAX: usize = 50;

/// Why arguments do not fit a tool's parameters.
///
/// `Invalid arguments for tool 'x': args.command: required property is missing; args.n: expected
/// string but got integer`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArgsError {
    message: String,
    required: String,
    allowed: String,
}

impl ArgsError {
    pub(super) fn new(
        tool: &ToolName,
        issues: &Issues,
        required: &[String],
        allowed: &[String],
    ) -> Self {
        Self {
            message: format!("Invalid arguments for tool '{tool}': {}", issues.line()),
            required: text::listed(required.iter().map(String::as_str), NAMES_MAX),
            allowed: text::listed(allowed.iter().map(String::as_str), NAMES_MAX),
        }
    }

    /// Makes the error the model reads: `E_TOOL_INVALID_ARGS`, with what the tool takes.
    pub fn into_tool_error(self, locale: Locale) -> ToolError {
        let code = ToolErrorCode::InvalidArgs;
        let mut error = ToolError::host(code, self.message, locale);
        error.suggestion = Some(format!(
            "{} required=[{}], allowed=[{}]",
            code.suggestion(locale),
            self.required,
            self.allowed
        ));
        error
    }
}

impl fmt::Display for ArgsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ArgsError {}
