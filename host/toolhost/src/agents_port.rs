//! Connects a component's calls to other agents with the orchestrator, if the policy grants it.

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_agents::{AgentsClient, AgentsError, Message, Mode, Request};
use toolhost_contract::{HandlerCode, HandlerError, JsonObject, Redactor, ToolErrorCode};
use toolhost_sandbox::{
    AgentEntry, AgentInstance, AgentReceipt, AgentRequest, AgentResponse, AgentSend, AgentSpawn,
    AgentsFuture, AgentsPort,
};

/// The port for the calls of one turn. Without a client, every operation fails.
#[derive(Debug)]
struct TurnAgentsPort {
    agents: Option<AgentsClient>,
    /// Removes the secrets of the policy from what is sent.
    redactor: Redactor,
}

/// Creates the port of a call.
pub(crate) fn port(agents: Option<&AgentsClient>, redactor: &Redactor) -> Arc<dyn AgentsPort> {
    Arc::new(TurnAgentsPort {
        agents: agents.cloned(),
        redactor: redactor.clone(),
    })
}

impl TurnAgentsPort {
    fn run<T, F>(
        &self,
        operation: impl FnOnce(AgentsClient) -> F + Send + 'static,
    ) -> AgentsFuture<T>
    where
        F: Future<Output = Result<T, AgentsError>> + Send + 'static,
    {
        let agents = self.agents.clone();
        Box::pin(async move {
            let agents = agents.ok_or_else(|| {
                let code = ToolErrorCode::IpcDeliveryFailed.as_str();
                HandlerError::new("this turn was opened without a client for other agents")
                    .with_code(code)
            })?;
            operation(agents).await.map_err(to_error)
        })
    }

    fn redact(&self, mut value: Value) -> Value {
        self.redactor.value(&mut value);
        value
    }

    fn redact_text(&self, text: Option<String>) -> Option<String> {
        text.map(|text| self.redactor.text(&text).into_owned())
    }

    fn redact_object(&self, object: Option<JsonObject>) -> Option<JsonObject> {
        match self.redact(Value::Object(object?)) {
            Value::Object(object) => Some(object),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => None,
        }
    }
}

/// Converts to an error for the guest. Keeps the target's code, unless it is reserved for the host.
fn to_error(error: AgentsError) -> HandlerError {
    let code = error.code().as_str().to_owned();
    match error.handler_error() {
        Some(tool_error) => {
            let own_code = tool_error
                .code
                .clone()
                .filter(|code| HandlerCode::parse(code).is_some());
            HandlerError {
                message: error.to_string(),
                code: own_code.or(Some(code)),
                ..tool_error.clone()
            }
        }
        None => HandlerError::new(error.to_string()).with_code(code),
    }
}

impl AgentsPort for TurnAgentsPort {
    fn request(&self, input: AgentRequest) -> AgentsFuture<AgentResponse> {
        let mut request = Request::new(input.target, self.redact(input.input));
        request.instance_key = self.redact_text(input.instance_key);
        request.metadata = self.redact_object(input.metadata);
        request.timeout = input.timeout;
        if let Some(event_type) = self.redact_text(input.event_type) {
            request.event_type = event_type;
        }
        if input.no_wait {
            request.mode = Mode::Async;
        }
        self.run(|agents| async move {
            let done = agents.request(request).await?;
            Ok(AgentResponse {
                target: done.target,
                event_id: done.event_id,
                correlation_id: done.correlation_id,
                accepted: done.accepted,
                no_wait: done.is_async,
                response: (!done.is_async).then_some(done.response),
            })
        })
    }

    fn send(&self, input: AgentSend) -> AgentsFuture<AgentReceipt> {
        let mut message = Message::new(input.target, self.redact(input.input));
        message.instance_key = self.redact_text(input.instance_key);
        message.metadata = self.redact_object(input.metadata);
        if let Some(event_type) = self.redact_text(input.event_type) {
            message.event_type = event_type;
        }
        self.run(|agents| async move {
            let done = agents.send(message).await?;
            Ok(AgentReceipt {
                target: done.target,
                event_id: done.event_id,
                accepted: done.accepted,
            })
        })
    }

    fn spawn(&self, input: AgentSpawn) -> AgentsFuture<AgentInstance> {
        let key = self.redact_text(input.instance_key);
        self.run(|agents| async move {
            let done = agents.spawn(&input.target, key.as_deref()).await?;
            Ok(AgentInstance {
                target: done.target,
                instance_key: done.instance_key,
                spawned: done.spawned,
            })
        })
    }

    fn list(&self) -> AgentsFuture<Value> {
        self.run(|agents| async move {
            let agents = agents.list().await?;
            Ok(json!({"count": agents.len(), "agents": agents}))
        })
    }

    fn catalog(&self) -> AgentsFuture<Vec<AgentEntry>> {
        self.run(|agents| async move {
            let agents = agents.catalog().await?;
            let entry = |agent: toolhost_agents::AgentInfo| AgentEntry {
                name: agent.name,
                description: agent.description,
            };
            Ok(agents.into_iter().map(entry).collect())
        })
    }
}
