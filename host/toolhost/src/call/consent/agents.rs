//! Messages to other agents that may have to wait.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use toolhost_agents::{AgentInfo, Message, Mode, Request, Requested, Sent, Spawned};
use toolhost_contract::{HandlerError, HeldEffect};
use toolhost_sandbox::{AgentsFuture, AgentsPort};

use super::digest::Digest;
use super::gate::{Gate, Verdict};
use super::prefix::PrefixAnswer;

/// The agents of one run.
#[derive(Debug)]
pub(super) struct GatedAgents {
    agents: Arc<dyn AgentsPort>,
    gate: Arc<Gate>,
}

impl GatedAgents {
    pub(super) fn new(agents: Arc<dyn AgentsPort>, gate: Arc<Gate>) -> Self {
        Self { agents, gate }
    }

    /// Sends something to an agent, unless it has to wait: then the future never ends.
    fn send_if_granted<T>(
        &self,
        shown: Value,
        send: impl FnOnce(&dyn AgentsPort) -> AgentsFuture<T>,
    ) -> AgentsFuture<T>
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        let digest = Digest::default().with("agents").with(shown.to_string());
        let digest = digest.finish();
        let asks = self.gate.rules().effects.asks_for_messages();
        match self
            .gate
            .decide(HeldEffect::Agents, &digest, asks, || shown)
        {
            Verdict::Held => Box::pin(std::future::pending()),
            Verdict::Answered(PrefixAnswer::Message(answer)) => {
                match serde_json::from_value(answer) {
                    Ok(answer) => Box::pin(async { Ok(answer) }),
                    Err(_) => Box::pin(std::future::pending()),
                }
            }
            Verdict::Answered(PrefixAnswer::Failure(error)) => Box::pin(async { Err(error) }),
            // It was sent, and nobody knows what came of it.
            Verdict::Answered(_) => Box::pin(async {
                Err(HandlerError::new(
                    "the message was sent, and its answer is not known",
                ))
            }),
            Verdict::Send(in_flight) => {
                let (sent, gate) = (send(&*self.agents), Arc::clone(&self.gate));
                Box::pin(async move {
                    let _in_flight = in_flight;
                    let answer = sent.await;
                    let kept = match &answer {
                        Ok(answer) => serde_json::to_value(answer).map(PrefixAnswer::Message),
                        Err(error) => Ok(PrefixAnswer::Failure(error.clone())),
                    };
                    gate.add_answer(digest, kept.unwrap_or(PrefixAnswer::None));
                    answer
                })
            }
        }
    }
}

impl AgentsPort for GatedAgents {
    fn request(&self, request: Request) -> AgentsFuture<Requested> {
        let shown = json!({
            "operation": "request",
            "target": request.target,
            "instanceKey": request.instance_key,
            "type": request.event_type,
            "input": request.input,
            "async": request.mode == Mode::Async,
            "timeoutMs": u64::try_from(request.timeout.as_millis()).unwrap_or(u64::MAX),
            "metadata": request.metadata,
        });
        self.send_if_granted(shown, |agents| agents.request(request))
    }

    fn send(&self, message: Message) -> AgentsFuture<Sent> {
        let shown = json!({
            "operation": "send",
            "target": message.target,
            "instanceKey": message.instance_key,
            "type": message.event_type,
            "input": message.input,
            "metadata": message.metadata,
        });
        self.send_if_granted(shown, |agents| agents.send(message))
    }

    fn spawn(&self, target: String, instance_key: Option<String>) -> AgentsFuture<Spawned> {
        let shown = json!({"operation": "spawn", "target": target, "instanceKey": instance_key});
        self.send_if_granted(shown, |agents| agents.spawn(target, instance_key))
    }

    fn list(&self) -> AgentsFuture<Value> {
        self.agents.list()
    }

    fn catalog(&self) -> AgentsFuture<Vec<AgentInfo>> {
        self.agents.catalog()
    }
}
