//! `goondan:tool/agents`: requests of a guest to other agents. Both directions are limited, and the call
//! is parked while it waits.

pub(crate) mod port;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use toolhost_contract::agents::{AgentInfo, Message, Mode, Request, Requested};
use toolhost_contract::{Denial, JsonLimits, JsonObject, ToolErrorCode, json_depth};
use wasmtime::component::HasData;

use crate::host::agents::port::{AgentsFuture, AgentsPort};
use crate::host::bindings::agents::{
    self, Agent, Instance, Receipt, RequestOptions, Response, SendOptions, ToolError,
};
use crate::host::wit_error::{host_error, to_wit};
use crate::scheduler::call_slot::CallSlot;
use crate::{Limits, SandboxError};
use toolhost_contract::Attempts;

/// Time that a request leaves before the deadline of the call, so that the guest can handle a timeout.
const MARGIN: Duration = Duration::from_millis(50);

/// Longest name, key or type a guest may pass, in bytes.
const NAME_BYTES: usize = 1 << 10;

/// The agents port of one call.
pub(crate) struct Agents {
    /// None where they are not granted.
    pub(crate) granted: Option<GrantedAgents>,
    pub(crate) attempts: Arc<Attempts>,
    pub(crate) limits: Limits,
    /// When the call is stopped. None where that is beyond the range of the clock.
    pub(crate) ends: Option<Instant>,
}

/// What a call needs to reach other agents.
pub(crate) struct GrantedAgents {
    pub(crate) port: Arc<dyn AgentsPort>,
    pub(crate) slot: Arc<CallSlot>,
    /// The runtime that awaits the call.
    pub(crate) caller: Handle,
}

/// Selects the agents port in a store.
pub(crate) struct HasAgents;

impl HasData for HasAgents {
    type Data<'a> = &'a mut Agents;
}

/// The result for the guest. The outer error ends its call.
type GuestResult<T> = wasmtime::Result<Result<T, ToolError>>;

impl agents::Host for Agents {
    async fn request(&mut self, options: RequestOptions) -> GuestResult<Response> {
        let request = self.request_of(options);
        let answer = self.call_port(Denial::AgentsRequest, request, |port, request| {
            port.request(request)
        });
        let answer = answer.await?;
        Ok(answer.and_then(|answer| self.response_of(answer)))
    }

    async fn send(&mut self, options: SendOptions) -> GuestResult<Receipt> {
        let message = self.message_of(options);
        let answer = self.call_port(Denial::AgentsSend, message, |port, message| {
            port.send(message)
        });
        let answer = answer.await?;
        Ok(answer.map(|receipt| Receipt {
            target: receipt.target,
            event_id: receipt.event_id,
            accepted: receipt.accepted,
        }))
    }

    async fn spawn(
        &mut self,
        target: String,
        instance_key: Option<String>,
    ) -> GuestResult<Instance> {
        let spawn = spawn_of(target, instance_key);
        let answer = self.call_port(Denial::AgentsSpawn, spawn, |port, (target, key)| {
            port.spawn(target, key)
        });
        let answer = answer.await?;
        Ok(answer.map(|instance| Instance {
            target: instance.target,
            instance_key: instance.instance_key,
            spawned: instance.spawned,
        }))
    }

    async fn list(&mut self) -> GuestResult<String> {
        let answer = self.call_port(Denial::AgentsList, Ok(()), |port, ()| port.list());
        let answer = answer.await?;
        Ok(answer.and_then(|instances| self.json_of(&instances)))
    }

    async fn catalog(&mut self) -> GuestResult<Vec<Agent>> {
        let answer = self.call_port(Denial::AgentsCatalog, Ok(()), |port, ()| port.catalog());
        let answer = answer.await?;
        Ok(answer.and_then(|agents| self.agents_of(agents)))
    }
}

