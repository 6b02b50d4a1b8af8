//! An agent runtime: a loop around a model behind OpenAI's API for chat completions.
//!
//! ```sh
//! cargo xtask guests
//! export OPENAI_API_KEY=…   # not needed for a server of your own
//! cargo run -p toolhost --example agent -- \
//!     guest-examples/base https://api.openai.com/v1 gpt-5-mini "Wait 3 seconds, and tell me the time"
//! ```
//!
//! It prints the answer while the model writes it, and runs the calls of a message at the same time. Calls of
//! [`BACKGROUND`] tools run in the background: the model gets a handle at once, and the result when it is
//! there. Ctrl-C cancels the turn, and so does the end of its budget. The workdir is the current directory.
//!
//! With `--code-mode` first, the model sees the tools that run programs and `tools__search`, and its programs may call all
//! other tools. The bundle needs the Tool of `guest-examples/typescript/javascript` or `guest-examples/python/python`.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a program for the terminal, which reads a key from the environment"
)]

#[path = "agent/model.rs"]
mod model;

use std::error::Error;
use std::time::Duration;

use futures_util::future::join_all;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::json;
use toolhost::{
    AssistantMessage, CancellationToken, Host, Instance, Policy, ResourceName, ScriptLanguage,
    Step, ToolCall, ToolResult, ToolStatus, TurnStart, search::ToolExposure, tool::ToolPattern,
};

use model::Model;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Tools whose calls run in the background, by the beginning of their names.
const BACKGROUND: &str = "wait__";

/// The budget of a turn.
const STEPS: usize = 20;
const TOKENS: u64 = 200_000;
const TIME: Duration = Duration::from_secs(300);

async fn run(step: &Step, call: &ToolCall, message: &AssistantMessage) -> ToolResult {
    let result = if call.name.starts_with(BACKGROUND) {
        step.submit(call.clone(), message).await
    } else {
        step.execute(call.clone(), message).await
    };
    eprintln!("[{} {}]", call.name, result.to_text());
    result
}

/// Waits for the result of a pending call.
async fn ended(instance: &Instance, handle: String) -> ToolResult {
    loop {
        let result = instance.poll(&handle).await;
        if result.status() != ToolStatus::Pending {
            return result;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Returns a policy by which programs may call all tools.
fn programs_call_tools() -> Result<Policy> {
    let mut policy = Policy::default();
    for language in [ScriptLanguage::JavaScript, ScriptLanguage::Python] {
        let tool = ResourceName::parse(language.tool())?;
        policy = policy.allow_tools(tool, vec![ToolPattern::any()]);
    }
    Ok(policy)
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut exposure = ToolExposure::Direct;
    if arguments
        .first()
        .is_some_and(|first| first == "--code-mode")
    {
        arguments.remove(0);
        exposure = ToolExposure::Script;
    }
    let Ok([bundle, url, model, prompt]) = <[String; 4]>::try_from(arguments) else {
        return Err("usage: agent [--code-mode] BUNDLE URL MODEL PROMPT".into());
    };
    let mut builder = Host::builder();
    if exposure == ToolExposure::Script {
        builder = builder.policy(programs_call_tools()?);
    }
    let host = builder.build()?;
    let agent = host.load(&bundle).await?.only_agent()?;
    if exposure == ToolExposure::Script {
        if !agent.catalog().runs_programs() {
            return Err("the agent has no tool that runs programs".into());
        }
        agent.extend("tools", toolhost::catalog_tools)?;
    }
    let key = std::env::var("OPENAI_API_KEY").ok();
    let model = Model::new(&host, &url, model, key)?;
    let instance = agent.instance("user-1", host.workdir(".")?);

    let stop = CancellationToken::new();
    let stopped = stop.clone();
    tokio::spawn(async move {
        let _guard = stop.drop_guard();
        tokio::time::timeout(TIME, tokio::signal::ctrl_c()).await
    });
    let start = TurnStart::new("turn-1")
        .with_cancellation(stopped.clone())
        .with_exposure(exposure);
    let turn = instance.open_turn(start).await?;
    let mut messages = vec![json!({"role": "user", "content": prompt})];
    let (mut tokens, mut pending) = (0, FuturesUnordered::new());
    for _ in 0..STEPS {
        let step = turn.open_step().await?;
        let tools = step.exposed().to_openai();
        let (message, used) = tokio::select! {
            answered = model.complete(&messages, tools) => answered?,
            () = stopped.cancelled() => break,
        };
        let calls = message.tool_calls();
        let results = join_all(
            calls
                .iter()
                .map(|call| Box::pin(run(&step, call, &message))),
        )
        .await;
        step.close(()).await?;
        messages.push(message.to_value());
        messages.extend(results.iter().map(ToolResult::to_openai));
        let handles = results.iter().filter_map(ToolResult::handle);
        pending.extend(handles.map(|handle| ended(&instance, handle.to_owned())));

        tokens += used;
        if stopped.is_cancelled() || tokens > TOKENS || (results.is_empty() && pending.is_empty()) {
            break;
        }
        // The model has nothing else to do until a result is there.
        if results.is_empty()
            && let Some(result) = pending.next().await
        {
            let text = format!(
                "The result of {}: {}",
                result.tool_call_id(),
                result.to_text()
            );
            messages.push(json!({"role": "user", "content": text}));
        }
    }
    turn.close(json!({"tokens": tokens})).await?;
    Ok(())
}
