//! Errors as the model reads them, and as a handler raises them.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::{Locale, ToolErrorCode};

/// Why a call failed, as the model reads it.
///
/// Spec: tool-spec-v2 §10.1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolError {
    /// What went wrong, within the Tool's `errorMessageLimit`.
    pub message: String,
    /// Kind of error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Code to branch on.
    pub code: ErrorCode,
    /// The next move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// A page that explains more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_url: Option<String>,
}

impl ToolError {
    /// Makes a host error with the table's name, suggestion and page.
    pub fn host(code: ToolErrorCode, message: impl Into<String>, locale: Locale) -> Self {
        Self {
            message: message.into(),
            name: Some(code.error_name().to_owned()),
            code: ErrorCode::Host(code),
            suggestion: Some(code.suggestion(locale).to_owned()),
            help_url: Some(code.help_url()),
        }
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ToolError {}

impl ToolError {
    /// The error as a handler, or an agent's turn, passes it on: in its own words, with a handler's own
    /// code; a code of the host's is the host's to give.
    #[must_use]
    pub fn into_raised(self) -> HandlerError {
        HandlerError {
            message: self.message,
            name: self.name,
            code: match self.code {
                ErrorCode::Handler(code) => Some(code.0),
                ErrorCode::Host(_) => None,
            },
            suggestion: self.suggestion,
            help_url: self.help_url,
        }
    }
}

/// A code in a [`ToolError`]: the host's, or the handler's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorCode {
    /// Of the host's table.
    Host(ToolErrorCode),
    /// Of the handler's own making.
    Handler(HandlerCode),
}

impl ErrorCode {
    /// The code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Host(code) => code.as_str(),
            Self::Handler(code) => &code.0,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for ErrorCode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// Beginnings of codes that only the host may use.
const RESERVED_PREFIXES: [&str; 8] = [
    "E_TOOL_",
    "E_HOST",
    "E_CONFIG_",
    "E_COMPONENT_",
    "E_MIDDLEWARE",
    "AGENT_",
    "IPC_",
    "CIRCULAR_",
];

/// Longest code of a handler, in bytes.
const HANDLER_CODE_MAX: usize = 64;

/// A code a handler made up, `[A-Za-z0-9_.-]{1,64}`; never one of the host's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerCode(String);

impl HandlerCode {
    /// Takes a handler's code; none where it is malformed or poses as the host's.
    #[must_use]
    pub fn parse(code: &str) -> Option<Self> {
        let formed = (1..=HANDLER_CODE_MAX).contains(&code.len())
            && code
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'));
        let reserved = ToolErrorCode::from_code(code).is_some()
            || RESERVED_PREFIXES.iter().any(|p| code.starts_with(p));
        (formed && !reserved).then(|| Self(code.to_owned()))
    }
}

/// A failure as a handler raised it: every field is the handler's text, none has been checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandlerError {
    /// What went wrong.
    pub message: String,
    /// Kind of error.
    pub name: Option<String>,
    /// Code.
    pub code: Option<String>,
    /// The next move.
    pub suggestion: Option<String>,
    /// A page that explains more.
    pub help_url: Option<String>,
}

impl HandlerError {
    /// Makes a failure of which only the message is known.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// How many bytes its fields have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let more = [&self.name, &self.code, &self.suggestion, &self.help_url];
        let more = more.into_iter().flatten().map(String::len);
        (self.message.len() + more.sum::<usize>()) as u64
    }

    /// Adds a code to branch on.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Adds the next move.
    #[must_use]
    pub fn with_suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// What a library says of its failure is the message; its kind cannot be told.
impl<E: std::error::Error> From<E> for HandlerError {
    fn from(error: E) -> Self {
        Self::new(error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handler_cannot_make_a_code_of_the_host() {
        for code in ToolErrorCode::ALL {
            assert_eq!(HandlerCode::parse(code.as_str()), None, "{}", code.as_str());
        }
        for forged in [
            "E_TOOL_ANYTHING",
            "E_HOST",
            "E_HOSTILE",
            "E_CONFIG_X",
            "E_COMPONENT_X",
            "E_MIDDLEWARE_2",
            "AGENT_X",
            "IPC_X",
            "CIRCULAR_X",
            "E_TOOL",
        ] {
            assert_eq!(HandlerCode::parse(forged), None, "{forged}");
        }
    }

    #[test]
    fn a_handler_may_use_any_other_well_formed_code() {
        for good in ["ENOENT", "a.b-c_9", "E_TOOLS", "E", &"x".repeat(64)] {
            assert!(HandlerCode::parse(good).is_some(), "{good}");
        }
        for bad in ["", "a b", "a\nb", "é", &"x".repeat(65)] {
            assert_eq!(HandlerCode::parse(bad), None, "{bad:?}");
        }
    }
}
