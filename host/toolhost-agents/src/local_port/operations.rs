//! The operations of [`AgentsClient`](super::super::AgentsClient), in the orchestrator's process.

use async_trait::async_trait;
use serde_json::Value;
use toolhost_contract::{AgentEvent, EventSource, JsonObject, ReplyTo};

use super::super::client::Port;
use super::super::delivery::ReplyMode;
use super::super::ids::new_id;
use super::super::sync::lock;
use super::super::{
    AgentInfo, AgentsError, InstanceInfo, InstanceState, Message, Mode, Request, Requested, Sent,
    Spawned,
};
use super::LocalPort;

impl LocalPort {
    fn event(
        &self,
        target: &str,
        event_type: String,
        input: Value,
        instance_key: Option<String>,
        metadata: Option<JsonObject>,
    ) -> Result<AgentEvent, AgentsError> {
        let id = new_id().map_err(|reason| AgentsError::undelivered(target, reason))?;
        let source = EventSource::agent(self.from.agent());
        Ok(AgentEvent {
            input: (!input.is_null()).then_some(input),
            instance_key,
            metadata,
            ..AgentEvent::new(id, event_type, self.now(), source)
        })
    }
}

#[async_trait]
impl Port for LocalPort {
    async fn request(&self, request: Request) -> Result<Requested, AgentsError> {
        let target = request.target;
        let mut event = self.event(
            &target,
            request.event_type,
            request.input,
            request.instance_key,
            request.metadata,
        )?;
        let correlation_id =
            new_id().map_err(|reason| AgentsError::undelivered(&target, reason))?;
        event.reply_to = Some(ReplyTo {
            target: self.from.agent().to_owned(),
            correlation_id: correlation_id.clone(),
        });
        let event_id = event.id.clone();
        let response = match request.mode {
            Mode::Wait => self.ask(&target, event, request.timeout).await?,
            Mode::Async => {
                let mode = Some(ReplyMode::Async);
                self.submit(&target, event, mode).await?;
                Value::Null
            }
        };
        Ok(Requested {
            target,
            event_id,
            correlation_id,
            accepted: true,
            is_async: request.mode == Mode::Async,
            response,
        })
    }

    async fn send(&self, message: Message) -> Result<Sent, AgentsError> {
        let target = message.target;
        let event = self.event(
            &target,
            message.event_type,
            message.input,
            message.instance_key,
            message.metadata,
        )?;
        let event_id = event.id.clone();
        self.submit(&target, event, None).await?;
        Ok(Sent {
            target,
            event_id,
            accepted: true,
            sent: true,
        })
    }

    async fn spawn(&self, target: &str, key: Option<&str>) -> Result<Spawned, AgentsError> {
        let state = self.state(target)?;
        state.spawn(&self.instance(target, key)?).await
    }

    async fn list(&self) -> Result<Vec<InstanceInfo>, AgentsError> {
        let state = self.state(self.from.agent())?;
        let instances = lock(&state.instances);
        let reached = instances.iter().filter(|(id, _)| self.reaches(id));
        let all = reached.map(|(id, mailbox)| {
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
        });
        let mut all: Vec<_> = all.collect();
        drop(instances);
        all.sort_by(|a, b| (&a.target, &a.instance_key).cmp(&(&b.target, &b.instance_key)));
        Ok(all)
    }

    async fn catalog(&self) -> Result<Vec<AgentInfo>, AgentsError> {
        let state = self.state(self.from.agent())?;
        let agents = lock(&state.agents);
        let all = agents.iter().map(|(name, setup)| AgentInfo {
            name: name.clone(),
            description: setup.description.clone(),
        });
        Ok(all.collect())
    }

    async fn take_responses(&self) -> Result<Vec<AgentEvent>, AgentsError> {
        let stored = self.stored(ReplyMode::Async, self.taken()).await?;
        let mut taken = lock(&self.taken);
        let new = stored.into_iter().filter_map(|response| {
            // A concurrent call may have taken it since it was read.
            let is_new = !taken.contains(&response.correlation_id);
            is_new.then(|| {
                taken.push(response.correlation_id);
                response.event
            })
        });
        Ok(new.collect())
    }

    async fn acknowledge_responses(&self) -> Result<(), AgentsError> {
        let ids = self.taken();
        self.acknowledge(ids.clone()).await?;
        lock(&self.taken).retain(|id| !ids.contains(id));
        Ok(())
    }
}
