//! The tool for calling other agents: `agents__request`, `agents__send`,
//! `agents__spawn`, `agents__list`, `agents__catalog`.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolhost_agents::{AgentsClient, AgentsError, Message, Mode, Request};
use toolhost_contract::{HandlerError, JsonObject, ToolCatalogItem, ToolErrorCode};

use crate::extension::{ExtensionApi, ExtensionError};
use crate::handler::{HandlerContext, HandlerFailure, ToolHandler};

/// Deadline of a request beyond the timeout of its response.
const EXTRA_DEADLINE: Duration = Duration::from_secs(5);

/// Registers the `agents` tool: `agent.extend("agents", toolhost::agents_tool)`.
///
/// A call uses the client of its turn: see
/// [`TurnStart::with_agents`](crate::TurnStart::with_agents).
///
/// | tool | output |
/// |---|---|
/// | `agents__request` `{target, input, instanceKey?, eventType?, timeoutMs?, async?, metadata?}` | `{target, eventId, correlationId, accepted, async, response}` |
/// | `agents__send` `{target, input, instanceKey?, eventType?, metadata?}` | `{target, eventId, accepted, sent}` |
/// | `agents__spawn` `{target, instanceKey?}` | `{target, instanceKey, spawned}` |
/// | `agents__list` `{}` | `{count, agents: [{target, instanceKey, state, queued}]}` |
/// | `agents__catalog` `{}` | `{count, agents: [{name, description?}]}` |
///
/// # Errors
/// [`ExtensionError`] if a tool of the same name is registered.
///
/// Spec: tool-spec-v2 §2.6, §11.
pub fn agents_tool(api: &ExtensionApi) -> Result<(), ExtensionError> {
    let offers: Vec<Offer> = serde_json::from_str(TOOLS).map_err(|reason| api.error(reason))?;
    for Offer { operation, item } in offers {
        api.tools().register(item, operation)?;
    }
    Ok(())
}

/// The tools, as the catalog has them.
const TOOLS: &str = include_str!("agents_tool.json");

/// An entry of [`TOOLS`].
#[derive(Deserialize)]
struct Offer {
    operation: AgentsOperation,
    item: ToolCatalogItem,
}

/// The arguments of a request or a message.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestArgs {
    target: String,
    input: Value,
    instance_key: Option<String>,
    event_type: Option<String>,
    timeout_ms: Option<u64>,
    #[serde(default)]
    r#async: bool,
    metadata: Option<JsonObject>,
}

impl RequestArgs {
    fn parse(input: JsonObject) -> serde_json::Result<Self> {
        serde_json::from_value(Value::Object(input))
    }

    fn into_request(self) -> Request {
        let mut request = Request::new(self.target, self.input);
        request.instance_key = self.instance_key;
        request.metadata = self.metadata;
        if let Some(event_type) = self.event_type {
            request.event_type = event_type;
        }
        if let Some(milliseconds) = self.timeout_ms {
            request.timeout = Duration::from_millis(milliseconds);
        }
        if self.r#async {
            request.mode = Mode::Async;
        }
        request
    }

    fn into_message(self) -> Message {
        let mut message = Message::new(self.target, self.input);
        message.instance_key = self.instance_key;
        message.metadata = self.metadata;
        if let Some(event_type) = self.event_type {
            message.event_type = event_type;
        }
        message
    }
}

/// The operation of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AgentsOperation {
    Request,
    Send,
    Spawn,
    List,
    Catalog,
}

impl AgentsOperation {
    async fn run(self, agents: &AgentsClient, input: JsonObject) -> Result<Value, HandlerFailure> {
        Ok(match self {
            Self::Request => {
                let request = RequestArgs::parse(input).map_err(HandlerError::from)?;
                let request = request.into_request();
                json!(agents.request(request).await.map_err(to_failure)?)
            }
            Self::Send => {
                let message = RequestArgs::parse(input).map_err(HandlerError::from)?;
                let message = message.into_message();
                json!(agents.send(message).await.map_err(to_failure)?)
            }
            Self::Spawn => {
                let text = |key: &str| input.get(key).and_then(Value::as_str);
                let target = text("target").unwrap_or_default();
                let done = agents.spawn(target, text("instanceKey")).await;
                json!(done.map_err(to_failure)?)
            }
            Self::List => with_count(&agents.list().await.map_err(to_failure)?),
            Self::Catalog => with_count(&agents.catalog().await.map_err(to_failure)?),
        })
    }
}

impl ToolHandler for AgentsOperation {
    fn call(
        &self,
        context: HandlerContext,
        input: JsonObject,
    ) -> BoxFuture<'_, Result<Value, HandlerFailure>> {
        Box::pin(async move {
            let Some(agents) = context.agents() else {
                let message = "This turn was opened without a client for other agents.";
                let code = ToolErrorCode::IpcDeliveryFailed;
                return Err(HandlerFailure::host(code, message));
            };
            self.run(agents, input).await
        })
    }

    fn deadline(&self, input: &JsonObject) -> Option<Duration> {
        if *self != Self::Request {
            return None;
        }
        let requested = input.get("timeoutMs").and_then(Value::as_u64);
        let timeout =
            requested.map_or(Request::new("", Value::Null).timeout, Duration::from_millis);
        Some(timeout + EXTRA_DEADLINE)
    }
}

fn with_count<T: Serialize>(agents: &[T]) -> Value {
    json!({"count": agents.len(), "agents": agents})
}

/// Returns the other agent's own error if its turn failed, and an error with the host's code otherwise.
fn to_failure(error: AgentsError) -> HandlerFailure {
    match error.handler_error() {
        Some(tool_error) => HandlerFailure::from(HandlerError {
            message: error.to_string(),
            ..tool_error.clone()
        }),
        None => HandlerFailure::host(error.code(), format!("{error}.")),
    }
}
