//! One run of a tool, and how it ended.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{
    AssistantMessage, AwaitingApproval, CommitCondition, ToolError, ToolResult, Usage,
};
use toolhost_sandbox::WriteProtected;

use super::consent::gate::Gate;
use super::fence::Fence;
use super::inner::InnerCalls;
use super::outer::OuterCalls;
use super::scope::TurnScope;
use crate::agent::ToolPermit;
use crate::middleware::CallIdentity;
use crate::pending::record::Handle;
use crate::registry::RegisteredTool;
use crate::registry::loaded_component::LoadedComponent;

/// One run of a component.
pub(crate) struct ComponentRun<'a> {
    pub(crate) turn: &'a TurnScope,
    pub(crate) call: &'a CallIdentity,
    pub(crate) message: &'a AssistantMessage,
    pub(crate) tool: &'a RegisteredTool,
    pub(crate) component: &'a LoadedComponent,
    /// Has the credentials of the run once it has begun.
    pub(crate) permit: Arc<ToolPermit>,
    pub(crate) protected: WriteProtected,
    /// Its calls of other tools; none if it may make none.
    pub(crate) inner: Option<InnerCalls>,
    /// The calls around it; none for a call of the model's.
    pub(crate) outer: Option<Arc<OuterCalls>>,
    /// Lets its effects wait; none if none has to.
    pub(crate) consent: Option<Arc<Gate>>,
    /// The handle that its call has already.
    pub(crate) handle: Option<Handle>,
    /// Lets one run of its call commit, on a worker; none in a host.
    pub(crate) fence: Option<Fence>,
}

/// The answer of a run that did not fail.
#[derive(Clone)]
pub(crate) enum Answer {
    /// The tool's output.
    Output(Value),
    /// The handle of a call whose result comes later.
    Pending(String),
    /// The host's handle of a call that waits for consent.
    Held(String, AwaitingApproval),
}

impl Answer {
    /// Whether it means success. One that has no output yet meets no condition.
    pub(super) fn meets(&self, condition: &CommitCondition) -> bool {
        match self {
            Self::Output(output) => condition.holds(output),
            Self::Pending(_) | Self::Held(..) => false,
        }
    }
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
        Self::of_answer(Err(error))
    }

    /// A run that has an answer of the host's.
    pub(crate) fn of_answer(answer: Result<Answer, ToolError>) -> Self {
        Self {
            answer,
            usage: Usage::default(),
            has_answered: false,
            recording: None,
        }
    }

    /// The end of a run that is another call, whose result it has.
    pub(crate) fn of(mut result: ToolResult) -> Self {
        let answer = match (result.tool_error(), result.handle()) {
            (Some(error), _) => Err(error.clone()),
            (None, Some(handle)) => Ok(match result.awaits_approval() {
                Some(details) => Answer::Held(handle.to_owned(), details),
                None => Answer::Pending(handle.to_owned()),
            }),
            (None, None) => {
                let output = result.output_mut().map(std::mem::take);
                Ok(Answer::Output(output.unwrap_or_default()))
            }
        };
        Self {
            has_answered: answer.is_ok(),
            answer,
            usage: result.usage().clone(),
            recording: result.recording().map(Arc::from),
        }
    }

    /// Returns the result of the call.
    pub(crate) fn into_result(self, call: &CallIdentity) -> ToolResult {
        let result = result_of(self.answer, call).with_usage(self.usage);
        result.with_recording(self.recording)
    }
}

/// Returns the result of a call, without its usage.
pub(crate) fn result_of(answer: Result<Answer, ToolError>, call: &CallIdentity) -> ToolResult {
    match answer {
        Ok(Answer::Output(output)) => ToolResult::ok(&call.call_id, &call.tool_name, output),
        Ok(Answer::Pending(handle)) => ToolResult::pending(&call.call_id, &call.tool_name, handle),
        Ok(Answer::Held(handle, details)) => {
            ToolResult::awaiting_approval(&call.call_id, &call.tool_name, handle, details)
        }
        Err(error) => call.error(error),
    }
}
