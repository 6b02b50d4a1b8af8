//! Connects a component's calls to other agents with the orchestrator, if the policy grants it.

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_agents::{
    AgentInfo, AgentsClient, AgentsError, Message, Request, Requested, Sent, Spawned,
};
use toolhost_contract::{HandlerCode, HandlerError, JsonObject, Redactor, ToolErrorCode};
use toolhost_sandbox::{AgentsFuture, AgentsPort};

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
    fn request(&self, mut request: Request) -> AgentsFuture<Requested> {
        request.input = self.redact(request.input);
        request.instance_key = self.redact_text(request.instance_key);
        request.metadata = self.redact_object(request.metadata);
        request.event_type = self.redactor.text(&request.event_type).into_owned();
        self.run(|agents| async move { agents.request(request).await })
    }

    fn send(&self, mut message: Message) -> AgentsFuture<Sent> {
        message.input = self.redact(message.input);
        message.instance_key = self.redact_text(message.instance_key);
        message.metadata = self.redact_object(message.metadata);
        message.event_type = self.redactor.text(&message.event_type).into_owned();
        self.run(|agents| async move { agents.send(message).await })
    }

    fn spawn(&self, target: String, instance_key: Option<String>) -> AgentsFuture<Spawned> {
        let key = self.redact_text(instance_key);
        self.run(|agents| async move { agents.spawn(&target, key.as_deref()).await })
    }

    fn list(&self) -> AgentsFuture<Value> {
        self.run(|agents| async move {
            let agents = agents.list().await?;
            Ok(json!({"count": agents.len(), "agents": agents}))
        })
    }

    fn catalog(&self) -> AgentsFuture<Vec<AgentInfo>> {
        self.run(|agents| async move { agents.catalog().await })
    }
}
