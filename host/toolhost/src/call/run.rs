//! One run of a tool, and how it ended.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{AssistantMessage, ToolError, ToolResult, Usage};
use toolhost_sandbox::{PreparedTool, WriteProtected};

use super::scope::TurnScope;
use crate::agent::Permit;
use crate::registry::RegisteredTool;

/// One run of a component.
pub(crate) struct ComponentRun<'a> {
    pub(crate) turn: &'a TurnScope,
    /// Empty for a poll or a cancellation.
    pub(crate) step_id: &'a str,
    pub(crate) call_id: &'a str,
    pub(crate) message: &'a AssistantMessage,
    pub(crate) tool: &'a RegisteredTool,
    pub(crate) component: &'a PreparedTool,
    /// Has the credentials of the run once it has begun.
    pub(crate) permit: Arc<Permit>,
    pub(crate) protected: WriteProtected,
}

/// The answer of a run that did not fail.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The tool's output.
    Output(Value),
    /// The handle of a call whose result comes later.
    Pending(String),
}

/// How a run of a tool ended.
pub(crate) struct RunEnd {
    pub(crate) answer: Result<Answer, ToolError>,
    pub(crate) usage: Usage,
    /// Whether the answer is the tool's own; if not, the host did not start it, stopped it, or did not commit its
    /// changes.
    pub(crate) has_answered: bool,
    /// The file in which the host recorded the failed run.
    pub(crate) recording: Option<Arc<Path>>,
}

impl RunEnd {
    /// A run that was refused before it used anything.
    pub(crate) fn refused(error: ToolError) -> Self {
        Self {
            answer: Err(error),
            usage: Usage::default(),
            has_answered: false,
            recording: None,
        }
    }

    /// Returns the result of the call `id` of the tool `name`.
    pub(crate) fn into_result(self, id: &str, name: &str) -> ToolResult {
        let result = result_of(self.answer, id, name).with_usage(self.usage);
        result.with_recording(self.recording)
    }
}

/// Returns the result of the call `id` of the tool `name`, without its usage.
pub(crate) fn result_of(answer: Result<Answer, ToolError>, id: &str, name: &str) -> ToolResult {
    match answer {
        Ok(Answer::Output(output)) => ToolResult::ok(id, name, output),
        Ok(Answer::Pending(handle)) => ToolResult::pending(id, name, handle),
        Err(error) => ToolResult::error(id, name, error),
    }
}
