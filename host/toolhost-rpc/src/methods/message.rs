//! The method `message/execute`.

use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::{AssistantMessage, ToolResult};

use super::call::to_json;
use crate::error::RpcError;
use crate::session::Session;

/// `{"step", "message", "format"?, "usage"?}`
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MessageParams {
    step: String,
    message: Value,
    #[serde(default)]
    format: AnswerFormat,
    #[serde(default)]
    usage: bool,
}

/// The format of the answers to the model.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum AnswerFormat {
    #[default]
    Openai,
    Anthropic,
    AiSdk,
    Mcp,
}

impl AnswerFormat {
    fn answer(self, result: &ToolResult) -> Value {
        match self {
            Self::Openai => result.to_openai(),
            Self::Anthropic => result.to_anthropic(),
            Self::AiSdk => result.to_ai_sdk(),
            Self::Mcp => result.to_mcp(),
        }
    }
}

/// Executes the calls of a message: `{"results", "answers"}`, both in the order of the calls.
pub(super) async fn execute(session: &Session, params: MessageParams) -> Result<Value, RpcError> {
    let message = AssistantMessage::parse(params.message);
    let message = message.map_err(|error| RpcError::params(error.to_string()))?;
    let step = session.turns.step(&params.step)?;
    let results = step.execute_all(&message).await;
    let (format, usage) = (params.format, params.usage);
    let answers: Vec<_> = results.iter().map(|result| format.answer(result)).collect();
    let results: Vec<_> = results
        .iter()
        .map(|result| to_json(result, usage))
        .collect();
    Ok(json!({"results": results, "answers": answers}))
}
