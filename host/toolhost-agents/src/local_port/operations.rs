//! The operations of [`AgentsClient`](super::super::AgentsClient), in the orchestrator's process.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolhost_contract::{AgentEvent, EventSource};
use toolhost_runtime::lock;

use super::super::client::Port;
use super::super::delivery::ReplyMode;
use super::super::ids::new_id;
use super::super::mailbox::Mailbox;
use super::super::{
    AgentInfo, AgentsError, InstanceId, InstanceInfo, InstanceState, Spawned, Undelivered, wire,
};
use super::LocalPort;

#[async_trait]
impl Port for LocalPort {
    fn new_event(&self, event_type: String) -> Result<AgentEvent, Undelivered> {
        let source = EventSource::agent(self.from.agent());
        Ok(AgentEvent::new(new_id()?, event_type, self.now(), source))
    }

    async fn submit(
        &self,
        target: &str,
        event: AgentEvent,
        timeout: Option<Duration>,
    ) -> Result<Value, AgentsError> {
        if let Some(timeout) = timeout {
            let envelope = self.envelope(target, event, Some(ReplyMode::Wait))?;
            return self.state(target)?.ask(&self.from, envelope, timeout).await;
        }
        let mode = event.reply_to.as_ref().map(|_| ReplyMode::Async);
        self.accept(target, event, mode).await?;
        Ok(Value::Null)
    }

    async fn operate(&self, operation: &str, input: Value) -> Result<Value, AgentsError> {
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        Ok(match operation {
            wire::SPAWN => {
                let target = text("target").unwrap_or_default();
                json!(self.spawn(target, text("instanceKey")).await?)
            }
            wire::LIST => json!(self.list()?),
            wire::CATALOG => json!(self.catalog()?),
            wire::TAKE_RESPONSES => {
                if let Some(received) = input.as_object().and_then(wire::received) {
                    self.put_back_all_but(&received);
                }
                json!(self.take_responses().await?)
            }
            _ => {
                let received = input.as_object().and_then(wire::received);
                json!(self.acknowledge_responses(received).await?)
            }
        })
    }
}

impl LocalPort {
    async fn spawn(&self, target: &str, key: Option<&str>) -> Result<Spawned, AgentsError> {
        let state = self.state(target)?;
        state.spawn(&self.instance(target, key)?).await
    }

    fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError> {
        let state = self.state(self.from.agent())?;
        let instances = lock(&state.instances);
        let mut reached: Vec<_> = instances
            .iter()
            .filter(|(id, _)| self.reaches(id))
            .collect();
        reached.sort_by_key(|(id, _)| *id);
        let info = |(id, mailbox): (&InstanceId, &Arc<Mailbox>)| {
            let (queued, running) = mailbox.load();
            InstanceInfo {
                target: id.agent().to_owned(),
                instance_key: id.key().to_owned(),
                state: if running {
                    InstanceState::Running
                } else {
                    InstanceState::Idle
                },
                queued,
            }
        };
        Ok(reached.into_iter().map(info).collect())
    }

    fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError> {
        let state = self.state(self.from.agent())?;
        let agents = lock(&state.agents);
        let infos = agents.iter().map(|(name, setup)| AgentInfo {
            name: name.clone(),
            description: setup.description.clone(),
        });
        Ok(infos.collect())
    }

    async fn take_responses(&self) -> Result<Vec<AgentEvent>, AgentsError> {
        let responses = self.load_responses(ReplyMode::Async, self.taken()).await?;
        let mut taking = lock(&self.taken);
        let new = responses.into_iter().filter_map(|(correlation_id, event)| {
            // A concurrent call may have taken it since it was read.
            let is_new = !taking.ids.contains(&correlation_id);
            is_new.then(|| {
                taking.ids.push(correlation_id);
                event
            })
        });
        Ok(new.collect())
    }

    /// Acknowledges the responses that were taken; if `received` is given, only those of them.
    async fn acknowledge_responses(
        &self,
        received: Option<Vec<String>>,
    ) -> Result<(), AgentsError> {
        let mut ids = self.taken();
        if let Some(received) = received {
            ids.retain(|id| received.contains(id));
        }
        self.acknowledge(ids.clone()).await?;
        lock(&self.taken).ids.retain(|id| !ids.contains(id));
        Ok(())
    }
}
