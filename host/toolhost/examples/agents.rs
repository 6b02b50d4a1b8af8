//! Two agents that talk: each turn of `writer` asks `reviewer` with the `agents` tool.
//!
//! `cargo xtask guests`, then `cargo run -p toolhost --example agents`.
#![expect(clippy::print_stdout, reason = "an example for the terminal")]

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolhost::agents::{
    AgentEvent, AgentRuntime, AgentSetup, HandlerError, Orchestrator, OrchestratorConfig, Request,
    TurnPort,
};
use toolhost::{Agent, Host, ToolCall, TurnStart, Workdir, agents_tool};

/// An instance of an agent. Here stands your loop around a model; this one makes a single call.
struct Writer {
    agent: Agent,
    key: String,
    workdir: Workdir,
}

#[async_trait]
impl AgentRuntime for Writer {
    async fn on_event(&self, event: AgentEvent, port: &TurnPort) -> Result<Value, HandlerError> {
        let instance = self.agent.instance(self.key.as_str(), self.workdir.clone());
        // The turn speaks for this instance, and its trace goes with its requests.
        let start = TurnStart::new(event.id).with_agents(port.agents().clone());
        let turn = instance.open_turn(start).await?;
        let step = turn.open_step().await?;
        let args = json!({"target": "reviewer", "input": {"draft": event.input}});
        let args = args.as_object().cloned().unwrap_or_default();
        let call = ToolCall::new("call_1", "agents__request", args);
        let result = step.execute_without_message(call).await;
        step.close(()).await?;
        Ok(turn.close(json!(result)).await?)
    }
}

/// An agent needs no tools at all.
struct Reviewer;

#[async_trait]
impl AgentRuntime for Reviewer {
    async fn on_event(&self, event: AgentEvent, _: &TurnPort) -> Result<Value, HandlerError> {
        Ok(json!({"read": event.input, "verdict": "good"}))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let host = Host::builder().build()?;
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../guest-examples");
    let agent = host.load(examples).await?.agent("coder")?;
    agent.extend("agents", agents_tool)?;
    let folder = tempfile::tempdir()?;
    let workdir = host.workdir(folder.path())?;

    let orchestrator = Orchestrator::in_memory(OrchestratorConfig::default()).await?;
    let writer = AgentSetup::in_process(move |id| {
        Arc::new(Writer {
            agent: agent.clone(),
            key: id.key().to_owned(),
            workdir: workdir.clone(),
        })
    });
    orchestrator.register(&"writer".parse()?, writer).await?;
    let reviewer = AgentSetup::in_process(|_| Arc::new(Reviewer));
    orchestrator
        .register(&"reviewer".parse()?, reviewer)
        .await?;

    // What your runtime does when a user says something.
    let user = orchestrator.client("user", "user-1", None);
    let done = user
        .request(Request::new("writer", json!("On otters")))
        .await?;
    println!("{:#}", done.response);
    orchestrator
        .shutdown(std::time::Duration::from_secs(5))
        .await;
    Ok(())
}
