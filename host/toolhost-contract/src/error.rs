//! Errors of tool calls, and errors returned by handlers.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{AuthorizationRequired, Locale, ToolErrorCode};

/// The error of a failed call, as given to the model.
///
/// Spec: tool-spec-v2 §10.1.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolError {
    /// Message, within the Tool's `errorMessageLimit`.
    pub message: String,
    /// Kind of error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Error code, for branching.
    pub code: ErrorCode,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// URL of a page about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_url: Option<String>,
    /// What the user has to do, for `E_TOOL_AUTH_REQUIRED`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<AuthorizationRequired>>,
}

impl ToolError {
    /// Creates a host error with the name, suggestion and page of the code.
    pub fn host(code: ToolErrorCode, message: impl Into<String>, locale: Locale) -> Self {
        Self {
            message: message.into(),
            name: Some(code.error_name().to_owned()),
            code: ErrorCode::Host(code),
            suggestion: Some(code.suggestion(locale).to_owned()),
            help_url: Some(code.help_url()),
            details: None,
        }
    }

    /// Creates the error of a call that needs a user's authorization first.
    ///
    /// Spec: requirements-v1 §12.6.1(5).
    pub fn authorization_required(
        message: impl Into<String>,
        details: AuthorizationRequired,
        locale: Locale,
    ) -> Self {
        Self {
            details: Some(Box::new(details)),
            ..Self::host(ToolErrorCode::AuthRequired, message, locale)
        }
    }

    /// Converts to the error of a handler or of an agent's turn. Keeps a handler's code and drops a host
    /// code, which only the host may set.
    #[must_use]
    pub fn into_handler_error(self) -> HandlerError {
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

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for ToolError {}

/// The code of a [`ToolError`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorCode {
    /// A code of the host.
    Host(ToolErrorCode),
    /// A code of the handler.
    Handler(HandlerCode),
}

impl ErrorCode {
    /// Returns the code as text.
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

impl<'de> Deserialize<'de> for ErrorCode {
    fn deserialize<D: Deserializer<'de>>(code: D) -> Result<Self, D::Error> {
        let code = String::deserialize(code)?;
        if let Some(code) = ToolErrorCode::from_code(&code) {
            return Ok(Self::Host(code));
        }
        let code = HandlerCode::parse(&code).ok_or(D::Error::custom("unknown error code"))?;
        Ok(Self::Handler(code))
    }
}

/// Prefixes of codes reserved for the host.
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

/// Longest handler code, in bytes.
const HANDLER_CODE_MAX: usize = 64;

/// A code defined by a handler, `[A-Za-z0-9_.-]{1,64}`. Never a code or prefix of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerCode(String);

impl HandlerCode {
    /// Parses a handler's code. Returns `None` if it is malformed or reserved for the host.
    pub fn parse(code: &str) -> Option<Self> {
        let reserved = ToolErrorCode::from_code(code).is_some()
            || RESERVED_PREFIXES.iter().any(|p| code.starts_with(p));
        (Self::is_formed(code) && !reserved).then(|| Self(code.to_owned()))
    }

    /// Whether a code has the form of a handler's, reserved or not.
    pub(crate) fn is_formed(code: &str) -> bool {
        (1..=HANDLER_CODE_MAX).contains(&code.len())
            && code
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
    }
}

/// An error returned by a handler. The fields are unchecked.
///
/// As JSON: `{"message", "name"?, "code"?, "suggestion"?, "helpUrl"?}`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct HandlerError {
    /// Message.
    pub message: String,
    /// Kind of error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// URL of a page about the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help_url: Option<String>,
}

impl HandlerError {
    /// Creates an error with a message only.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Returns the bytes of all fields.
    pub fn bytes(&self) -> u64 {
        let more = [&self.name, &self.code, &self.suggestion, &self.help_url];
        let more = more.into_iter().flatten().map(String::len);
        (self.message.len() + more.sum::<usize>()) as u64
    }

    /// Sets the code: 1 to 64 of the characters `A`-`Z`, `a`-`z`, `0`-`9`, `_`, `.` and `-`, such as `NO_CITY`.
    /// The host replaces any other code, and its own (`E_TOOL…`, `E_HOST…`, `E_CONFIG_…`, `E_COMPONENT_…`,
    /// `E_MIDDLEWARE…`, `AGENT_…`, `IPC_…`, `CIRCULAR_…`), by `E_TOOL`.
    #[must_use]
    pub fn with_code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the suggestion.
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

/// Uses the error's text as message, so that `?` converts any error that implements
/// [`Error`](std::error::Error). `Box<dyn Error>` and `anyhow::Error` do not: convert them with
/// `map_err(|error| HandlerError::new(error.to_string()))`. If the error is a [`ToolError`], or one of
/// its [sources](std::error::Error::source) is, its code, suggestion and page are kept:
/// [`ToolError::into_handler_error`].
///
/// ```
/// use toolhost_contract::{HandlerError, Locale, ToolError, ToolErrorCode};
///
/// fn read() -> Result<String, HandlerError> {
///     Ok(std::fs::read_to_string("/no/such/file")?)
/// }
///
/// fn call() -> Result<(), HandlerError> {
///     let error = ToolError::host(ToolErrorCode::Timeout, "it took too long", Locale::En);
///     Err(error)?
/// }
///
/// assert!(read().unwrap_err().message.starts_with("No such file"));
/// let error = call().unwrap_err();
/// assert_eq!(error.message, "it took too long");
/// assert!(error.suggestion.is_some());
/// ```
impl<E: std::error::Error + 'static> From<E> for HandlerError {
    fn from(error: E) -> Self {
        let error: &(dyn std::error::Error + 'static) = &error;
        if let Some(tool_error) = error.downcast_ref::<ToolError>() {
            return tool_error.clone().into_handler_error();
        }
        let mut sources = std::iter::successors(error.source(), |error| error.source());
        let inner = sources.find_map(|source| source.downcast_ref::<ToolError>());
        let inner = inner.cloned().map(ToolError::into_handler_error);
        Self {
            message: error.to_string(),
            ..inner.unwrap_or_default()
        }
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

    #[derive(Debug, thiserror::Error)]
    #[error("the inner agent failed: {0}")]
    struct Wrapped(#[source] ToolError);

    #[test]
    fn the_question_mark_keeps_code_and_suggestion_of_a_tools_error() {
        let inner = ToolError {
            message: "no such city".to_owned(),
            name: Some("CityError".to_owned()),
            code: ErrorCode::Handler(HandlerCode::parse("NO_CITY").unwrap()),
            suggestion: Some("ask for another".to_owned()),
            help_url: Some("https://example.com/cities".to_owned()),
            details: None,
        };
        let own = |error: ToolError| -> Result<(), HandlerError> { Err(error)? };
        let expected = inner.clone().into_handler_error();
        assert_eq!(own(inner.clone()), Err(expected.clone()));
        let wrapped = |error: ToolError| -> Result<(), HandlerError> { Err(Wrapped(error))? };
        let message = "the inner agent failed: NO_CITY: no such city".to_owned();
        let expected = HandlerError {
            message,
            ..expected
        };
        assert_eq!(wrapped(inner), Err(expected));
        // A code of the host stays with the host.
        let host = ToolError::host(ToolErrorCode::Timeout, "late", crate::Locale::En);
        assert_eq!(own(host).unwrap_err().code, None);
    }
}
