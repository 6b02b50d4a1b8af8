//! What the caller says of a call beside the call itself.

use toolhost_contract::{AssistantMessage, ToolCall};
use toolhost_sandbox::Workdir;

/// On whose behalf a call is made. The host makes the guest's own context of it, so that nothing a
/// model says can become part of it.
///
/// Cheap to clone; one context serves every call of the same message.
#[derive(Debug, Clone)]
pub struct CallContext {
    pub(crate) instance_key: String,
    pub(crate) turn_id: String,
    pub(crate) trace_id: Option<String>,
    pub(crate) message: AssistantMessage,
    pub(crate) workdir: Workdir,
}

impl CallContext {
    /// Makes the context of the calls that `message` holds.
    ///
    /// `workdir` becomes the guest's `/`: one from [`Host::workdir`](crate::Host::workdir) or
    /// [`LoadedBundle::instance_workspace`](crate::LoadedBundle::instance_workspace).
    ///
    /// Spec: tool-spec-v2 §7.3.
    pub fn new(
        instance_key: impl Into<String>,
        turn_id: impl Into<String>,
        message: AssistantMessage,
        workdir: Workdir,
    ) -> Self {
        Self {
            instance_key: instance_key.into(),
            turn_id: turn_id.into(),
            trace_id: None,
            message,
            workdir,
        }
    }

    /// Makes the context of a call that came without a message, such as one from a command line.
    #[must_use]
    pub fn for_call(call: &ToolCall, instance_key: impl Into<String>, workdir: Workdir) -> Self {
        let message = AssistantMessage::for_call(call);
        Self::new(instance_key, "turn", message, workdir)
    }

    /// Adds the id that ties together everything that happened for one request.
    #[must_use]
    pub fn with_trace_id(mut self, trace_id: impl Into<String>) -> Self {
        self.trace_id = Some(trace_id.into());
        self
    }
}
