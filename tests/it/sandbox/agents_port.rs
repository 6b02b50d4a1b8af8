//! A scripted agents port: records requests and answers them with a closure.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost_contract::HandlerError;
use toolhost_sandbox::{
    AgentEntry, AgentInstance, AgentReceipt, AgentRequest, AgentResponse, AgentSend, AgentSpawn,
    AgentsFuture, AgentsPort,
};

/// A recorded operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Recorded {
    Request(AgentRequest),
    Send(AgentSend),
    Spawn(AgentSpawn),
    List,
    Catalog,
}

/// Answers a request.
type Reply = dyn Fn(AgentRequest) -> AgentsFuture<Value> + Send + Sync;

pub(crate) struct Port {
    recorded: Mutex<Vec<Recorded>>,
    reply: Box<Reply>,
}

impl fmt::Debug for Port {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Port")
    }
}

impl Port {
    /// Answers requests with `reply`, and everything else immediately.
    pub(crate) fn replying<F>(
        reply: impl Fn(AgentRequest) -> F + Send + Sync + 'static,
    ) -> Arc<Self>
    where
        F: Future<Output = Result<Value, HandlerError>> + Send + 'static,
    {
        Arc::new(Self {
            recorded: Mutex::default(),
            reply: Box::new(move |request| Box::pin(reply(request))),
        })
    }

    /// Answers requests with `{"done": true}`.
    pub(crate) fn new() -> Arc<Self> {
        Self::replying(|_| async { Ok(json!({"done": true})) })
    }

    /// Takes the operations recorded since the previous call.
    pub(crate) fn take(&self) -> Vec<Recorded> {
        std::mem::take(&mut *self.recorded.lock().unwrap())
    }

    fn record(&self, recorded: Recorded) {
        self.recorded.lock().unwrap().push(recorded);
    }
}

impl AgentsPort for Port {
    fn request(&self, request: AgentRequest) -> AgentsFuture<AgentResponse> {
        self.record(Recorded::Request(request.clone()));
        let (target, no_wait) = (request.target.clone(), request.no_wait);
        let reply = (self.reply)(request);
        Box::pin(async move {
            let response = if no_wait { None } else { Some(reply.await?) };
            Ok(AgentResponse {
                target,
                event_id: "event-1".to_owned(),
                correlation_id: "correlation-1".to_owned(),
                accepted: true,
                no_wait,
                response,
            })
        })
    }

    fn send(&self, send: AgentSend) -> AgentsFuture<AgentReceipt> {
        let target = send.target.clone();
        self.record(Recorded::Send(send));
        Box::pin(async {
            Ok(AgentReceipt {
                target,
                event_id: "event-2".to_owned(),
                accepted: true,
            })
        })
    }

    fn spawn(&self, spawn: AgentSpawn) -> AgentsFuture<AgentInstance> {
        self.record(Recorded::Spawn(spawn.clone()));
        Box::pin(async {
            Ok(AgentInstance {
                target: spawn.target,
                instance_key: spawn.instance_key.unwrap_or_else(|| "made".to_owned()),
                spawned: true,
            })
        })
    }

    fn list(&self) -> AgentsFuture<Value> {
        self.record(Recorded::List);
        Box::pin(async { Ok(json!({"count": 0, "agents": []})) })
    }

    fn catalog(&self) -> AgentsFuture<Vec<AgentEntry>> {
        self.record(Recorded::Catalog);
        let entry = |name: &str, description: Option<&str>| AgentEntry {
            name: name.to_owned(),
            description: description.map(str::to_owned),
        };
        let agents = vec![entry("coder", Some("Writes code")), entry("critic", None)];
        Box::pin(async { Ok(agents) })
    }
}
