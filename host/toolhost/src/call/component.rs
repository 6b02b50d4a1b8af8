//! Runs a component: a handler, a poll for a pending result, or a cancellation.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;

use toolhost_contract::{AssistantMessage, FileChanges, HeldSecret, Recording, ToolError, Usage};
use toolhost_sandbox::{Invocation, Operation, PreparedTool, WriteProtected};

use super::access_tokens::SentToken;
use super::failure::answer_of;
use super::outcome::Answer;
use super::recorded::{Ended, RunRecord};
use super::scope::TurnScope;
use super::transaction::{CallTransaction, TransactionCall};
use super::workdir::{CallWorkdir, WorkdirTransaction};
use super::{access_tokens, output_schema, telemetry, workdir};
use crate::agent::Permit;
use crate::agents_port;
use crate::pending::record::PendingCall;
use crate::registry::{RegisteredTool, Runs};

/// One run of a component.
pub(crate) struct ComponentRun<'a> {
    pub(crate) turn: &'a TurnScope,
    /// Empty for a poll or a cancellation.
    pub(crate) step_id: &'a str,
    pub(crate) call_id: &'a str,
    pub(crate) message: &'a AssistantMessage,
    pub(crate) tool: &'a RegisteredTool,
    pub(crate) component: &'a PreparedTool,
    pub(crate) permit: Permit,
    pub(crate) protected: WriteProtected,
}

/// What a run of a component returned.
pub(crate) struct ComponentResult {
    pub(crate) answer: Result<Answer, ToolError>,
    pub(crate) usage: Usage,
    /// Whether the answer is the component's own; if not, the host did not start it, stopped it, or did not
    /// commit its changes.
    pub(crate) has_answered: bool,
    /// The file in which the host recorded the failed run.
    pub(crate) recording: Option<Arc<Path>>,
}

/// What a run needs before its component starts.
struct Prepared<'a> {
    directory: CallWorkdir,
    own: Option<CallTransaction<'a>>,
    /// The OAuth tokens in its grants.
    tokens: Vec<SentToken>,
    /// The secrets of its credential provider.
    redacted: Vec<HeldSecret>,
}

/// A component that has answered or was stopped. Its changes are not committed yet.
pub(crate) struct EndedRun<'a> {
    pub(crate) answer: Result<Answer, ToolError>,
    turn: &'a TurnScope,
    tool: &'a RegisteredTool,
    component: &'a PreparedTool,
    call_id: &'a str,
    message: &'a AssistantMessage,
    usage: Usage,
    has_answered: bool,
    /// Whether it was a cancellation, which has no output.
    is_cancellation: bool,
    own: Option<CallTransaction<'a>>,
    of_provider: Option<Box<dyn WorkdirTransaction>>,
    record: Option<RunRecord>,
    recorded: Option<Box<Recording>>,
}

impl<'a> ComponentRun<'a> {
    /// Runs the component in a fresh sandbox, and commits its changes if it succeeds.
    pub(crate) async fn run(self, operation: Operation) -> ComponentResult {
        let answered = pin!(self.answer(operation)).await;
        match answered {
            Ok(ended) => ended.finish().await,
            Err(refused) => refused,
        }
    }

    /// Runs the component in a fresh sandbox.
    ///
    /// # Errors
    /// The result of a run that could not begin.
    pub(crate) async fn answer(
        mut self,
        operation: Operation,
    ) -> Result<EndedRun<'a>, ComponentResult> {
        let (turn, tool) = (self.turn, self.tool);
        let is_cancellation = matches!(operation, Operation::Cancel { .. });
        let prepared = self.prepare().await;
        let Prepared {
            directory,
            own,
            tokens,
            redacted: _redacted,
        } = prepared.map_err(|error| ComponentResult {
            answer: Err(error),
            usage: Usage::default(),
            has_answered: false,
            recording: None,
        })?;
        let redactor = &turn.agent().host.redactor;
        let record = RunRecord::begin(turn, &operation, &self.permit);
        let agents = self.permit.agents;
        let agents = agents.then(|| agents_port::port(turn.agents.as_ref(), redactor));
        let invocation = Invocation {
            operation,
            context: turn.tool_context(self.call_id, self.message),
            workdir: Some(directory.workdir),
            protected: self.protected,
            grants: self.permit.grants,
            agents,
            log: turn.log_sink(self.call_id, tool),
            limits: self.permit.limits,
            record: record.as_ref().and_then(|record| record.options(redactor)),
        };
        let mut report = pin!(self.component.call(invocation)).await;
        telemetry::record_run(turn, tool, &report);
        let has_answered = report.outcome.is_ok();
        let recorded = report.recording.take();
        if !report.unauthorized.is_empty() {
            Box::pin(access_tokens::reject(tokens, &report.unauthorized, turn)).await;
        }
        let (answer, usage) = answer_of(report, tool, redactor, turn.locale());
        // Before the transaction ends: an output that does not fit is a failed call.
        let answer = output_schema::checked(turn, tool, answer).await;
        Ok(EndedRun {
            answer,
            turn,
            tool,
            component: self.component,
            call_id: self.call_id,
            message: self.message,
            usage,
            has_answered,
            is_cancellation,
            own,
            of_provider: directory.transaction,
            record,
            recorded,
        })
    }

    /// Adds the credentials of the call to its grants, opens its directory, and begins its transaction.
    async fn prepare(&mut self) -> Result<Prepared<'a>, ToolError> {
        let (turn, tool) = (self.turn, self.tool);
        let (credentials, redacted) = turn.credentials(tool.item.name.resource()).await?;
        credentials.add_to(&mut self.permit.grants);
        let uses = Arc::clone(&self.permit.oauth);
        let mut tokens = Vec::new();
        if !uses.is_empty() {
            let name = tool.item.name.resource();
            let added = access_tokens::add_to(&mut self.permit.grants, &uses, name, turn);
            tokens = Box::pin(added).await?;
        }
        let directory = turn.open_workdir(self.step_id, self.call_id, tool);
        let mut directory = directory.await?;
        let call = TransactionCall {
            tool: &tool.item.name,
            call_id: self.call_id,
            access: self.permit.grants.workdir,
            deadline: self.permit.limits.deadline,
            locale: turn.locale(),
        };
        let (changes, staging) = (self.permit.changes, turn.agent().host.staging.as_ref());
        let own = CallTransaction::begin(
            changes,
            staging,
            &mut directory.workdir,
            &self.protected,
            call,
        )?;
        Ok(Prepared {
            directory,
            own,
            tokens,
            redacted,
        })
    }
}

