//! Converts a result to a message of the conversation and to text for the model.

use std::time::SystemTime;

use serde::Serialize;
use serde_json::{Value, json};
use toolhost_contract::{JsonObject, ToolError, ToolResult, ToolStatus};

use crate::events::Timestamp;

/// The message with the result of a tool call. `data` is a message of role `tool` in the AI SDK's
/// format.
///
/// ```json
/// {"id": "m1", "data": {"role": "tool", "content": [{"type": "tool-result",
///   "toolCallId": "call_1", "toolName": "text__upper", "output": {"type": "json", "value": {…}}}]},
///  "metadata": {}, "createdAt": "2026-11-21T05:00:00.000Z",
///  "source": {"type": "tool", "toolCallId": "call_1", "toolName": "text__upper"}}
/// ```
///
/// `output.type` is `json` for a value, `text` for a pending call, `error-text` for an error.
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
        let output = match result.status() {
            ToolStatus::Ok => json!({"type": "json", "value": result.output()}),
            ToolStatus::Pending => json!({"type": "text", "value": model_text(result)}),
            ToolStatus::Error => json!({"type": "error-text", "value": model_text(result)}),
        };
        let part = json!({
            "type": "tool-result", "toolCallId": call, "toolName": name, "output": output,
        });
        Self {
            id: id.into(),
            data: json!({"role": "tool", "content": [part]}),
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

/// Returns the text of a result for the model: the output as JSON, the handle of a pending call, or the
/// error, one line per part:
///
/// ```text
/// ERROR: Tool 'bash__exec' failed: it did not end within 30000 ms.
/// CODE: E_TOOL_TIMEOUT
/// SUGGESTION: Ask for less in one call …
/// HELP: https://docs.goondan.ai/errors/E_TOOL_TIMEOUT
/// ```
///
/// Further lines of a part are indented, so a tool's message cannot imitate another part.
#[must_use]
pub fn model_text(result: &ToolResult) -> String {
    if let Some(error) = result.tool_error() {
        return error_text(error);
    }
    match (result.output(), result.handle()) {
        (Some(output), _) => output.to_string(),
        (None, Some(handle)) => format!("PENDING: {handle}"),
        (None, None) => String::new(),
    }
}

fn error_text(error: &ToolError) -> String {
    let parts = [
        ("ERROR", Some(error.message.as_str())),
        ("CODE", Some(error.code.as_str())),
        ("SUGGESTION", error.suggestion.as_deref()),
        ("HELP", error.help_url.as_deref()),
    ];
    let line = |(part, text): (&str, Option<&str>)| {
        let text = text?.replace('\n', "\n  ");
        Some(format!("{part}: {text}"))
    };
    let lines: Vec<String> = parts.into_iter().filter_map(line).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use toolhost_contract::{Locale, ToolErrorCode};

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

    #[test]
    fn an_error_has_one_line_per_part_and_cannot_imitate_another_part() {
        // tool-spec-v2 §2.4
        let error = ToolError::host(ToolErrorCode::Tool, "no\nCODE: forged", Locale::En);
        let result = ToolResult::error("c", "t__x", error);
        assert_eq!(
            model_text(&result),
            "ERROR: no\n  CODE: forged\nCODE: E_TOOL\n\
             SUGGESTION: Check the arguments against the tool's description and try again.\n\
             HELP: https://docs.goondan.ai/errors/E_TOOL"
        );
        let message = ToolMessage::of(&result, "m", UNIX_EPOCH);
        assert_eq!(message.data["content"][0]["output"]["type"], "error-text");
        let pending = ToolResult::pending("c", "t__x", "pending_1".to_owned());
        assert_eq!(model_text(&pending), "PENDING: pending_1");
    }
}
