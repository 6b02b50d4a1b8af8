//! An agent that runs a script.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use toolhost::agents::{AgentRuntime, TurnPort};
use toolhost::{Agent, Instance, LoadedBundle, Step, Turn, TurnStart};
use toolhost_contract::{
    AgentEvent, AssistantMessage, HandlerError, JsonObject, ToolCall, ToolResult, ToolStatus,
};

use super::reference::{KEPT_MAX, References, memory_of};
use super::{AgentScript, ScriptedCall};

/// Time between two polls of a pending call.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An agent instance whose model is a script. Each event is one turn.
#[derive(Debug)]
pub struct ScriptedAgent {
    bundle: LoadedBundle,
    agent: Agent,
    key: String,
    script: Arc<AgentScript>,
}

/// A call of a step, with its references resolved.
struct ResolvedCall {
    name: String,
    call: ScriptedCall,
    args: JsonObject,
    id: String,
}

impl ScriptedAgent {
    /// Makes an agent that works in the workspace of the instance `key`. All agents of the bundle with the
    /// same key share the workspace.
    pub fn new(
        bundle: LoadedBundle,
        agent: Agent,
        key: impl Into<String>,
        script: Arc<AgentScript>,
    ) -> Self {
        Self {
            bundle,
            agent,
            key: key.into(),
            script,
        }
    }

    async fn steps(&self, instance: &Instance, turn: &Turn) -> Result<Value, HandlerError> {
        let mut values = JsonObject::new();
        values.insert("input".to_owned(), turn.input().clone());
        let mut last = JsonObject::new();
        let mut bytes = 0_usize;
        for calls in &self.script.steps {
            let step = turn.open_step().await?;
            values.insert("responses".to_owned(), json!(step.responses()));
            let mut references = References::new(&values);
            let calls = calls.iter();
            let calls = calls.map(|(name, call)| resolve_call(&step, name, call, &mut references));
            let calls = match calls.collect::<Result<Vec<_>, _>>() {
                Ok(calls) => calls,
                Err(error) => return Err(fail(step, error).await),
            };
            last = run_step(instance, step, calls).await?;
            bytes = last
                .values()
                .map(memory_of)
                .fold(bytes, usize::saturating_add);
            if bytes > KEPT_MAX {
                let most = KEPT_MAX >> 20;
                let message =
                    format!("the results of the script's calls hold more than {most} MiB");
                return Err(HandlerError::new(message));
            }
            values.extend(last.clone());
        }
        if !turn.required_tools_satisfied() {
            let names = turn.required_tools().iter().map(|name| name.as_str());
            let names = names.collect::<Vec<_>>().join(", ");
            let message = format!("the turn may not end: none of {names} has succeeded");
            return Err(HandlerError::new(message));
        }
        match &self.script.answer {
            Some(answer) => Ok(References::new(&values).resolve(answer)?),
            None => Ok(Value::Object(last)),
        }
    }
}

#[async_trait]
impl AgentRuntime for ScriptedAgent {
    async fn on_event(&self, event: AgentEvent, port: &TurnPort) -> Result<Value, HandlerError> {
        let mut start = TurnStart::new(event.id)
            .with_input(event.input.unwrap_or_default())
            .with_agents(port.agents().clone());
        if let Some(trace) = event.trace_id {
            start = start.with_trace_id(trace);
        }
        let workdir = self.bundle.instance_workspace(&self.key);
        let workdir = workdir.map_err(|error| {
            // The path is for the operator, not for the agent that sent the event.
            let cause = error.source().map(ToString::to_string);
            tracing::error!(target: "toolhost::agents", agent = self.agent.name(), cause, "{error}");
            HandlerError::new("the workspace cannot be opened")
        })?;
        let instance = self.agent.instance(self.key.as_str(), workdir);
        let turn = instance.open_turn(start).await?;
        let end = self.steps(&instance, &turn).await;
        let answer = match end {
            Ok(answer) => turn.close(answer).await,
            Err(error) => turn.fail(error).await,
        };
        Ok(answer?)
    }
}

