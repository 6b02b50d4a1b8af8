//! The error of a handler, written for the model.

use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};

use crate::bindings::tool::goondan::tool::types::ToolError as ContractError;
use crate::place::place;

/// An error with a message, a code to branch on, and a suggestion for the next step.
///
/// ```
/// # use toolhost_guest::ToolError;
/// ToolError::new("sheet `Q3` does not exist")
///     .code("NO_SHEET")
///     .suggestion("`sheets` lists what is there");
/// ```
///
/// `?` converts these to it:
///
/// - a text
/// - an [`io::Error`], which brings its code, such as `NOT_FOUND`. An error of a file that the host denied gets the
///   host's code `E_TOOL_DENIED`.
/// - a [`serde_json::Error`], with the code `INVALID_JSON`
/// - a [`CallError`](crate::tools::CallError), as the called tool wrote it
/// - the errors of the standard library for texts and numbers, such as [`ParseIntError`](std::num::ParseIntError)
/// - a [`Box<dyn Error>`](Error), with the code of what is in it. `anyhow::Error` becomes one with `?`, without a
///   code: return `Result<T, Box<dyn Error + Send + Sync>>` from the tool.
///
/// For an error of your own, write `impl From<MyError> for ToolError`, or `.map_err(|error| error.to_string())?`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolError {
    /// What went wrong. Cut to the Tool's `errorMessageLimit` (default 1000 UTF-16 units).
    pub message: String,
    /// Kind of error, such as `NotFoundError`. Default `Error`.
    pub name: Option<String>,
    /// A code to branch on, `[A-Za-z0-9_.-]{1,64}`. Default `E_TOOL`, which also replaces codes that are reserved for the host.
    pub code: Option<String>,
    /// The suggested next step, for the model.
    pub suggestion: Option<String>,
    /// A page that explains more, `https:` only.
    pub help_url: Option<String>,
}

impl ToolError {
    /// Creates an error with a message only.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            name: None,
            code: None,
            suggestion: None,
            help_url: None,
        }
    }

    /// Sets the kind of error.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the code.
    #[must_use]
    pub fn code(mut self, code: impl Into<String>) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the suggested next step.
    #[must_use]
    pub fn suggestion(mut self, suggestion: impl Into<String>) -> Self {
        self.suggestion = Some(suggestion.into());
        self
    }

    /// Sets the URL of a page that explains more.
    #[must_use]
    pub fn help_url(mut self, help_url: impl Into<String>) -> Self {
        self.help_url = Some(help_url.into());
        self
    }

    /// Adds the place of the error, such as a path. To an error of `std::fs`, which does not contain its path,
    /// the host adds it where the tool did nothing else since.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{}: {place}", self.message);
        self
    }

    /// The input is not what the handler takes. The host has checked it against the parameters, so
    /// they and the handler's type disagree.
    pub(crate) fn input(text: &str, reason: &serde_json::Error) -> Self {
        let message = match place(text, reason.line(), reason.column()) {
            place if place.is_empty() => format!("the input does not fit: {reason}"),
            place => format!("the input does not fit: {place}: {reason}"),
        };
        Self::new(message)
            .name("InvalidInputError")
            .code("INVALID_INPUT")
            .suggestion("follow the parameters of this tool")
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ToolError {}

impl From<String> for ToolError {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for ToolError {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

impl From<serde_json::Error> for ToolError {
    fn from(error: serde_json::Error) -> Self {
        Self::new(error.to_string())
            .name("JsonError")
            .code("INVALID_JSON")
    }
}

impl From<io::Error> for ToolError {
    fn from(error: io::Error) -> Self {
        let (code, name, message) = match error.kind() {
            ErrorKind::NotFound => ("NOT_FOUND", "NotFoundError", "file does not exist"),
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                ("NO_SPACE", "NoSpaceError", "no space left for this call")
            }
            ErrorKind::IsADirectory => (
                "IS_DIRECTORY",
                "IsDirectoryError",
                "is a folder, not a file",
            ),
            ErrorKind::NotADirectory => (
                "NOT_DIRECTORY",
                "NotDirectoryError",
                "is not a folder, or lies beneath a file",
            ),
            ErrorKind::AlreadyExists => ("ALREADY_EXISTS", "AlreadyExistsError", "exists already"),
            ErrorKind::Unsupported => {
                return Self::new("the sandbox of a tool does not support this operation")
                    .name("NotSupportedError")
                    .code("NOT_SUPPORTED")
                    .suggestion(
                        "the author must correct the tool: it has no processes, threads or sockets",
                    );
            }
            // The host has recorded what it denied, and sets the code and the suggestion.
            ErrorKind::PermissionDenied => {
                return Self::new("not permitted").name("PermissionError");
            }
            ErrorKind::ReadOnlyFilesystem => {
                return Self::new("this place is read-only").name("PermissionError");
            }
            ErrorKind::OutOfMemory => return Self::new("out of memory").name("MemoryError"),
            _ => {
                return Self::new(error.to_string())
                    .name("IoError")
                    .code("IO_ERROR");
            }
        };
        Self::new(message).name(name).code(code)
    }
}

/// Converts errors whose text says all.
macro_rules! from_text {
    ($($error:ty),+ $(,)?) => {
        $(
            impl From<$error> for ToolError {
                fn from(error: $error) -> Self {
                    Self::new(error.to_string())
                }
            }
        )+
    };
}

from_text!(
    fmt::Error,
    std::array::TryFromSliceError,
    std::char::ParseCharError,
    std::env::VarError,
    std::num::ParseFloatError,
    std::num::ParseIntError,
    std::num::TryFromIntError,
    std::path::StripPrefixError,
    std::str::ParseBoolError,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::time::SystemTimeError,
);

impl From<ContractError> for ToolError {
    fn from(error: ContractError) -> Self {
        Self {
            message: error.message,
            name: error.name,
            code: error.code,
            suggestion: error.suggestion,
            help_url: error.help_url,
        }
    }
}

impl From<ToolError> for ContractError {
    fn from(error: ToolError) -> Self {
        Self {
            message: error.message,
            name: error.name,
            code: error.code,
            suggestion: error.suggestion,
            help_url: error.help_url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ToolError;

    #[test]
    fn usual_errors_become_one_with_a_question_mark() {
        fn text() -> Result<(), ToolError> {
            Err("no sheet")?
        }
        fn number() -> Result<i32, ToolError> {
            Ok("x".parse::<i32>()?)
        }
        fn bytes() -> Result<String, ToolError> {
            Ok(String::from_utf8(vec![0xff])?)
        }
        fn json() -> Result<bool, ToolError> {
            Ok(serde_json::from_str("[")?)
        }
        fn file() -> Result<Vec<u8>, ToolError> {
            Ok(std::fs::read("nowhere.txt")?)
        }
        fn call() -> Result<bool, ToolError> {
            Ok(crate::tools::call("a__b", &())?)
        }
        for (error, code, message) in [
            (text().unwrap_err(), None, "no sheet"),
            (number().unwrap_err(), None, "invalid digit"),
            (bytes().unwrap_err(), None, "invalid utf-8"),
            (
                json().unwrap_err(),
                Some("INVALID_JSON"),
                "expected a boolean",
            ),
            (file().unwrap_err(), Some("NOT_FOUND"), "does not exist"),
            (
                call().unwrap_err(),
                None,
                "can be called only in a component",
            ),
        ] {
            assert_eq!(error.code.as_deref(), code, "{error}");
            assert!(error.message.contains(message), "{error}");
        }
    }
}
