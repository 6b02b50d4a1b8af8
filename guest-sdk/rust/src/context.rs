//! The context of a call.

use serde::de::DeserializeOwned;

use crate::bindings::tool::goondan::tool::types::ToolContext;
use crate::{Logger, ToolError};

/// The context of one call. The host creates it; a test uses `Context::default()`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Context {
    /// Name of the agent whose step this call belongs to.
    pub agent_name: String,
    /// Key of the agent instance. Calls of one key share one workspace.
    pub instance_key: String,
    /// Id of the turn.
    pub turn_id: String,
    /// Id of this call, from the model's message.
    pub tool_call_id: String,
    /// Id that connects everything that belongs to one request, if the runtime sets one.
    pub trace_id: Option<String>,
    /// The working directory as the tool sees it: always `/`. Relative paths start here.
    pub workdir: String,
    message: String,
    tool: &'static str,
}

impl Context {
    pub(crate) fn new(context: ToolContext, tool: &'static str) -> Self {
        Self {
            agent_name: context.agent_name,
            instance_key: context.instance_key,
            turn_id: context.turn_id,
            tool_call_id: context.tool_call_id,
            trace_id: context.trace_id,
            workdir: context.workdir,
            message: context.message,
            tool,
        }
    }

    /// Parses the assistant message that holds this call, a JSON object. It may be up to 4 MiB.
    ///
    /// # Errors
    /// The message does not match `T`.
    pub fn message<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        serde_json::from_str(&self.message).map_err(|reason| {
            ToolError::new(format!("the context's message does not fit: {reason}"))
        })
    }

    /// The operator's log. The model never sees it.
    #[must_use]
    pub fn logger(&self) -> Logger {
        Logger::new(self.tool)
    }
}

impl Default for Context {
    fn default() -> Self {
        Self {
            agent_name: String::new(),
            instance_key: String::new(),
            turn_id: String::new(),
            tool_call_id: String::new(),
            trace_id: None,
            workdir: "/".into(),
            message: "{}".into(),
            tool: "",
        }
    }
}
