//! Tool calls.

use serde::{Deserialize, Serialize};

use crate::JsonObject;

/// A tool call of the model. The fields are unchecked.
///
/// `{"id": "call_1", "name": "bash__exec", "args": {"command": "ls"}}`
///
/// Spec: tool-spec-v2 §8.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id of the call, set by the model or its provider.
    pub id: String,
    /// Name of the tool. Looked up in the catalog.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub args: JsonObject,
}

impl ToolCall {
    /// Creates a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: JsonObject) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            args,
        }
    }
}
