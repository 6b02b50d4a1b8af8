//! The error of a handler, written for the model.

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
/// `?` converts a text or an [`io::Error`] to it. An error of a file that the host denied gets the host's code
/// `E_TOOL_DENIED`.
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

impl std::error::Error for ToolError {}

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
