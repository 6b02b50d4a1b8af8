//! Calls other agents. Input `{do, target?, input?, …}`, where `do` names a function of `agents`
//! and the rest are its options in camel case.
//!
//! `text` is passed as the input unchanged, `bytes` passes a JSON string of that many bytes, and
//! `metadata` is passed as its JSON. Output `{ok: the answer}` or `{error: its fields}`.

use serde_json::{Value, json};

wit_bindgen::generate!({ path: "../../../wit", world: "agent-tool", generate_all });

use exports::goondan::tool::handlers::Guest;
use goondan::tool::agents::{self, RequestOptions, SendOptions};
use goondan::tool::types::{ExportSpec, Outcome, ToolContext, ToolError};

struct AskAgents;
export!(AskAgents);

impl Guest for AskAgents {
    fn describe() -> Vec<ExportSpec> {
        vec![ExportSpec {
            name: "run".into(),
            description: None,
            parameters: None,
        }]
    }

    fn call(_: String, _: ToolContext, input: String) -> Result<Outcome, ToolError> {
        let options: Value = serde_json::from_str(&input).unwrap_or_default();
        let answer = match options["do"].as_str() {
            Some("request") => request(&options),
            Some("send") => send(&options),
            Some("spawn") => spawn(&options),
            Some("list") => list(),
            Some("catalog") => catalog(),
            _ => Ok(json!("no request")),
        };
        let output = match answer {
            Ok(answer) => json!({ "ok": answer }),
            Err(error) => json!({ "error": {
                "message": error.message,
                "name": error.name,
                "code": error.code,
                "suggestion": error.suggestion,
                "helpUrl": error.help_url,
            } }),
        };
        Ok(Outcome::Output(output.to_string()))
    }
}

fn request(options: &Value) -> Result<Value, ToolError> {
    let answer = agents::request(&RequestOptions {
        target: text(options, "target").unwrap_or_default(),
        input: input(options),
        instance_key: text(options, "instanceKey"),
        event_type: text(options, "eventType"),
        timeout_ms: options["timeoutMs"].as_u64().map(|ms| ms as u32),
        async_: options["async"].as_bool(),
        metadata: options.get("metadata").map(Value::to_string),
    })?;
    Ok(json!({
        "target": answer.target,
        "eventId": answer.event_id,
        "correlationId": answer.correlation_id,
        "accepted": answer.accepted,
        "async": answer.async_,
        "response": answer.response.map(|json| parsed(&json)),
    }))
}

fn send(options: &Value) -> Result<Value, ToolError> {
    let receipt = agents::send(&SendOptions {
        target: text(options, "target").unwrap_or_default(),
        input: input(options),
        instance_key: text(options, "instanceKey"),
        event_type: text(options, "eventType"),
        metadata: options.get("metadata").map(Value::to_string),
    })?;
    Ok(json!({
        "target": receipt.target,
        "eventId": receipt.event_id,
        "accepted": receipt.accepted,
    }))
}

fn spawn(options: &Value) -> Result<Value, ToolError> {
    let target = text(options, "target").unwrap_or_default();
    let key = text(options, "instanceKey");
    let instance = agents::spawn(&target, key.as_deref())?;
    Ok(json!({
        "target": instance.target,
        "instanceKey": instance.instance_key,
        "spawned": instance.spawned,
    }))
}

fn list() -> Result<Value, ToolError> {
    agents::list().map(|json| parsed(&json))
}

fn catalog() -> Result<Value, ToolError> {
    let agents = agents::catalog()?;
    let agents = agents
        .into_iter()
        .map(|agent| json!({"name": agent.name, "description": agent.description}));
    Ok(agents.collect())
}

fn text(options: &Value, key: &str) -> Option<String> {
    options[key].as_str().map(str::to_owned)
}

fn input(options: &Value) -> String {
    if let Some(text) = text(options, "text") {
        return text;
    }
    match options["bytes"].as_u64() {
        Some(bytes) => format!("\"{}\"", "x".repeat(bytes as usize - 2)),
        None => options["input"].to_string(),
    }
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap_or_default()
}
