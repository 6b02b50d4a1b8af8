//! Results of tool calls.

mod stored;

use serde::Serialize;
use serde_json::Value;

use crate::{ToolError, Usage};

/// Status of a [`ToolResult`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolStatus {
    /// The call completed; `output` is set.
    Ok,
    /// The call failed; `error` is set.
    Error,
    /// The call continues in the background; `handle` is set.
    Pending,
}

impl ToolStatus {
    /// Returns `ok`, `error` or `pending`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Pending => "pending",
        }
    }
}

/// The result of a [`ToolCall`](crate::ToolCall).
///
/// `{"toolCallId": "call_1", "toolName": "text__upper", "status": "ok", "output": {"text": "HI"}}`
///
/// The constructors ensure that the status matches the set fields.
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

    /// Creates the result of a completed call.
    #[must_use]
    pub fn ok(call_id: &str, tool_name: &str, output: Value) -> Self {
        Self {
            output: Some(output),
            ..Self::new(call_id, tool_name, ToolStatus::Ok)
        }
    }

    /// Creates the result of a pending call.
    #[must_use]
    pub fn pending(call_id: &str, tool_name: &str, handle: String) -> Self {
        Self {
            handle: Some(handle),
            ..Self::new(call_id, tool_name, ToolStatus::Pending)
        }
    }

    /// Creates the result of a failed call.
    #[must_use]
    pub fn error(call_id: &str, tool_name: &str, error: ToolError) -> Self {
        Self {
            error: Some(error),
            ..Self::new(call_id, tool_name, ToolStatus::Error)
        }
    }

    /// Sets the usage.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the id and name of the call.
    #[must_use]
    pub fn with_call(mut self, call_id: &str, tool_name: &str) -> Self {
        call_id.clone_into(&mut self.tool_call_id);
        tool_name.clone_into(&mut self.tool_name);
        self
    }

    /// Returns the output, for status `ok`.
    #[must_use]
    pub fn output_mut(&mut self) -> Option<&mut Value> {
        self.output.as_mut()
    }

    /// Returns the error, for status `error`.
    #[must_use]
    pub fn error_mut(&mut self) -> Option<&mut ToolError> {
        self.error.as_mut()
    }

    /// Replaces the outcome with an error. Keeps the usage.
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

    /// Returns the id of the call.
    #[must_use]
    pub fn tool_call_id(&self) -> &str {
        &self.tool_call_id
    }

    /// Returns the name of the called tool, as in the call.
    #[must_use]
    pub fn tool_name(&self) -> &str {
        &self.tool_name
    }

    /// Returns the status.
    #[must_use]
    pub fn status(&self) -> ToolStatus {
        self.status
    }

    /// Returns the output, for status `ok`.
    #[must_use]
    pub fn output(&self) -> Option<&Value> {
        self.output.as_ref()
    }

    /// Returns the handle, for status `pending`.
    #[must_use]
    pub fn handle(&self) -> Option<&str> {
        self.handle.as_deref()
    }

    /// Returns the error, for status `error`.
    #[must_use]
    pub fn tool_error(&self) -> Option<&ToolError> {
        self.error.as_ref()
    }

    /// Returns the resources used by the call. Not included in the JSON for the model.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }
}
