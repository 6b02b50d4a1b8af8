//! Requests between agents: the orchestrator, the `agents` tool, components, processes.

mod component;
mod process;
mod script;
mod tool;

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolhost::agents::{
    AgentEvent, AgentRuntime, AgentSetup, AgentsClient, HandlerError, Orchestrator,
    OrchestratorConfig, Request, TurnPort,
};
use toolhost::{Agent, TurnStart};
use toolhost_tests::Work;
use toolhost_tests::test_host::tool_call_of;

/// An agent of a bundle that calls the tool that its event names, and answers with the ToolResult:
/// `{"tool", "args"}`. It answers any other event with the event's input.
struct Caller {
    agent: Agent,
    work: Arc<Work>,
    key: String,
}

#[async_trait]
impl AgentRuntime for Caller {
    async fn on_event(&self, event: AgentEvent, port: &TurnPort) -> Result<Value, HandlerError> {
        let input = event.input.unwrap_or_default();
        let Some(tool) = input["tool"].as_str() else {
            return Ok(input);
        };
        let mut start = TurnStart::new(event.id).with_agents(port.agents().clone());
        if let Some(trace) = event.trace_id {
            start = start.with_trace_id(trace);
        }
        let instance = self
            .agent
            .instance(self.key.as_str(), self.work.workdir.clone());
        let turn = instance.open_turn(start).await?;
        let step = turn.open_step().await?;
        let call = tool_call_of("call-1", tool, input["args"].clone());
        let result = step.execute_without_message(call).await;
        step.close(()).await?;
        turn.close(()).await?;
        Ok(json!(result))
    }
}

/// Returns an orchestrator with an agent of each name, all of which call tools of one bundle's agent.
async fn callers(agent: &Agent, names: &[&str]) -> Orchestrator {
    callers_of(OrchestratorConfig::default(), agent, names).await
}

async fn callers_of(config: OrchestratorConfig, agent: &Agent, names: &[&str]) -> Orchestrator {
    let orchestrator = Orchestrator::in_memory(config);
    let orchestrator = orchestrator.await.unwrap();
    for name in names {
        let (agent, work) = (agent.clone(), Arc::new(Work::new()));
        let setup = AgentSetup::in_process(move |id| {
            Arc::new(Caller {
                agent: agent.clone(),
                work: Arc::clone(&work),
                key: id.key().to_owned(),
            })
        });
        let name = toolhost::ResourceName::parse(name).unwrap();
        orchestrator.register(&name, setup).await.unwrap();
    }
    orchestrator
}

fn client(orchestrator: &Orchestrator) -> AgentsClient {
    orchestrator.client("runtime", "k", None)
}

/// Sends a request to an agent and returns the answer.
async fn ask(client: &AgentsClient, target: &str, input: Value) -> Value {
    client
        .request(Request::new(target, input))
        .await
        .unwrap()
        .response
}

fn call(tool: &str, args: Value) -> Value {
    json!({"tool": tool, "args": args})
}
