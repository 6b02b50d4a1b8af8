//! The errors of requests.

use serde_json::{Value, json};
use toolhost::extension::ExtensionError;
use toolhost::{AgentError, LoadError, ToolError, WorkdirError, WorkspaceError};

/// Why a request was not carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RpcErrorCode {
    Parse,
    Request,
    Method,
    Params,
    Internal,
    NotFound,
    Limit,
    Bundle,
    Fixed,
    Busy,
    Shutdown,
    Forbidden,
    Decided,
    Cancelled,
}

impl RpcErrorCode {
    /// The number of JSON-RPC. Those from -32000 are ours; -32800 is that of the Language Server
    /// Protocol.
    fn number(self) -> i32 {
        match self {
            Self::Parse => -32700,
            Self::Request => -32600,
            Self::Method => -32601,
            Self::Params => -32602,
            Self::Internal => -32603,
            Self::NotFound => -32001,
            Self::Limit => -32002,
            Self::Bundle => -32003,
            Self::Fixed => -32004,
            Self::Busy => -32005,
            Self::Shutdown => -32006,
            Self::Forbidden => -32007,
            Self::Decided => -32008,
            Self::Cancelled => -32800,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Parse => "E_RPC_PARSE",
            Self::Request => "E_RPC_REQUEST",
            Self::Method => "E_RPC_METHOD",
            Self::Params => "E_RPC_PARAMS",
            Self::Internal => "E_RPC_INTERNAL",
            Self::NotFound => "E_RPC_NOT_FOUND",
            Self::Limit => "E_RPC_LIMIT",
            Self::Bundle => "E_RPC_BUNDLE",
            Self::Fixed => "E_RPC_FIXED",
            Self::Busy => "E_RPC_BUSY",
            Self::Shutdown => "E_RPC_SHUTDOWN",
            Self::Forbidden => "E_RPC_FORBIDDEN",
            Self::Decided => "E_RPC_DECIDED",
            Self::Cancelled => "E_RPC_CANCELLED",
        }
    }

    fn suggestion(self) -> &'static str {
        match self {
            Self::Parse => "Send one JSON object per line, in UTF-8, nested at most 127 deep.",
            Self::Request => {
                "Send {\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"…\", \"params\": {…}}."
            }
            Self::Method => "Call one of the methods of docs/rpc.md.",
            Self::Params => "Correct the parameters; docs/rpc.md lists those of each method.",
            Self::Internal => "The server failed: report what was sent, and what it logged.",
            Self::NotFound => "Use an id that this connection opened, and that it did not close.",
            Self::Limit => "Wait until earlier requests are answered, or send less.",
            Self::Bundle => "Correct the findings in data.diagnostics; nothing was loaded.",
            Self::Fixed => "Leave the parameter out: the operator has set it.",
            Self::Busy => "Wait for the answers of the requests that use it, then close it.",
            Self::Shutdown => "Connect again when the server has restarted.",
            Self::Forbidden => "Send a token that may do this.",
            Self::Decided => "Ask for the approvals that wait now: this one does not.",
            Self::Cancelled => "The client cancelled the request; send it again if it is needed.",
        }
    }
}

/// The error of a response.
#[derive(Debug)]
pub(crate) struct RpcError(Box<ErrorInner>);

#[derive(Debug)]
struct ErrorInner {
    number: i32,
    message: String,
    code: String,
    suggestion: String,
    /// The findings of a bundle.
    diagnostics: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: RpcErrorCode, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorInner {
            number: code.number(),
            message: message.into(),
            code: code.as_str().to_owned(),
            suggestion: code.suggestion().to_owned(),
            diagnostics: None,
        }))
    }

    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(RpcErrorCode::Params, message)
    }

    pub(crate) fn suggesting(mut self, suggestion: impl Into<String>) -> Self {
        self.0.suggestion = suggestion.into();
        self
    }

    /// `{"code", "message", "data": {"code", "suggestion", "diagnostics"?}}`
    pub(crate) fn to_json(&self) -> Value {
        let error = &self.0;
        let mut data = json!({"code": error.code, "suggestion": error.suggestion});
        if let (Some(findings), Some(data)) = (&error.diagnostics, data.as_object_mut()) {
            data.insert("diagnostics".to_owned(), findings.clone());
        }
        json!({"code": error.number, "message": error.message, "data": data})
    }
}

/// The number of a request that the host or a middleware failed; `data.code` has the code.
const FAILED: i32 = -32000;

impl From<ToolError> for RpcError {
    fn from(error: ToolError) -> Self {
        Self(Box::new(ErrorInner {
            number: FAILED,
            message: error.message,
            code: error.code.to_string(),
            suggestion: error.suggestion.unwrap_or_default(),
            diagnostics: None,
        }))
    }
}

impl From<AgentError> for RpcError {
    fn from(error: AgentError) -> Self {
        Self::new(RpcErrorCode::NotFound, error.to_string())
            .suggesting("Name an agent that agents/list returns.")
    }
}

impl From<WorkdirError> for RpcError {
    fn from(error: WorkdirError) -> Self {
        let reason = std::error::Error::source(&error).map(ToString::to_string);
        let message = match reason {
            Some(reason) => format!("{error}: {reason}"),
            None => error.to_string(),
        };
        Self::params(message)
            .suggesting("Name a directory that exists, with only files that the tools may change.")
    }
}

impl From<WorkspaceError> for RpcError {
    fn from(error: WorkspaceError) -> Self {
        Self::params(error.to_string())
            .suggesting("Name a workdir, or start the server with a state root.")
    }
}

impl From<ExtensionError> for RpcError {
    fn from(error: ExtensionError) -> Self {
        Self::new(RpcErrorCode::Bundle, error.to_string())
            .suggesting("Start the server with --tools direct, or give the tool another name.")
    }
}

impl From<LoadError> for RpcError {
    fn from(error: LoadError) -> Self {
        let mut wrong = Self::new(RpcErrorCode::Bundle, error.summary()).suggesting(error.help());
        if let LoadError::Invalid { diagnostics, .. } = error {
            wrong.0.diagnostics = Some(json!(diagnostics));
        }
        wrong
    }
}
