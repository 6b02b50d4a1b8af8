//! The way of a component to other agents, where the policy grants it.

use std::sync::Arc;

use serde_json::{Value, json};
use toolhost_contract::HandlerError;
use toolhost_sandbox::{
    AgentEntry, AgentInstance, AgentReceipt, AgentRequest, AgentResponse, AgentSend, AgentSpawn,
    AgentsFuture, AgentsPort,
};

use crate::agents::{AgentsClient, AgentsError, Message, Mode, Request};

/// The agents of a turn, as a component's import reaches them.
#[derive(Debug)]
struct TurnsAgents(AgentsClient);

/// Makes the port of a call.
pub(crate) fn port(agents: &AgentsClient) -> Arc<dyn AgentsPort> {
    Arc::new(TurnsAgents(agents.clone()))
}

/// What the guest reads: the host's code, or what the agent that was asked raised.
fn told(error: AgentsError) -> HandlerError {
    let code = error.code().as_str().to_owned();
    match error.handler_error() {
        Some(own) => HandlerError {
            message: error.to_string(),
            code: own.code.clone().or(Some(code)),
            ..own.clone()
        },
        None => HandlerError::new(error.to_string()).with_code(code),
    }
}

impl AgentsPort for TurnsAgents {
    fn request(&self, asked: AgentRequest) -> AgentsFuture<AgentResponse> {
        let agents = self.0.clone();
        Box::pin(async move {
            let mut request = Request::new(asked.target, asked.input);
            request.instance_key = asked.instance_key;
            request.timeout = asked.timeout;
            request.metadata = asked.metadata;
            if let Some(event_type) = asked.event_type {
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
        let agents = self.0.clone();
        Box::pin(async move {
            let mut message = Message::new(said.target, said.input);
            message.instance_key = said.instance_key;
            message.metadata = said.metadata;
            if let Some(event_type) = said.event_type {
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
        let agents = self.0.clone();
        Box::pin(async move {
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
        let agents = self.0.clone();
        Box::pin(async move {
            let agents = agents.list().await.map_err(told)?;
            Ok(json!({"count": agents.len(), "agents": agents}))
        })
    }

    fn catalog(&self) -> AgentsFuture<Vec<AgentEntry>> {
        let agents = self.0.clone();
        Box::pin(async move {
            let agents = agents.catalog().await.map_err(told)?;
            let entry = |agent: crate::agents::AgentInfo| AgentEntry {
                name: agent.name,
                description: agent.description,
            };
            Ok(agents.into_iter().map(entry).collect())
        })
    }
}
