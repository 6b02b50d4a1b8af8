//! A scripted agents port: records requests and answers them with a closure.

use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost_contract::HandlerError;
use toolhost_contract::agents::{AgentInfo, Message, Mode, Request, Requested, Sent, Spawned};
use toolhost_sandbox::{AgentsFuture, AgentsPort};

/// A recorded operation.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Recorded {
    Request(Request),
    Send(Message),
    Spawn(String, Option<String>),
    List,
    Catalog,
}

/// Answers a request.
type Reply = dyn Fn(Request) -> AgentsFuture<Value> + Send + Sync;

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
    pub(crate) fn replying<F>(reply: impl Fn(Request) -> F + Send + Sync + 'static) -> Arc<Self>
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
    fn request(&self, request: Request) -> AgentsFuture<Requested> {
        self.record(Recorded::Request(request.clone()));
        let (target, is_async) = (request.target.clone(), request.mode == Mode::Async);
        let reply = (self.reply)(request);
        Box::pin(async move {
            let response = if is_async { Value::Null } else { reply.await? };
            Ok(Requested {
                target,
                event_id: "event-1".to_owned(),
                correlation_id: "correlation-1".to_owned(),
                accepted: true,
                is_async,
                response,
            })
        })
    }

    fn send(&self, message: Message) -> AgentsFuture<Sent> {
        let target = message.target.clone();
        self.record(Recorded::Send(message));
        Box::pin(async {
            Ok(Sent {
                target,
                event_id: "event-2".to_owned(),
                accepted: true,
                sent: true,
            })
        })
    }

    fn spawn(&self, target: String, instance_key: Option<String>) -> AgentsFuture<Spawned> {
        self.record(Recorded::Spawn(target.clone(), instance_key.clone()));
        Box::pin(async {
            Ok(Spawned {
                target,
                instance_key: instance_key.unwrap_or_else(|| "made".to_owned()),
                spawned: true,
            })
        })
    }

    fn list(&self) -> AgentsFuture<Value> {
        self.record(Recorded::List);
        Box::pin(async { Ok(json!({"count": 0, "agents": []})) })
    }

    fn catalog(&self) -> AgentsFuture<Vec<AgentInfo>> {
        self.record(Recorded::Catalog);
        let entry = |name: &str, description: Option<&str>| AgentInfo {
            name: name.to_owned(),
            description: description.map(str::to_owned),
        };
        let agents = vec![entry("coder", Some("Writes code")), entry("critic", None)];
        Box::pin(async { Ok(agents) })
    }
}
