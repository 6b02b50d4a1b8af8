//! Tool calls in the formats of model providers.

use std::collections::HashSet;

use serde_json::Value;

use super::error::MessageError;
use crate::{JsonLimits, JsonObject, ToolCall};

/// The format of a tool call.
#[derive(Clone, Copy)]
enum Format {
    OpenAi,
    Anthropic,
    AiSdk,
}

impl Format {
    fn of_part(part: &Value) -> Option<Self> {
        match part.get("type")?.as_str()? {
            "tool_use" => Some(Self::Anthropic),
            "tool-call" if part.get("providerExecuted") != Some(&Value::Bool(true)) => {
                Some(Self::AiSdk)
            }
            _ => None,
        }
    }

    fn id_key(self) -> &'static str {
        match self {
            Self::OpenAi | Self::Anthropic => "id",
            Self::AiSdk => "toolCallId",
        }
    }

    fn name(self, call: &Value) -> Option<&Value> {
        match self {
            Self::OpenAi => call.get("function")?.get("name"),
            Self::Anthropic => call.get("name"),
            Self::AiSdk => call.get("toolName"),
        }
    }

    fn args(self, call: &Value) -> Option<&Value> {
        match self {
            Self::OpenAi => call.get("function")?.get("arguments"),
            Self::Anthropic => call.get("input"),
            Self::AiSdk => call.get("input").or_else(|| call.get("args")),
        }
    }
}

/// Returns the tool calls of a message, each with its format.
fn calls(body: &JsonObject) -> impl Iterator<Item = (Format, &Value)> {
    let list = |key: &str| {
        body.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let parts = list("content").filter_map(|part| Some((Format::of_part(part)?, part)));
    parts.chain(list("tool_calls").map(|call| (Format::OpenAi, call)))
}

/// Returns the ids of the tool calls, as far as they have one.
pub(super) fn ids(body: &JsonObject) -> impl Iterator<Item = Option<&str>> {
    calls(body).map(|(format, call)| call.get(format.id_key())?.as_str())
}

/// Parses the tool calls of a message.
pub(super) fn parse(body: &JsonObject) -> Result<Vec<ToolCall>, MessageError> {
    let mut ids_so_far = HashSet::new();
    let numbered = calls(body).zip(ids(body)).zip(1..);
    numbered
        .map(|(((format, call), id), number)| {
            let id = id.ok_or(MessageError::CallWithoutId(number))?;
            if !ids_so_far.insert(id) {
                return Err(MessageError::DuplicateId(id.to_owned()));
            }
            // A call without a name is refused as one of a tool that is not in the catalog.
            let name = format.name(call).and_then(Value::as_str);
            let name = name.unwrap_or_default();
            Ok(match args(format.args(call)) {
                Ok(args) => ToolCall::new(id, name, args),
                Err(reason) => ToolCall::with_args_error(id, name, reason),
            })
        })
        .collect()
}

/// Parses arguments. Absent ones and an empty text mean none.
fn args(args: Option<&Value>) -> Result<JsonObject, String> {
    let of_text = |text: &str| match JsonLimits::ARGUMENTS.parse(text) {
        Ok(Value::Object(args)) => Ok(args),
        Ok(_) => Err("they are not a JSON object".to_owned()),
        Err(error) => Err(format!("their text {error}")),
    };
    match args {
        None | Some(Value::Null) => Ok(JsonObject::new()),
        Some(Value::Object(args)) => Ok(args.clone()),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(JsonObject::new()),
        Some(Value::String(text)) => of_text(text),
        Some(_) => Err("they are not a JSON object".to_owned()),
    }
}