impl Agents {
    /// Calls a method of the port, where one is granted. The call is parked until the port answers.
    async fn call_port<Q: Send + 'static, T: Send + 'static>(
        &self,
        what: Denial,
        arguments: Result<Q, ToolError>,
        method: fn(&dyn AgentsPort, Q) -> AgentsFuture<T>,
    ) -> GuestResult<T> {
        let Some(GrantedAgents { port, slot, caller }) = &self.granted else {
            self.attempts.deny(what);
            let message = "The operator's policy does not allow this tool to call other agents.";
            return Ok(Err(host_error(ToolErrorCode::Denied, message)));
        };
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(invalid) => return Ok(Err(invalid)),
        };
        if slot.park().is_err() {
            let message = "Too many calls are waiting for other agents.";
            return Ok(Err(host_error(ToolErrorCode::Busy, message)));
        }
        // A task, so that the port never runs on a guest's stack. Dropping this future aborts it.
        let mut task = JoinSet::new();
        let port = Arc::clone(port);
        task.spawn_on(async move { method(&*port, arguments).await }, caller);
        let answer = task.join_next().await;
        slot.resume().await?;
        match answer {
            Some(Ok(answer)) => Ok(answer.map_err(to_wit)),
            Some(Err(_)) | None => Err(SandboxError::HostPanic.into()),
        }
    }

    fn request_of(&self, options: RequestOptions) -> Result<Request, ToolError> {
        let RequestOptions {
            target,
            input,
            instance_key,
            event_type,
            timeout_ms,
            async_,
            metadata,
        } = options;
        let has_type = event_type.is_some();
        let left = self.ends.map_or(Duration::MAX, |ends| {
            ends.saturating_duration_since(Instant::now())
        });
        let most = left.saturating_sub(MARGIN);
        let message = self.message_of(SendOptions {
            target,
            input,
            instance_key,
            event_type,
            metadata,
        })?;
        let mut request = Request::new(message.target, message.input);
        request.instance_key = message.instance_key;
        request.metadata = message.metadata;
        if has_type {
            request.event_type = message.event_type;
        }
        if let Some(timeout) = timeout_ms {
            request.timeout = Duration::from_millis(timeout.into());
        }
        request.timeout = request.timeout.min(most).max(Duration::from_millis(1));
        if async_ == Some(true) {
            request.mode = Mode::Async;
        }
        Ok(request)
    }

    fn message_of(&self, options: SendOptions) -> Result<Message, ToolError> {
        within("target", Some(&options.target))?;
        within("instance-key", options.instance_key.as_ref())?;
        within("event-type", options.event_type.as_ref())?;
        let metadata = options.metadata;
        let metadata = metadata.map(|metadata| self.object_of("metadata", &metadata));
        let input = self.value_of("input", &options.input)?;
        let mut message = Message::new(options.target, input);
        message.instance_key = options.instance_key;
        message.metadata = metadata.transpose()?;
        if let Some(event_type) = options.event_type {
            message.event_type = event_type;
        }
        Ok(message)
    }

    fn value_of(&self, what: &str, json: &str) -> Result<Value, ToolError> {
        let limits = JsonLimits::of_input(&self.limits);
        limits
            .parse(json)
            .map_err(|error| invalid(format!("`{what}` {error}.")))
    }

    fn object_of(&self, what: &str, json: &str) -> Result<JsonObject, ToolError> {
        let Value::Object(object) = self.value_of(what, json)? else {
            return Err(invalid(format!("`{what}` is not a JSON object.")));
        };
        Ok(object)
    }

    fn response_of(&self, answer: Requested) -> Result<Response, ToolError> {
        let response = (!answer.is_async).then(|| self.json_of(&answer.response));
        Ok(Response {
            target: answer.target,
            event_id: answer.event_id,
            correlation_id: answer.correlation_id,
            accepted: answer.accepted,
            async_: answer.is_async,
            response: response.transpose()?,
        })
    }

    /// Writes a value, within the limits of an input.
    fn json_of(&self, value: &Value) -> Result<String, ToolError> {
        let limits = &self.limits;
        let json = value.to_string();
        let depth = json_depth(&json);
        if depth > limits.json_depth {
            let most = limits.json_depth;
            let message = format!("The answer is nested {depth} deep, at most {most} is allowed.");
            return Err(host_error(ToolErrorCode::OutputTooLarge, message));
        }
        self.fits(json.len())?;
        Ok(json)
    }

    fn agents_of(&self, agents: Vec<AgentInfo>) -> Result<Vec<Agent>, ToolError> {
        let length = |agent: &AgentInfo| {
            agent.name.len() + agent.description.as_ref().map_or(0, String::len)
        };
        self.fits(agents.iter().map(length).sum())?;
        let agent = |entry: AgentInfo| Agent {
            name: entry.name,
            description: entry.description,
        };
        Ok(agents.into_iter().map(agent).collect())
    }

    fn fits(&self, bytes: usize) -> Result<(), ToolError> {
        let most = self.limits.input_bytes;
        if bytes as u64 <= most {
            return Ok(());
        }
        let message = format!("The answer has {bytes} bytes, at most {most} are allowed.");
        Err(host_error(ToolErrorCode::OutputTooLarge, message))
    }
}

fn spawn_of(
    target: String,
    instance_key: Option<String>,
) -> Result<(String, Option<String>), ToolError> {
    within("target", Some(&target))?;
    within("instance-key", instance_key.as_ref())?;
    Ok((target, instance_key))
}

fn within(what: &str, text: Option<&String>) -> Result<(), ToolError> {
    match text.map(String::len) {
        Some(bytes) if bytes > NAME_BYTES => Err(invalid(format!(
            "`{what}` has {bytes} bytes, at most {NAME_BYTES} are allowed."
        ))),
        _ => Ok(()),
    }
}

fn invalid(message: String) -> ToolError {
    host_error(ToolErrorCode::InvalidArgs, message)
}
