//! The context of a tool call.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::AssistantMessage;

/// Context of a call, passed to its handler. Created only by the host.
///
/// Spec: tool-spec-v2 §7.3.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolContext {
    /// Name of the agent.
    #[serde(serialize_with = "shared")]
    pub agent_name: Arc<str>,
    /// Key of the agent instance.
    #[serde(serialize_with = "shared")]
    pub instance_key: Arc<str>,
    /// Id of the turn.
    #[serde(serialize_with = "shared")]
    pub turn_id: Arc<str>,
    /// Id of the call.
    #[serde(serialize_with = "shared")]
    pub tool_call_id: Arc<str>,
    /// Id of the trace, if any.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shared_id")]
    pub trace_id: Option<Arc<str>>,
    /// The assistant message with the call.
    pub message: AssistantMessage,
    /// The working directory: `/` for a component, a path of this machine for a native handler.
    pub workdir: String,
}

fn shared<S: Serializer>(text: &Arc<str>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(text)
}

fn shared_id<S: Serializer>(id: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    id.as_deref().serialize(serializer)
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
