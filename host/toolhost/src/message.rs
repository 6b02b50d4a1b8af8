//! Messages of the conversation, as the specification has them.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Value, json};
use toolhost_contract::{JsonObject, ToolResult};

use crate::events::Timestamp;

/// The message with the result of a tool call. `data` is [`ToolResult::to_ai_sdk`].
///
/// ```json
/// {"id": "m1", "data": {"role": "tool", "content": [{"type": "tool-result",
///   "toolCallId": "call_1", "toolName": "text__upper", "output": {"type": "json", "value": {…}}}]},
///  "metadata": {}, "createdAt": "2026-11-21T05:00:00.000Z",
///  "source": {"type": "tool", "toolCallId": "call_1", "toolName": "text__upper"}}
/// ```
///
/// Spec: tool-spec-v2 §8.1, appendix A.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolMessage {
    /// Id of the message.
    pub id: String,
    /// The message for the model.
    pub data: Value,
    /// Free for the runtime's use.
    pub metadata: JsonObject,
    /// Time of the result.
    pub created_at: Timestamp,
    /// The tool call.
    pub source: Value,
}

/// A change of the conversation: `{"type": "append", "message": {…}}`.
///
/// Spec: tool-spec-v2 §8.1.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum MessageEvent {
    /// Appends a message.
    Append {
        /// The message.
        message: ToolMessage,
    },
}

impl ToolMessage {
    /// Creates the message of a result. The runtime chooses `id`.
    pub fn of(result: &ToolResult, id: impl Into<String>, created_at: SystemTime) -> Self {
        let (call, name) = (result.tool_call_id(), result.tool_name());
        Self {
            id: id.into(),
            data: result.to_ai_sdk(),
            metadata: JsonObject::new(),
            created_at: Timestamp(created_at),
            source: json!({"type": "tool", "toolCallId": call, "toolName": name}),
        }
    }

    /// Returns the event that appends the message to the conversation.
    #[must_use]
    pub fn append(self) -> MessageEvent {
        MessageEvent::Append { message: self }
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn a_result_becomes_a_message_that_is_appended() {
        // tool-spec-v2 §8.1
        let result = ToolResult::ok("call_1", "text__upper", json!({"text": "HI"}));
        let event = ToolMessage::of(&result, "m1", UNIX_EPOCH).append();
        let part = json!({"type": "tool-result", "toolCallId": "call_1", "toolName": "text__upper",
            "output": {"type": "json", "value": {"text": "HI"}}});
        let expected = json!({"type": "append", "message": {
            "id": "m1", "data": {"role": "tool", "content": [part]}, "metadata": {},
            "createdAt": "1970-01-01T00:00:00.000Z",
            "source": {"type": "tool", "toolCallId": "call_1", "toolName": "text__upper"},
        }});
        assert_eq!(serde_json::to_value(event).unwrap(), expected);
    }
}
