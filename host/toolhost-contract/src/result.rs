//! What a call came to.

mod stored;

use serde::Serialize;
use serde_json::Value;

use crate::{ToolError, Usage};

/// Status of a [`ToolResult`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// Done; `output` is set.
    Ok,
    /// Not done; `error` is set.
    Error,
    /// Accepted; `handle` is set.
    Pending,
}

impl ToolStatus {
    /// In a word: `ok`, `error` or `pending`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// The answer to a [`ToolCall`](crate::ToolCall); never an exception.
///
/// `{"toolCallId": "call_1", "toolName": "text__upper", "status": "ok", "output": {"text": "HI"}}`
///
/// Made by the constructors below, so that the status always fits what is set.
///
/// Spec: tool-spec-v2 §10.1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    tool_call_id: String,
    tool_name: String,
    status: ToolStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    handle: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ToolError>,
    #[serde(skip)]
    usage: Usage,
}

impl ToolResult {
    fn new(call_id: &str, tool_name: &str, status: ToolStatus) -> Self {
        Self {
            tool_call_id: call_id.to_owned(),
            tool_name: tool_name.to_owned(),
            status,
            output: None,
            handle: None,
            error: None,
            usage: Usage::default(),
        }
    }

    /// Makes the result of a call that is done.
    #[must_use]
    pub fn ok(call_id: &str, tool_name: &str, output: Value) -> Self {
        Self {
            output: Some(output),
            ..Self::new(call_id, tool_name, ToolStatus::Ok)
        }
    }

    /// Makes the result of a call that was accepted and is not done.
    #[must_use]
    pub fn pending(call_id: &str, tool_name: &str, handle: String) -> Self {
        Self {
            handle: Some(handle),
            ..Self::new(call_id, tool_name, ToolStatus::Pending)
        }
    }

    /// Makes the result of a call that failed.
    #[must_use]
    pub fn error(call_id: &str, tool_name: &str, error: ToolError) -> Self {
        Self {
            error: Some(error),
            ..Self::new(call_id, tool_name, ToolStatus::Error)
        }
    }

    /// Adds the receipt.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Puts the call's own id and name in the place of what stands there.
    #[must_use]
    pub fn answering(mut self, call_id: &str, tool_name: &str) -> Self {
        call_id.clone_into(&mut self.tool_call_id);
        tool_name.clone_into(&mut self.tool_name);
        self
    }

    /// The value, to be changed; none unless the status is `ok`.
    #[must_use]
    pub fn output_mut(&mut self) -> Option<&mut Value> {
        self.output.as_mut()
    }

    /// The error, to be changed; none unless the status is `error`.
    #[must_use]
    pub fn error_mut(&mut self) -> Option<&mut ToolError> {
        self.error.as_mut()
    }

    /// Turns the result into a failure; its receipt stays.
    #[must_use]
    pub fn into_error(self, error: ToolError) -> Self {
        Self {
            status: ToolStatus::Error,
            output: None,
            handle: None,
            error: Some(error),
            ..self
        }
    }

    /// Id of the call this answers.
    #[must_use]
    pub fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    /// Name that was called, as the model spelled it.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// Whether it is done, failed or accepted.
    #[must_use]
    pub fn status(&self) -> ToolStatus {
        self.status
    }

    /// The value, for status `ok`.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// The handle, for status `pending`.
    #[must_use]
    pub fn handle(&self) -> Option<&str> {
        self.handle.as_deref()
    }

    /// The error, for status `error`.
    #[must_use]
    pub fn tool_error(&self) -> Option<&ToolError> {
        self.error.as_ref()
    }

    /// What the call used. Not part of the JSON, which the model reads.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }
}
