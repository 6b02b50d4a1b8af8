//! What a model asks for.

use serde::{Deserialize, Serialize};

use crate::JsonObject;

/// A tool call as the model made it; nothing in it has been checked yet.
///
/// `{"id": "call_1", "name": "bash__exec", "args": {"command": "ls"}}`
///
/// Spec: tool-spec-v2 §8.2.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Id of the call, as the model made it.
    pub id: String,
    /// The name the model asked for. May be anything; the catalog decides.
    pub name: String,
    /// The arguments.
    #[serde(default)]
    pub args: JsonObject,
}

impl ToolCall {
    /// Makes a call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, args: JsonObject) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            args,
        }
    }
}
