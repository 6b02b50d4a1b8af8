//! The earlier words for a request and its answer: `delegate` and `delegate_result`.

use serde_json::{Value, json};

use super::{AgentEvent, EventSource, ReplyTo};

/// What `delegate` and `delegate_result` carry.
///
/// Spec: tool-spec-v2-earlier §9.2.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Delegation {
    /// Of `delegate` the input; of `delegate_result` `{"status": "ok", "output": …}` or
    /// `{"status": "error", "error": {…}}`.
    pub payload: Value,
    /// Id by which the two belong together; a `delegate` without one wants no answer.
    pub correlation_id: Option<String>,
}

/// `type` of the event that a `delegate` becomes.
const DELEGATE_TYPE: &str = "agent.delegate";

impl Delegation {
    /// The event that the agent `from` means by a `delegate`.
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

    /// The `delegate_result` that says what a response says; none where the event is no response.
    #[must_use]
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
