//! A model behind OpenAI's API for chat completions, whose message arrives in pieces.

use std::io::Write;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use serde_json::{Value, json};
use sse_stream::SseStream;
use toolhost::{
    AssistantMessage, Host, HttpClient, HttpCredential, HttpGrant, HttpOrigin, HttpRule, Limits,
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
    pub(crate) fn new(host: &Host, base: &str, name: String) -> Result<Self> {
        let url = format!("{}/chat/completions", base.trim_end_matches('/'));
        let path = base.match_indices('/').nth(2).map_or(base.len(), |at| at.0);
        let origin = HttpOrigin::parse(base.get(..path).unwrap_or_default())?.to_string();
        let key = std::env::var("OPENAI_API_KEY").ok();
        let credential =
            key.map(|key| HttpCredential::new(&origin, "authorization", "Bearer ", &key));
        let grant = HttpGrant {
            allow: [HttpRule::parse(&format!("POST {url}"))?].into(),
            credentials: credential.transpose()?.into_iter().collect(),
            ..HttpGrant::default()
        };
        let client = host
            .sandbox()
            .http_client("model", Arc::new(grant), Limits::default());
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
            let chunk: Value = serde_json::from_str(&data)?;
            tokens = chunk["usage"]["total_tokens"].as_u64().unwrap_or(tokens);
            let delta = &chunk["choices"][0]["delta"];
            let piece = delta["content"].as_str().unwrap_or_default();
            print!("{piece}");
            std::io::stdout().flush()?;
            text.push_str(piece);
            for part in delta["tool_calls"].as_array().into_iter().flatten() {
                PartialCall::add(&mut calls, part);
            }
        }
        println!();
        let mut message = json!({"role": "assistant", "content": text});
        if !calls.is_empty() {
            message["tool_calls"] = calls.iter().map(PartialCall::to_value).collect();
        }
        Ok((AssistantMessage::parse(message)?, tokens))
    }
}

/// A tool call, of which the pieces arrive one after another.
#[derive(Default)]
struct PartialCall {
    id: String,
    name: String,
    arguments: String,
}

impl PartialCall {
    fn add(calls: &mut Vec<Self>, part: &Value) {
        let index = part["index"].as_u64().unwrap_or_default();
        if index >= calls.len() as u64 {
            calls.push(Self::default());
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if let Some(call) = usize::try_from(index)
            .ok()
            .and_then(|index| calls.get_mut(index))
        {
            call.id += &text(&part["id"]);
            call.name += &text(&part["function"]["name"]);
            call.arguments += &text(&part["function"]["arguments"]);
        }
    }

    fn to_value(&self) -> Value {
        let function = json!({"name": self.name, "arguments": self.arguments});
        json!({"id": self.id, "type": "function", "function": function})
    }
}