/// Makes the calls of a step at the same time, and closes the step.
async fn run_step(
    instance: &Instance,
    step: Step,
    calls: Vec<ResolvedCall>,
) -> Result<JsonObject, HandlerError> {
    let message = match AssistantMessage::parse(message(&calls)) {
        Ok(message) => message,
        Err(error) => return Err(fail(step, error.into()).await),
    };
    let step = Arc::new(step);
    let mut running = JoinSet::new();
    for (order, one) in calls.into_iter().enumerate() {
        let (step, instance, message) = (Arc::clone(&step), instance.clone(), message.clone());
        let name = one.name.clone();
        running.spawn(async move { (order, name, run(&step, &instance, &message, one).await) });
    }
    let mut results = BTreeMap::new();
    let mut failed = None;
    while let Some(call_end) = running.join_next().await {
        match call_end {
            Ok((order, name, Ok(result))) => {
                results.insert(order, (name, json!(result)));
            }
            Ok((_, _, Err(error))) => failed = Some(error),
            Err(panic) => failed = Some(HandlerError::from(panic)),
        }
    }
    let Some(step) = Arc::into_inner(step) else {
        return Err(HandlerError::new("a call of the step is still running"));
    };
    if let Some(error) = failed {
        return Err(fail(step, error).await);
    }
    let results: JsonObject = results.into_values().collect();
    step.close(Value::Object(results.clone())).await?;
    Ok(results)
}

/// Fails a step with an error, and returns the error.
async fn fail(step: Step, error: HandlerError) -> HandlerError {
    step.fail(error.clone()).await.ok();
    error
}

fn resolve_call(
    step: &Step,
    name: &str,
    call: &ScriptedCall,
    references: &mut References<'_>,
) -> Result<ResolvedCall, HandlerError> {
    let mut handle = |handle: &Option<String>| {
        let value = handle.as_deref();
        let value = value.map(|text| references.resolve(&text.into()));
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        Ok::<_, HandlerError>(value.transpose()?.map(text))
    };
    let (poll, cancel) = (handle(&call.poll)?, handle(&call.cancel)?);
    Ok(ResolvedCall {
        name: name.to_owned(),
        args: references.resolve_object(&call.args)?,
        id: format!("{}-{name}", step.id()),
        call: ScriptedCall {
            poll,
            cancel,
            // They are resolved above.
            args: JsonObject::new(),
            ..call.clone()
        },
    })
}

/// The assistant message that a model would have sent for the calls of a step.
fn message(calls: &[ResolvedCall]) -> Value {
    let part = |one: &ResolvedCall| {
        let tool = one.call.tool.as_ref()?;
        Some(json!({
            "type": "tool-call", "toolCallId": one.id, "toolName": tool, "input": one.args,
        }))
    };
    let parts: Vec<Value> = calls.iter().filter_map(part).collect();
    json!({"role": "assistant", "content": parts})
}

async fn run(
    step: &Step,
    instance: &Instance,
    message: &AssistantMessage,
    call: ResolvedCall,
) -> Result<ToolResult, HandlerError> {
    let ResolvedCall {
        name,
        call,
        args,
        id,
    } = call;
    let result = match (&call.tool, &call.poll, &call.cancel) {
        (Some(tool), _, _) => {
            let message = message.clone().with_call(&id)?;
            let tool_call = ToolCall::new(id, tool, args);
            if call.background {
                step.submit(tool_call, &message).await
            } else {
                step.execute(tool_call, &message).await
            }
        }
        (None, Some(handle), _) => poll(instance, handle).await,
        (None, None, Some(handle)) => instance.cancel(handle).await,
        (None, None, None) => return Err(HandlerError::new(format!("'{name}' has no action"))),
    };
    let default = if call.background { "pending" } else { "ok" };
    let expected = call.expect.as_deref().unwrap_or(default);
    if is_expected(&result, expected) {
        return Ok(result);
    }
    let text = result.to_text();
    let message = format!("'{name}' should be {expected}, but: {text}");
    Err(HandlerError::new(message))
}

/// Polls a pending call until it has ended.
async fn poll(instance: &Instance, handle: &str) -> ToolResult {
    loop {
        let result = instance.poll(handle).await;
        if result.status() != ToolStatus::Pending {
            return result;
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether a result has this status, or an error with this code.
fn is_expected(result: &ToolResult, expected: &str) -> bool {
    let code = result.tool_error().map(|error| error.code.as_str());
    result.status().as_str() == expected || code == Some(expected)
}
