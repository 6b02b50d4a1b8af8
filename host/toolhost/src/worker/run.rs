//! Runs one call as the host would.

use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{ToolError, ToolErrorCode, ToolResult, WorkerCall};
use toolhost_manifest::policy::Placement;
use toolhost_sandbox::BegunRun;

use crate::agent::{Agent, ToolPermit};
use crate::call::exit::exit;
use crate::call::fence::{Fence, NoteOf, run_life};
use crate::call::repeat::repeat_of;
use crate::call::run::ComponentRun;
use crate::call::scope::{InstanceScope, TurnOptions, TurnScope};
use crate::loaded_bundle::LoadedBundle;
use crate::middleware::CallIdentity;
use crate::registry::loaded_tools::RunningCall;
use crate::registry::{RegisteredTool, Runs};
use crate::workers::repeat::Repeat;

/// A run of a call on this worker.
pub(super) struct PlacedRun {
    agent: Agent,
    tools: RunningCall,
    permit: Arc<ToolPermit>,
    pub(super) repeat: Repeat,
    /// Whether what it changes is committed.
    commits: bool,
    pub(super) fence: Option<Fence>,
}

/// Whether a call runs here now.
pub(super) enum RunsHere {
    Yes(PlacedRun),
    /// Another run of it was committed, with this note.
    Committed(String),
    /// It has ended.
    Ended,
    /// A commit to its workdir does not end.
    Later,
}

impl PlacedRun {
    /// Finds what a call runs.
    ///
    /// # Errors
    /// What the model reads if there is no such agent or tool.
    pub(super) fn of(
        bundle: &LoadedBundle,
        call: &WorkerCall,
        labels: &[String],
    ) -> Result<Self, ToolError> {
        let policy = &bundle.0.host.policy;
        let missing = |why: String| {
            let message = format!("Tool '{}' failed on its worker: {why}.", call.tool);
            ToolError::host(ToolErrorCode::NotFound, message, policy.locale())
        };
        let agent = bundle.agent(&call.agent);
        let agent = agent.map_err(|error| missing(error.to_string()))?;
        let tools = agent.0.tools.begin_call();
        let tools = tools.ok_or_else(|| missing("the bundle was unloaded".to_owned()))?;
        let tool = tools.registry.get(&call.tool);
        let tool = tool.ok_or_else(|| missing("the bundle does not have it".to_owned()))?;
        let resource = tool.item.name.resource();
        let mut permit = agent.0.permit(resource);
        let is_placed = match &permit.placement {
            Placement::Local => false,
            Placement::Any => true,
            Placement::Label(label) => labels.contains(label),
        };
        let asks = permit.ask.as_ref().is_some_and(|rules| rules.may_ask());
        if !is_placed || asks || permit.agents || permit.tools.is_some() {
            let message = format!(
                "The policy does not place tool '{}' on this worker.",
                call.tool
            );
            return Err(ToolError::host(
                ToolErrorCode::Denied,
                message,
                policy.locale(),
            ));
        }
        let deadline = Duration::from_millis(call.deadline_ms);
        if deadline < permit.limits.deadline {
            Arc::make_mut(&mut permit).limits.deadline = deadline;
        }
        let is_repeatable = policy.is_repeatable(&agent.0.name, resource);
        let (repeat, commits) = repeat_of(is_repeatable, tool, &permit);
        Ok(Self {
            agent,
            tools,
            permit,
            repeat,
            commits,
            fence: None,
        })
    }

    /// Lets one run of the call commit. A call that may have run before begins another run, after which no earlier one
    /// commits.
    pub(super) async fn fence(
        mut self,
        bundle: &LoadedBundle,
        call: &WorkerCall,
        is_again: bool,
        note: NoteOf,
    ) -> RunsHere {
        if !self.commits {
            return RunsHere::Yes(self);
        }
        let mut run = 1;
        let host = &bundle.0.host;
        if is_again
            && self.repeat == Repeat::CommitOnce
            && let Some(staging) = host.staging.clone()
        {
            let life = run_life(self.permit.limits.deadline);
            let (bundle, key, id) = (bundle.clone(), call.instance_key.clone(), call.id.clone());
            let begin = move || {
                let workdir = bundle
                    .instance_workspace(&key)
                    .map_err(|error| error.to_string())?;
                staging
                    .begin_run(&workdir, &id, life)
                    .map_err(|error| error.to_string())
            };
            let begun = host.sandbox.threads().wait(begin).await;
            let begun = begun.unwrap_or_else(|error| Err(error.to_string()));
            run = match begun {
                Ok(BegunRun::Begun(run)) => run,
                Ok(BegunRun::Committed(note)) => return RunsHere::Committed(note),
                Ok(BegunRun::Ended) => return RunsHere::Ended,
                Err(error) => {
                    tracing::warn!(call = %call.id, error, "a run could not be begun yet");
                    return RunsHere::Later;
                }
            };
        }
        let deadline = self.permit.limits.deadline;
        self.fence = Some(Fence::new(call.id.clone(), run, deadline, note));
        RunsHere::Yes(self)
    }

    /// Runs the call. Returns its result, and whether the component has answered.
    pub(super) async fn run(self, bundle: &LoadedBundle, call: &WorkerCall) -> (ToolResult, bool) {
        let locale = bundle.0.host.policy.locale();
        let failed = |code, why: &str| {
            let message = format!("Tool '{}' failed on its worker: {why}.", call.tool);
            let error = ToolError::host(code, message, locale);
            let result = ToolResult::error(&call.call_id, call.tool.as_str(), error);
            (result, false)
        };
        let Some(tool) = self.tools.registry.get(&call.tool) else {
            return failed(ToolErrorCode::NotFound, "the bundle does not have it");
        };
        let Runs::Component(component) = &tool.runs else {
            return failed(ToolErrorCode::NotFound, "it is no component");
        };
        let workdir = match bundle.instance_workspace(&call.instance_key) {
            Ok(workdir) => workdir,
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                tracing::error!(call = %call.id, error, "the workspace of a call cannot be opened");
                return failed(ToolErrorCode::Host, "its workspace cannot be opened");
            }
        };
        let instance = InstanceScope::open(&self.agent, call.instance_key.clone(), workdir);
        let trace = call.trace_id.as_str().into();
        let turn = TurnScope::new(&instance, &call.turn_id, trace, TurnOptions::default());
        let identity = CallIdentity {
            origin: Arc::clone(&turn.origin),
            step_id: call.step_id.as_str().into(),
            call_id: call.call_id.as_str().into(),
            tool_name: call.tool.as_str().into(),
        };
        let run = ComponentRun {
            turn: &turn,
            call: &identity,
            message: &call.message,
            tool,
            component,
            permit: self.permit,
            protected: bundle.0.host.protection.snapshot(),
            inner: None,
            outer: None,
            consent: None,
            handle: None,
            fence: self.fence,
        };
        let end = match run.answer(call.operation.clone()).await {
            Ok(mut ended) => {
                ended.refuse_unpollable();
                ended.finish(None).await
            }
            Err(refused) => refused,
        };
        let has_answered = end.has_answered;
        (left(&turn, tool, end.into_result(&identity)), has_answered)
    }
}

/// Removes the secrets of this worker's policy from a result.
fn left(turn: &TurnScope, tool: &RegisteredTool, result: ToolResult) -> ToolResult {
    let redactor = &turn.agent().host.redactor;
    exit(redactor, result, tool.error_message_limit)
}
