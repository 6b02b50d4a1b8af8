//! `delegate` and `delegate_result`, the message types of the earlier specification.

use serde_json::{Value, json};

use super::event::{AgentEvent, EventSource, ReplyTo};

/// Content of a `delegate` or `delegate_result` message.
///
/// Spec: tool-spec-v2-earlier §9.2.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delegation {
    /// The input of a `delegate`; `{"status": "ok", "output": …}` or
    /// `{"status": "error", "error": {…}}` of a `delegate_result`.
    pub payload: Value,
    /// Id shared by request and response. A `delegate` without an id expects no response.
    pub correlation_id: Option<String>,
}

/// `type` of the event made from a `delegate`.
const DELEGATE_TYPE: &str = "agent.delegate";

impl Delegation {
    /// Converts a `delegate` from the agent `from` to an event.
    pub fn into_event(
        self,
        from: &str,
        id: impl Into<String>,
        created_at: impl Into<String>,
    ) -> AgentEvent {
        let reply_to = self.correlation_id.map(|correlation_id| ReplyTo {
            target: from.to_owned(),
            correlation_id,
        });
        let input = (!self.payload.is_null()).then_some(self.payload);
        AgentEvent {
            input,
            reply_to,
            ..AgentEvent::new(id, DELEGATE_TYPE, created_at, EventSource::agent(from))
        }
    }

    /// Converts a response to a `delegate_result`. Returns `None` if the event is not a response.
    pub fn result_of(response: AgentEvent) -> Option<Self> {
        let correlation_id = response.in_reply_to()?.to_owned();
        let payload = match response.into_answer() {
            Ok(output) => json!({"status": "ok", "output": output}),
            Err(error) => json!({"status": "error", "error": error}),
        };
        Some(Self {
            payload,
            correlation_id: Some(correlation_id),
        })
    }
}
