//! toolhost in an agent runtime: load a bundle once, open a step, execute what the model asks for.
//!
//! `cargo xtask guests`, then `cargo run -p toolhost --example embed`.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use serde_json::json;
use toolhost::{AssistantMessage, CallContext, Host, ToolCall};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Once per process.
    let host = Host::builder().build()?;
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-examples");
    let bundle = host.load(examples).await?;
    let agent = bundle.agent("coder")?;

    // Once per step: the model is shown the catalog, and answers with a message.
    let step = agent.open_step();
    println!("{} tools", step.catalog().items().len());
    let message = json!({
        "role": "assistant",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {
            "name": "text__upper", "arguments": "{\"text\":\"hello\"}",
        }}],
    });

    // Once per tool call: the answer is a ToolResult, whatever happens.
    let workdir = tempfile::tempdir()?;
    let call: ToolCall = serde_json::from_value(json!({
        "id": "call_1", "name": "text__upper", "args": {"text": "hello"},
    }))?;
    let message = AssistantMessage::parse(message, &call.id)?;
    let context = CallContext::new("user-1", "turn-1", message, host.workdir(workdir.path())?);
    let result = step.execute(call, &context).await;
    println!("{}", serde_json::to_string_pretty(&result)?);
    println!("{} µs in the guest", result.usage().wall.as_micros());
    Ok(())
}
