//! The context of a tool call and its assistant message.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::{JsonObject, ToolCall, json_depth};

/// Context of a call, passed to its handler. Created only by the host.
///
/// Spec: tool-spec-v2 §7.3.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolContext {
    /// Name of the agent.
    pub agent_name: String,
    /// Key of the agent instance.
    pub instance_key: String,
    /// Id of the turn.
    pub turn_id: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// Id of the trace, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The assistant message with the call.
    pub message: AssistantMessage,
    /// The working directory: `/` for a component, a path of this machine for a native handler.
    pub workdir: String,
}

/// A JSON value that is not the assistant message of a call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MessageError {
    /// The value is not a JSON object.
    #[error("a message must be a JSON object")]
    NotAnObject,
    /// The role is not `assistant`.
    #[error("the message's role must be 'assistant', not '{0}'")]
    Role(String),
    /// The message contains no tool call with this id.
    #[error("the message contains no tool call '{0}'")]
    NoSuchCall(String),
}

/// The assistant message with a call.
///
/// Accepts the specification's Message (`{id, data: {role, content}, …}`) and the messages of providers.
/// Tool calls are found in `content[].toolCallId` (AI SDK), `content[].id` with `type: tool_use`
/// (Anthropic) and `tool_calls[].id` (OpenAI).
///
/// Cheap to clone.
///
/// Spec: tool-spec-v2 §2.5(4).
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantMessage(Arc<MessageInner>);

#[derive(Debug, PartialEq)]
struct MessageInner {
    object: JsonObject,
    json: String,
    depth: usize,
}

impl Serialize for AssistantMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.object.serialize(serializer)
    }
}

impl AssistantMessage {
    /// Parses the message with the call `call_id`.
    ///
    /// # Errors
    /// [`MessageError`] if the role is not `assistant` or the message contains no such call.
    pub fn parse(message: Value, call_id: &str) -> Result<Self, MessageError> {
        let Value::Object(message) = message else {
            return Err(MessageError::NotAnObject);
        };
        let message = Self::of(message);
        let role = message.body().get("role").and_then(Value::as_str);
        if role != Some("assistant") {
            return Err(MessageError::Role(role.unwrap_or("none").to_owned()));
        }
        if !message.contains_call(call_id) {
            return Err(MessageError::NoSuchCall(call_id.to_owned()));
        }
        Ok(message)
    }

    /// Creates a message with `call` only, for callers without a message.
    #[must_use]
    pub fn for_call(call: &ToolCall) -> Self {
        let message = json!({
            "id": format!("message-of-{}", call.id),
            "data": {
                "role": "assistant",
                "content": [{
                    "type": "tool-call",
                    "toolCallId": call.id,
                    "toolName": call.name,
                    "input": call.args,
                }],
            },
        });
        let Value::Object(message) = message else {
            return Self::of(JsonObject::new());
        };
        Self::of(message)
    }

    fn of(object: JsonObject) -> Self {
        let json = serde_json::to_string(&object).unwrap_or_default();
        Self(Arc::new(MessageInner {
            depth: json_depth(&json),
            object,
            json,
        }))
    }

    /// Returns whether the message contains the call `call_id`.
    #[must_use]
    pub fn contains_call(&self, call_id: &str) -> bool {
        let list = |key: &str| self.body().get(key).and_then(Value::as_array);
        let part_id = |part: &Value| {
            let kind = part.get("type").and_then(Value::as_str);
            let key = match kind {
                Some("tool-call") => "toolCallId",
                Some("tool_use") => "id",
                _ => return false,
            };
            part.get(key).and_then(Value::as_str) == Some(call_id)
        };
        let call_has_id = |call: &Value| call.get("id").and_then(Value::as_str) == Some(call_id);
        list("content").is_some_and(|parts| parts.iter().any(part_id))
            || list("tool_calls").is_some_and(|calls| calls.iter().any(call_has_id))
    }

    /// Returns the message as a JSON object.
    #[must_use]
    pub fn as_object(&self) -> &JsonObject {
        &self.0.object
    }

    /// Returns the message as JSON text. A [`String`], as the engine lowers references to one.
    #[must_use]
    pub fn as_json(&self) -> &String {
        &self.0.json
    }

    /// Returns the nesting depth of the message.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.0.depth
    }

    /// Returns the object with role and content: `data` in the specification's Message.
    fn body(&self) -> &JsonObject {
        match self.0.object.get("data") {
            Some(Value::Object(data)) => data,
            _ => &self.0.object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_message_that_is_not_the_assistants_or_contains_another_call() {
        // tool-spec-v2 §2.5(4)
        let parse = |message: Value| AssistantMessage::parse(message, "c1").map(|_| ());
        let content = json!([{"type": "tool-call", "toolCallId": "c1"}]);
        assert_eq!(
            parse(json!({"data": {"role": "assistant", "content": content}})),
            Ok(())
        );
        assert_eq!(
            parse(json!({"role": "assistant", "content": content})),
            Ok(())
        );
        assert_eq!(
            parse(json!({"role": "assistant", "tool_calls": [{"id": "c1"}]})),
            Ok(())
        );
        let anthropic = json!([{"type": "text", "text": "c1"}, {"type": "tool_use", "id": "c1"}]);
        assert_eq!(
            parse(json!({"role": "assistant", "content": anthropic})),
            Ok(())
        );

        let role = |role: &str| Err(MessageError::Role(role.to_owned()));
        assert_eq!(
            parse(json!({"role": "user", "content": content})),
            role("user")
        );
        assert_eq!(parse(json!({"content": content})), role("none"));
        assert_eq!(parse(json!("c1")), Err(MessageError::NotAnObject));
        let absent = Err(MessageError::NoSuchCall("c1".to_owned()));
        assert_eq!(parse(json!({"role": "assistant", "content": "c1"})), absent);
        assert_eq!(
            parse(json!({"role": "assistant", "tool_calls": [{"id": "c2"}]})),
            absent
        );
    }

    #[test]
    fn makes_a_message_with_one_call() {
        let call = ToolCall::new("c1", "a__b", JsonObject::new());
        let message = AssistantMessage::for_call(&call);
        let value = Value::Object(message.as_object().clone());
        assert_eq!(AssistantMessage::parse(value, "c1"), Ok(message));
    }

    #[test]
    fn a_context_has_the_seven_fields_and_a_trace() {
        // tool-spec-v2 §2.5(3), §7.3: nothing of v1 is left in it
        let call = ToolCall::new("c1", "a__b", JsonObject::new());
        let context = ToolContext {
            agent_name: "a".into(),
            instance_key: "k".into(),
            turn_id: "t".into(),
            tool_call_id: "c1".into(),
            trace_id: Some("r".into()),
            message: AssistantMessage::for_call(&call),
            workdir: "/".into(),
        };
        let json = serde_json::to_value(context).unwrap();
        let mut keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(
            keys,
            [
                "agentName",
                "instanceKey",
                "message",
                "toolCallId",
                "traceId",
                "turnId",
                "workdir"
            ]
        );
    }
}
