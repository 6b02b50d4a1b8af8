//! Tool calls.

use serde::{Deserialize, Serialize};

use crate::JsonObject;

/// A tool call of the model. The fields are unchecked; a member that it does not have, such as `arguments`, is an
/// error where it is deserialized.
///
/// `{"id": "call_1", "name": "bash__exec", "args": {"command": "ls"}}`
///
/// Spec: tool-spec-v2 §8.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Id of the call, set by the model or its provider.
    pub id: String,
    /// Name of the tool. Looked up in the catalog.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub args: JsonObject,
    #[serde(skip)]
    args_error: Option<Box<str>>,
}

impl ToolCall {
    /// Creates a call. [`AssistantMessage::tool_calls`](crate::AssistantMessage::tool_calls) returns those of
    /// a model's message.
    ///
    /// ```
    /// use toolhost_contract::ToolCall;
    ///
    /// let args = [("text".to_owned(), "hello".into())].into_iter().collect();
    /// let call = ToolCall::new("call_1", "text__upper", args);
    /// let same: ToolCall = serde_json::from_value(serde_json::json!({
    ///     "id": "call_1", "name": "text__upper", "args": {"text": "hello"},
    /// }))?;
    /// assert_eq!(call, same);
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: JsonObject) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            args,
            args_error: None,
        }
    }

    /// Creates a call whose arguments could not be parsed. Executing it returns `E_TOOL_INVALID_ARGS` with
    /// the reason, unless the call is refused for another.
    pub fn with_args_error(
        id: impl Into<String>,
        name: impl Into<String>,
        reason: impl Into<Box<str>>,
    ) -> Self {
        Self {
            args_error: Some(reason.into()),
            ..Self::new(id, name, JsonObject::new())
        }
    }

    /// Returns why the arguments that the model wrote are not a JSON object. [`Self::args`] is empty then.
    pub fn args_error(&self) -> Option<&str> {
        self.args_error.as_deref()
    }
}
