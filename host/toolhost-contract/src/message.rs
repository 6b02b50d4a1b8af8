//! The assistant's message and its tool calls.

mod calls;
mod error;

use std::sync::{Arc, OnceLock};

use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::{JsonObject, ToolCall, json_depth};

pub use error::MessageError;

/// An assistant's message, as the provider of the model returned it: `choices[0].message` of OpenAI's
/// chat completions, the whole response of Anthropic. OpenAI's Responses API has no such message.
///
/// Accepts the specification's Message (`{id, data: {role, content}, …}`) and the messages of providers.
/// Tool calls are found in:
///
/// | provider | a tool call |
/// |---|---|
/// | OpenAI, and servers with its API | `tool_calls[]`: `{"id", "type": "function", "function": {"name", "arguments"}}`; `arguments` is JSON text, or an object |
/// | Anthropic | `content[]`: `{"type": "tool_use", "id", "name", "input"}` |
/// | AI SDK | `content[]`: `{"type": "tool-call", "toolCallId", "toolName", "input"}`, in version 4 `args` for `input` |
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use serde_json::json;
/// use toolhost_contract::AssistantMessage;
///
/// let message = AssistantMessage::parse(json!({
///     "role": "assistant",
///     "tool_calls": [{"id": "call_1", "type": "function", "function": {
///         "name": "text__upper", "arguments": "{\"text\": \"hello\"}",
///     }}],
/// }))?;
/// let [call] = message.tool_calls() else { unreachable!() };
/// assert_eq!((&*call.id, &*call.name), ("call_1", "text__upper"));
/// assert_eq!(call.args["text"], "hello");
/// # Ok(())
/// # }
/// ```
///
/// Cheap to clone.
///
/// Spec: tool-spec-v2 §2.5(4).
#[derive(Debug, Clone, PartialEq)]
pub struct AssistantMessage(Arc<MessageInner>);

#[derive(Debug)]
struct MessageInner {
    object: JsonObject,
    json: String,
    depth: usize,
    calls: OnceLock<Vec<ToolCall>>,
}

impl PartialEq for MessageInner {
    fn eq(&self, other: &Self) -> bool {
        self.object == other.object
    }
}

impl Serialize for AssistantMessage {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.object.serialize(serializer)
    }
}

impl AssistantMessage {
    /// Parses a message. It need not contain a tool call.
    ///
    /// # Errors
    /// [`MessageError`] if the value is not an object, the role is not `assistant`, or a tool call cannot be
    /// distinguished from another by its id.
    pub fn parse(message: Value) -> Result<Self, MessageError> {
        let Value::Object(message) = message else {
            return Err(MessageError::NotAnObject);
        };
        let message = Self::of(message);
        let role = message.body().get("role").and_then(Value::as_str);
        if role != Some("assistant") {
            return Err(MessageError::Role(role.unwrap_or("none").to_owned()));
        }
        let calls = calls::parse(message.body())?;
        // Nobody else has the message yet.
        let _is_first = message.0.calls.set(calls).is_ok();
        Ok(message)
    }

    /// Creates a message with `call` only, for callers without a message.
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
            calls: OnceLock::new(),
        }))
    }

    /// Returns the tool calls, in the order of the message. Calls that the provider executed itself, which
    /// the AI SDK marks with `providerExecuted`, are left out.
    ///
    /// A call whose arguments are not a JSON object is among them: executing it returns
    /// `E_TOOL_INVALID_ARGS` with the reason, so that the model can correct itself. See
    /// [`ToolCall::args_error`].
    pub fn tool_calls(&self) -> &[ToolCall] {
        let calls = &self.0.calls;
        calls.get_or_init(|| calls::parse(self.body()).unwrap_or_default())
    }

    /// Returns whether the message contains the call `call_id`.
    pub fn contains_call(&self, call_id: &str) -> bool {
        calls::ids(self.body()).any(|id| id == Some(call_id))
    }

    /// Returns the message if it contains the call `call_id`.
    ///
    /// # Errors
    /// [`MessageError::NoSuchCall`].
    pub fn with_call(self, call_id: &str) -> Result<Self, MessageError> {
        if self.contains_call(call_id) {
            return Ok(self);
        }
        Err(MessageError::NoSuchCall(call_id.to_owned()))
    }

    /// Returns the message as a JSON object.
    pub fn as_object(&self) -> &JsonObject {
        &self.0.object
    }

    /// Returns the message as a JSON value, as it was parsed.
    pub fn to_value(&self) -> Value {
        Value::Object(self.0.object.clone())
    }

    /// Returns the message as JSON text. A [`String`], as the engine lowers references to one.
    pub fn as_json(&self) -> &String {
        &self.0.json
    }

    /// Returns the nesting depth of the message.
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
mod tests;
