//! toolhost in an agent runtime: load a bundle once, open a step, execute what the model asks for.
//!
//! `cargo xtask guests`, then `cargo run -p toolhost --example embed`.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use serde_json::json;
use toolhost::{AssistantMessage, Host, ToolCall};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Once per process.
    let host = Host::builder().build()?;
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-examples");
    let bundle = host.load(examples).await?;
    let agent = bundle.agent("coder")?;

    // Once per turn; the workdir is the guests' whole filesystem.
    let workdir = tempfile::tempdir()?;
    let instance = agent.instance("user-1", host.workdir(workdir.path())?);
    let turn = instance.open_turn("turn-1").await?;

    // Once per step: the model is shown the catalog, and answers with a message.
    let step = turn.open_step().await?;
    println!("{} tools", step.catalog().items().len());
    let message = json!({
        "role": "assistant",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {
            "name": "text__upper", "arguments": "{\"text\":\"hello\"}",
        }}],
    });

    // Once per tool call: the answer is a ToolResult, whatever happens.
    let call: ToolCall = serde_json::from_value(json!({
        "id": "call_1", "name": "text__upper", "args": {"text": "hello"},
    }))?;
    let message = AssistantMessage::parse(message, &call.id)?;
    let result = step.execute(call, &message).await;
    println!("{}", serde_json::to_string_pretty(&result)?);
    println!("{} µs in the guest", result.usage().wall.as_micros());

    step.close(json!({"calls": 1})).await?;
    turn.close("done").await?;
    Ok(())
}
