//! The context of a tool call.

use serde::Serialize;

use crate::AssistantMessage;

/// Context of a call, passed to its handler. Created only by the host.
///
/// Spec: tool-spec-v2 §7.3.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolContext {
    /// Name of the agent.
    pub agent_name: String,
    /// Key of the agent instance.
    pub instance_key: String,
    /// Id of the turn.
    pub turn_id: String,
    /// Id of the call.
    pub tool_call_id: String,
    /// Id of the trace, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The assistant message with the call.
    pub message: AssistantMessage,
    /// The working directory: `/` for a component, a path of this machine for a native handler.
    pub workdir: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{JsonObject, ToolCall};

    #[test]
    fn a_context_has_the_seven_fields_and_a_trace() {
        // tool-spec-v2 §2.5(3), §7.3: nothing of v1 is left in it
        let call = ToolCall::new("c1", "a__b", JsonObject::new());
        let context = ToolContext {
            agent_name: "a".into(),
            instance_key: "k".into(),
            turn_id: "t".into(),
            tool_call_id: "c1".into(),
            trace_id: Some("r".into()),
            message: AssistantMessage::for_call(&call),
            workdir: "/".into(),
        };
        let json = serde_json::to_value(context).unwrap();
        let mut keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        assert_eq!(
            keys,
            [
                "agentName",
                "instanceKey",
                "message",
                "toolCallId",
                "traceId",
                "turnId",
                "workdir"
            ]
        );
    }
}
