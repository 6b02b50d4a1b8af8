//! toolhost in an agent runtime: load a bundle once, open a step, execute what the model asks for.
//!
//! `cargo xtask guests`, then `cargo run -p toolhost --example embed`.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use serde_json::json;
use toolhost::{AssistantMessage, Host};

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

    // Once per step: the model gets the catalog, and answers with a message.
    let step = turn.open_step().await?;
    println!("{} tools", step.catalog().items().len());
    let message = AssistantMessage::parse(json!({
        "role": "assistant",
        "tool_calls": [{"id": "call_1", "type": "function", "function": {
            "name": "text__upper", "arguments": "{\"text\":\"hello\"}",
        }}],
    }))?;

    // A result for each call, whatever happens, and its message for the model.
    for result in step.execute_all(&message).await {
        println!("{}", result.to_openai());
        println!("{} µs in the guest", result.usage().wall.as_micros());
    }

    step.close(json!({"calls": 1})).await?;
    turn.close("done").await?;
    Ok(())
}
