//! Calls that wait for consent, in a process that may be killed at any time: `{"op": "hold", "calls": [{id, tool, args,
//! submit?, handle?, decides?}], "agents"?: {state, log}}`.
//!
//! The calls run at once: each is made, unless it has a `handle` already, and polled until it has ended. `decides` is
//! `approve` or `deny`: what shows the id of the call in what it waits for is decided about. Each step is printed before it
//! is done, if it may have an effect, and after it otherwise: `{id, did, …}`.
//!
//! `agents`: an orchestrator in that state root has the agent `sink`, which adds the id and the input of each event to a log.

use std::error::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use serde::Deserialize;
use serde_json::{Value, json};
use toolhost::agents::{
    AgentEvent, AgentRuntime, AgentSetup, HandlerError, Orchestrator, OrchestratorConfig, TurnPort,
    async_trait,
};
use toolhost::{
    AssistantMessage, Host, Instance, ResourceName, Step, ToolResult, ToolStatus, TurnStart,
};
use toolhost_tests::test_host::tool_call_of;

use crate::host_process::print;

#[derive(Deserialize)]
struct Calls {
    calls: Vec<HeldCall>,
    agents: Option<Agents>,
}

#[derive(Deserialize)]
struct Agents {
    state: PathBuf,
    log: PathBuf,
}

#[derive(Deserialize)]
struct HeldCall {
    id: String,
    tool: String,
    args: Value,
    #[serde(default)]
    submit: bool,
    handle: Option<String>,
    decides: Option<String>,
}

/// Adds each event to its log.
struct Sink(PathBuf);

#[async_trait]
impl AgentRuntime for Sink {
    async fn on_event(&self, event: AgentEvent, _: &TurnPort) -> Result<Value, HandlerError> {
        let input = event.input.unwrap_or_default();
        let log = OpenOptions::new().create(true).append(true).open(&self.0);
        let written =
            log.and_then(|mut log| log.write_all(format!("{} {input}\n", event.id).as_bytes()));
        written.map_err(|error| HandlerError::new(error.to_string()))?;
        Ok(input)
    }
}

pub(crate) async fn run(
    host: &Host,
    instance: Instance,
    command: &Value,
) -> Result<(), Box<dyn Error>> {
    let Calls { calls, agents } = Calls::deserialize(command)?;
    let mut start = TurnStart::new("turn-1");
    let orchestrator = match &agents {
        Some(agents) => Some(open(&agents.state, agents.log.clone()).await?),
        None => None,
    };
    if let Some(orchestrator) = &orchestrator {
        start = start.with_agents(orchestrator.client("caller", "instance", None));
    }
    // As a server does: what processes left that ended is removed.
    let _completions = host.completions().await?;
    let turn = instance.open_turn(start).await?;
    let step = turn.open_step().await?;
    print(&json!({"did": "begun"}))?;
    let lanes = calls.iter().map(|call| lane(host, &instance, &step, call));
    try_join_all(lanes).await?;
    Ok(())
}

pub(crate) async fn decide(host: &Host, command: &Value) -> Result<Value, Box<dyn Error>> {
    let id = command
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let times = command
        .get("times")
        .and_then(Value::as_u64)
        .unwrap_or_default();
    let decisions = (0..times).map(async |number| {
        let (approvals, by) = (host.approvals(), format!("there {number}"));
        let decided = if number % 2 == 0 {
            approvals.approve(id, &by, None).await
        } else {
            approvals.deny(id, &by, None).await
        };
        (by, decided.map_err(|error| error.to_string()).err())
    });
    Ok(json!(join_all(decisions).await))
}

async fn open(state: &Path, log: PathBuf) -> Result<Orchestrator, Box<dyn Error>> {
    let orchestrator = Orchestrator::open(state, OrchestratorConfig::default()).await?;
    let setup = AgentSetup::in_process(move |_| Arc::new(Sink(log.clone())));
    orchestrator
        .register(&ResourceName::parse("sink")?, setup)
        .await?;
    Ok(orchestrator)
}

async fn lane(
    host: &Host,
    instance: &Instance,
    step: &Step,
    held: &HeldCall,
) -> Result<(), Box<dyn Error>> {
    let HeldCall { id, handle, .. } = held;
    let did = |what: &str, more: Value| print(&json!({"id": id, "did": what, "more": more}));
    let ended = |result: &ToolResult| {
        let code = result.tool_error().map(|error| error.code.as_str());
        did("ended", json!(code.unwrap_or("ok")))
    };
    let handle = match handle {
        Some(handle) => handle.clone(),
        None => {
            did("calls", Value::Null)?;
            let call = tool_call_of(id, &held.tool, held.args.clone());
            let result = if held.submit {
                let message = AssistantMessage::for_call(&call);
                step.submit(call, &message).await
            } else {
                step.execute_without_message(call).await
            };
            let Some(handle) = result.handle() else {
                return Ok(ended(&result)?);
            };
            did("waits", json!(handle))?;
            handle.to_owned()
        }
    };
    let mut is_polled = false;
    loop {
        if let Some(decision) = &held.decides {
            for one in host.approvals().waiting().await? {
                if one.what.to_string().contains(id.as_str()) {
                    did("decides", json!(decision))?;
                    // Another one may have decided.
                    let decided = if decision == "approve" {
                        host.approvals().approve(&one.id, "alice", None).await
                    } else {
                        host.approvals().deny(&one.id, "alice", None).await
                    };
                    did(
                        "decided",
                        json!(decided.map_err(|error| error.to_string()).err()),
                    )?;
                }
            }
        }
        let result = instance.poll(&handle).await;
        if result.status() != ToolStatus::Pending {
            return Ok(ended(&result)?);
        }
        if held.decides.is_none() && result.awaits_approval().is_some() {
            return Ok(did("left", Value::Null)?);
        }
        if !std::mem::replace(&mut is_polled, true) {
            did("polled", Value::Null)?;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
