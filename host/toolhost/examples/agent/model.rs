//! A model behind OpenAI's API for chat completions, whose message arrives in pieces.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use serde::Deserialize;
use serde_json::{Value, json};
use sse_stream::SseStream;
use toolhost::{
    AssistantMessage, Host,
    http::{HttpClient, HttpCredential, HttpGrant, HttpOrigin, HttpRule},
    sandbox::Limits,
};

use crate::Result;

/// A model behind `URL/chat/completions`.
pub(crate) struct Model {
    client: HttpClient,
    url: String,
    name: String,
}

impl Model {
    /// The host's client reaches this one path. It adds the key to the requests, and nothing else gets it.
    pub(crate) fn new(host: &Host, base: &str, name: String, key: Option<String>) -> Result<Self> {
        let url = format!("{}/chat/completions", base.trim_end_matches('/'));
        let path = base.match_indices('/').nth(2).map_or(base.len(), |at| at.0);
        let origin = HttpOrigin::parse(base.get(..path).unwrap_or_default())?.to_string();
        let credential =
            key.map(|key| HttpCredential::new(&origin, "authorization", "Bearer ", &key));
        let grant = HttpGrant {
            allow: [HttpRule::parse(&format!("POST {url}"))?].into(),
            credentials: credential.transpose()?.into_iter().collect(),
            ..HttpGrant::default()
        };
        let client = host
            .sandbox()
            .egress()
            .client("model", Arc::new(grant), Limits::default());
        Ok(Self { client, url, name })
    }

    /// Asks for the next message, and prints its text as it arrives. Returns it with the tokens used.
    pub(crate) async fn complete(
        &self,
        messages: &[Value],
        tools: Value,
    ) -> Result<(AssistantMessage, u64)> {
        let body = json!({
            "model": self.name, "messages": messages, "tools": tools,
            "stream": true, "stream_options": {"include_usage": true},
        });
        let request = http::Request::post(&self.url).header("content-type", "application/json");
        let request = request.body(Bytes::from(body.to_string()))?;
        let response = self.client.send(request).await?;
        if !response.status().is_success() {
            return Err(format!("{}: {}", self.url, response.status()).into());
        }
        let (mut text, mut tokens) = (String::new(), 0);
        let mut calls: Vec<PartialCall> = Vec::new();
        let mut events = SseStream::new(response.into_body());
        while let Some(event) = events.next().await {
            let data = event?.data.unwrap_or_default();
            if data == "[DONE]" {
                break;
            }
            let chunk: Chunk = serde_json::from_str(&data)?;
            tokens = chunk.usage.map_or(tokens, |usage| usage.total_tokens);
            for Choice { delta } in chunk.choices {
                let piece = delta.content.unwrap_or_default();
                print!("{piece}");
                std::io::stdout().flush()?;
                text.push_str(&piece);
                for piece in delta.tool_calls.unwrap_or_default() {
                    PartialCall::add(&mut calls, piece);
                }
            }
        }
        println!();
        let message = match &*calls {
            [] => json!({"role": "assistant", "content": text}),
            _ => {
                let calls: Vec<_> = calls.iter().map(PartialCall::to_value).collect();
                json!({"role": "assistant", "content": text, "tool_calls": calls})
            }
        };
        Ok((AssistantMessage::parse(message)?, tokens))
    }
}

/// A piece of the answer.
#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<TokenUsage>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<CallPiece>>,
}

#[derive(Deserialize)]
struct CallPiece {
    index: usize,
    id: Option<String>,
    #[serde(default)]
    function: FunctionPiece,
}

#[derive(Default, Deserialize)]
struct FunctionPiece {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Deserialize)]
struct TokenUsage {
    total_tokens: u64,
}

/// A tool call, of which the pieces arrive one after another.
#[derive(Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl PartialCall {
    fn add(calls: &mut Vec<Self>, piece: CallPiece) {
        if piece.index == calls.len() {
            calls.push(Self::default());
        }
        if let Some(call) = calls.get_mut(piece.index) {
            call.id += &piece.id.unwrap_or_default();
            call.name += &piece.function.name.unwrap_or_default();
            call.arguments += &piece.function.arguments.unwrap_or_default();
        }
    }

    fn to_value(&self) -> Value {
        let function = json!({"name": self.name, "arguments": self.arguments});
        json!({"id": self.id, "type": "function", "function": function})
    }
}
