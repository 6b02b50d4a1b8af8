//! Errors of servers, and findings about their tools.

use std::fmt;

use toolhost::{HandlerError, ResourceName, extension::ExtensionError, http::HttpRuleError, text};

/// Longest text of a server in an error, in characters.
const TEXT_CHARS_MAX: usize = 500;

/// Why a server cannot be used at all.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are in the messages")]
pub enum McpError {
    /// The function was not called in a tokio runtime.
    #[error("MCP server '{server}': it needs a tokio runtime")]
    NoRuntime { server: ResourceName },
    /// The URL cannot be the only one that is allowed.
    #[error("MCP server '{server}': the URL cannot be used")]
    Url {
        server: ResourceName,
        #[source]
        source: HttpRuleError,
    },
    /// Nobody authorized the host at the server.
    #[error("MCP server '{server}': {reason}")]
    Unauthorized {
        server: ResourceName,
        reason: String,
    },
    /// An agent already has an extension of this name.
    #[error("MCP server '{server}'")]
    Extension {
        server: ResourceName,
        #[source]
        source: ExtensionError,
    },
}

/// What is wrong with a tool of a server, or with its list.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct McpFinding {
    /// The server's name of the tool, escaped, at most 128 characters; `…` for those that were not read.
    pub tool: String,
    /// Whether agents have the tool in spite of it.
    pub is_used: bool,
    /// The reason, at most 500 characters.
    pub reason: String,
}

impl McpFinding {
    /// The tool is left out.
    pub(crate) fn new(tool: &str, reason: impl fmt::Display) -> Self {
        Self {
            tool: text::shorten(tool, 128),
            is_used: false,
            reason: bounded(reason),
        }
    }

    /// The tool is used.
    pub(crate) fn note(tool: &str, reason: impl fmt::Display) -> Self {
        Self {
            is_used: true,
            ..Self::new(tool, reason)
        }
    }
}

impl fmt::Display for McpFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tool, reason, .. } = self;
        if self.is_used {
            return write!(f, "the tool '{tool}': {reason}");
        }
        write!(f, "the tool '{tool}' is left out: {reason}")
    }
}

/// Returns a text that a server may have chosen, for messages and logs.
pub(crate) fn bounded(text: impl fmt::Display) -> String {
    text::shorten(&text.to_string(), TEXT_CHARS_MAX)
}

/// The error of a call that the server could not take, or whose answer cannot come any more.
pub(crate) fn unavailable(server: &ResourceName, reason: &str) -> HandlerError {
    HandlerError::new(format!(
        "The MCP server '{server}' is not available: {reason}."
    ))
    .with_code("MCP_UNAVAILABLE")
}
