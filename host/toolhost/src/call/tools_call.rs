//! The call that `tools__call` makes: a call of its own, with an id beneath that of its parent.

use serde_json::Value;
use toolhost_contract::{AssistantMessage, ToolCall, ToolError, ToolErrorCode};

use super::scope::CallScope;
use crate::catalog::tool_names::CALL;
use crate::middleware::CallIdentity;
use crate::registry::{RegisteredTool, ToolRegistry};

/// A call within another.
pub(super) struct NamedCall {
    pub(super) call: ToolCall,
    pub(super) identity: CallIdentity,
    /// Contains the call.
    pub(super) message: AssistantMessage,
}

impl NamedCall {
    /// Reads the arguments of `tools__call`.
    ///
    /// # Errors
    /// `E_TOOL_INVALID_ARGS` for a call of `tools__call` itself, and for one in the background of a tool that may answer
    /// later: its handle would stand for the wrong call.
    pub(super) fn of(
        scope: &CallScope,
        registry: &ToolRegistry,
        outer: &CallIdentity,
        args: Value,
    ) -> Result<Self, ToolError> {
        let Value::Object(mut args) = args else {
            return Err(refused(scope, "its arguments are no JSON object"));
        };
        let name = args.get("name").and_then(Value::as_str).unwrap_or_default();
        if name == CALL {
            return Err(refused(scope, "it cannot call itself"));
        }
        let tool = scope.registered(registry, name);
        if scope.background.is_some() && tool.is_some_and(RegisteredTool::polls) {
            let reason = "in the background it cannot call a tool that may answer later; call the tool by its own name";
            return Err(refused(scope, reason));
        }
        let name = name.to_owned();
        let args = match args.remove("args") {
            Some(Value::Object(args)) => args,
            Some(_) | None => serde_json::Map::new(),
        };
        let call = ToolCall::new(format!("{}/1", outer.call_id), name, args);
        Ok(Self {
            identity: scope.identity(&call),
            message: AssistantMessage::for_call(&call),
            call,
        })
    }
}

fn refused(scope: &CallScope, reason: &str) -> ToolError {
    let message = format!("Invalid arguments for tool '{CALL}': {reason}.");
    ToolError::host(ToolErrorCode::InvalidArgs, message, scope.turn.locale())
}
