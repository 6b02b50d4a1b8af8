//! The way of a component to other agents, where the policy grants it.

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_contract::{HandlerCode, HandlerError, JsonObject, ToolErrorCode};
use toolhost_sandbox::{
    AgentEntry, AgentInstance, AgentReceipt, AgentRequest, AgentResponse, AgentSend, AgentSpawn,
    AgentsFuture, AgentsPort,
};

use crate::middleware::Redactor;
use toolhost_agents::{AgentsClient, AgentsError, Message, Mode, Request};

/// The agents of a turn, as a component's import reaches them; none where the turn has no way there.
#[derive(Debug)]
struct TurnsAgents {
    agents: Option<AgentsClient>,
    /// What a tool is given in secret is not for other agents.
    redactor: Redactor,
}

/// Makes the port of a call.
pub(crate) fn port(agents: Option<&AgentsClient>, redactor: &Redactor) -> Arc<dyn AgentsPort> {
    Arc::new(TurnsAgents {
        agents: agents.cloned(),
        redactor: redactor.clone(),
    })
}

impl TurnsAgents {
    fn agents(&self) -> Result<AgentsClient, HandlerError> {
        self.agents.clone().ok_or_else(|| {
            let code = ToolErrorCode::IpcDeliveryFailed.as_str();
            HandlerError::new("this turn was opened without a way to other agents").with_code(code)
        })
    }

    fn clean(&self, mut value: Value) -> Value {
        self.redactor.value(&mut value);
        value
    }

    fn clean_text(&self, text: Option<String>) -> Option<String> {
        text.map(|text| self.redactor.text(&text).into_owned())
    }

    fn clean_object(&self, object: Option<JsonObject>) -> Option<JsonObject> {
        match self.clean(Value::Object(object?)) {
            Value::Object(object) => Some(object),
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => None,
        }
    }
}

/// What the guest reads: the host's code, or what the agent that was asked raised, which is none of
/// the host's.
fn told(error: AgentsError) -> HandlerError {
    let code = error.code().as_str().to_owned();
    match error.handler_error() {
        Some(own) => {
            let owns = own
                .code
                .clone()
                .filter(|code| HandlerCode::parse(code).is_some());
            HandlerError {
                message: error.to_string(),
                code: owns.or(Some(code)),
                ..own.clone()
            }
        }
        None => HandlerError::new(error.to_string()).with_code(code),
    }
}

impl AgentsPort for TurnsAgents {
    fn request(&self, asked: AgentRequest) -> AgentsFuture<AgentResponse> {
        let agents = self.agents();
        let mut request = Request::new(asked.target, self.clean(asked.input));
        request.instance_key = self.clean_text(asked.instance_key);
        request.metadata = self.clean_object(asked.metadata);
        let event_type = self.clean_text(asked.event_type);
        Box::pin(async move {
            let agents = agents?;
            request.timeout = asked.timeout;
            if let Some(event_type) = event_type {
                request.event_type = event_type;
            }
            if asked.no_wait {
                request.mode = Mode::Async;
            }
            let done = agents.request(request).await.map_err(told)?;
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

    fn send(&self, said: AgentSend) -> AgentsFuture<AgentReceipt> {
        let agents = self.agents();
        let mut message = Message::new(said.target, self.clean(said.input));
        message.instance_key = self.clean_text(said.instance_key);
        message.metadata = self.clean_object(said.metadata);
        let event_type = self.clean_text(said.event_type);
        Box::pin(async move {
            let agents = agents?;
            if let Some(event_type) = event_type {
                message.event_type = event_type;
            }
            let done = agents.send(message).await.map_err(told)?;
            Ok(AgentReceipt {
                target: done.target,
                event_id: done.event_id,
                accepted: done.accepted,
            })
        })
    }

    fn spawn(&self, wanted: AgentSpawn) -> AgentsFuture<AgentInstance> {
        let agents = self.agents();
        Box::pin(async move {
            let agents = agents?;
            let key = wanted.instance_key.as_deref();
            let done = agents.spawn(&wanted.target, key).await.map_err(told)?;
            Ok(AgentInstance {
                target: done.target,
                instance_key: done.instance_key,
                spawned: done.spawned,
            })
        })
    }

    fn list(&self) -> AgentsFuture<Value> {
        let agents = self.agents();
        Box::pin(async move {
            let agents = agents?;
            let agents = agents.list().await.map_err(told)?;
            Ok(json!({"count": agents.len(), "agents": agents}))
        })
    }

    fn catalog(&self) -> AgentsFuture<Vec<AgentEntry>> {
        let agents = self.agents();
        Box::pin(async move {
            let agents = agents?;
            let agents = agents.catalog().await.map_err(told)?;
            let entry = |agent: toolhost_agents::AgentInfo| AgentEntry {
                name: agent.name,
                description: agent.description,
            };
            Ok(agents.into_iter().map(entry).collect())
        })
    }
}