impl EndedRun<'_> {
    /// Commits the changes of a run that succeeded, drops those of another, and records the run.
    pub(crate) async fn finish(self) -> ComponentResult {
        let (turn, mut usage) = (self.turn, self.usage);
        let (is_ok, is_changed_in_place) = (self.answer.is_ok(), self.of_provider.is_none());
        let is_kept = |answer: &Answer| self.is_cancellation || is_kept(turn, self.tool, answer);
        let mut of_provider = self.of_provider;
        let answer = match self.own {
            Some(own) => {
                let host = &turn.agent().host;
                // In a box, so that the futures of calls without a transaction are smaller.
                let ended = own.end(self.answer, &mut usage, &host.sandbox, is_kept);
                let ended = Box::pin(ended).await;
                host.redactor.changes(&mut usage.changes);
                ended
            }
            None => self.answer,
        };
        if let Ok(answer) = &answer
            && of_provider.is_some()
            && !is_kept(answer)
        {
            // Dropped without a commit.
            of_provider = None;
            usage.changes_dropped |= !usage.changes.is_empty();
            usage.changes = FileChanges::default();
        }
        let answer = workdir::end_call(answer, of_provider, turn.locale()).await;
        if answer.is_err() && !is_changed_in_place {
            // The provider has dropped them.
            usage.changes = FileChanges::default();
        }
        let is_uncommitted = is_ok && answer.is_err();
        let recording = match self.record {
            Some(record) if answer.is_err() || self.recorded.is_some() => {
                let ended = Ended {
                    turn,
                    tool: self.tool,
                    facts: self.component.facts(),
                    context: turn.tool_context(self.call_id, self.message),
                    answer: &answer,
                    usage: &usage,
                    recording: self.recorded,
                };
                Box::pin(record.end(ended)).await
            }
            Some(_) | None => None,
        };
        ComponentResult {
            answer,
            usage,
            has_answered: self.has_answered && !is_uncommitted,
            recording,
        }
    }
}

/// Whether the changes of a call that succeeded are committed. An answer that has no output yet meets no condition.
fn is_kept(turn: &TurnScope, tool: &RegisteredTool, answer: &Answer) -> bool {
    let (agent, resource) = (turn.agent(), tool.item.name.resource());
    let of_export = tool.commit_when.as_deref();
    let when = (agent.host.policy).commit_when(&agent.name, resource, of_export);
    when.is_none_or(|when| match answer {
        Answer::Output(output) => when.holds(output),
        Answer::Pending(_) => false,
    })
}

/// Runs the component of a stored call again; none if the tool was removed or does not export polling.
pub(crate) fn stored_run<'a>(
    turn: &'a TurnScope,
    call: &'a PendingCall,
    tool: Option<&'a RegisteredTool>,
) -> Option<ComponentRun<'a>> {
    let tool = tool?;
    match &tool.runs {
        Runs::Component(component) if tool.polls() => Some(ComponentRun {
            turn,
            step_id: "",
            call_id: &call.call_id,
            message: &call.message,
            tool,
            component,
            permit: turn.agent().permit(tool.item.name.resource()),
            protected: turn.agent().host.protection.snapshot(),
        }),
        Runs::Component(_) | Runs::Native { .. } => None,
    }
}

/// Calls `cancel` of a component, whose handle will not be polled any more. Its answer is ignored.
pub(crate) async fn cancel(turn: &TurnScope, call: &PendingCall, guest_handle: String) {
    let Ok(running) = turn.begin_call() else {
        let tool = &*call.tool_name;
        tracing::warn!(
            tool,
            "the bundle was unloaded: a component cannot handle the cancellation of a call"
        );
        return;
    };
    let tool = running.registry.get(&*call.tool_name);
    if let Some(run) = stored_run(turn, call, tool) {
        let operation = Operation::Cancel {
            handle: guest_handle,
        };
        if !run.run(operation).await.has_answered {
            let tool = &*call.tool_name;
            tracing::warn!(
                tool,
                "a component did not handle the cancellation of a call"
            );
        }
    }
}
