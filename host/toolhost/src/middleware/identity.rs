//! Who calls.

use std::sync::Arc;

use toolhost_contract::{
    AssistantMessage, Locale, ToolCall, ToolContext, ToolError, ToolResult, text,
};

/// Longest tool name or call id in a result, in characters.
pub(crate) const NAME_SHOWN: usize = 128;

/// Returns a tool name as results and events contain it: escaped, at most 128 characters.
pub(crate) fn display_name(name: &str) -> String {
    text::shorten(name, NAME_SHOWN)
}

/// Who a turn, a step or a call belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallOrigin {
    /// Name of the agent.
    pub agent_name: Arc<str>,
    /// Key of the agent's instance.
    pub instance_key: Arc<str>,
    /// Id of the turn.
    pub turn_id: Arc<str>,
    /// Id shared by everything that happens for one request. Empty for a call that was stored
    /// without one.
    pub trace_id: Arc<str>,
    /// Language of the host's suggestions.
    pub locale: Locale,
}

/// Which call of which tool, and whose. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallIdentity {
    /// The turn, and whose it is.
    pub origin: Arc<CallOrigin>,
    /// Id of the step; empty for a poll or a cancellation of a pending call.
    pub step_id: Arc<str>,
    /// Id of the call.
    pub call_id: Arc<str>,
    /// Name of the tool, as results and events contain it: escaped, at most 128 characters.
    pub tool_name: Arc<str>,
}

impl CallIdentity {
    pub(crate) fn new(origin: &Arc<CallOrigin>, step_id: &Arc<str>, call: &ToolCall) -> Self {
        Self {
            origin: Arc::clone(origin),
            step_id: Arc::clone(step_id),
            call_id: call.id.as_str().into(),
            tool_name: display_name(&call.name).into(),
        }
    }

    /// Returns the result of the call with this error.
    pub(crate) fn error(&self, error: ToolError) -> ToolResult {
        ToolResult::error(&self.call_id, &self.tool_name, error)
    }

    /// Returns the context that a component gets. It contains no path of the host.
    ///
    /// Spec: tool-spec-v2 §2.5, §7.3.
    pub(crate) fn tool_context(&self, message: &AssistantMessage) -> ToolContext {
        let origin = &*self.origin;
        ToolContext {
            agent_name: Arc::clone(&origin.agent_name),
            instance_key: Arc::clone(&origin.instance_key),
            turn_id: Arc::clone(&origin.turn_id),
            tool_call_id: Arc::clone(&self.call_id),
            trace_id: Some(Arc::clone(&origin.trace_id)),
            message: message.clone(),
            workdir: "/".to_owned(),
        }
    }
}
