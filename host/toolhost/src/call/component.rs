//! Runs a component: a handler, a poll for a pending result, or a cancellation.

use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use toolhost_contract::{
    AssistantMessage, CommitCondition, ErrorCode, FileChanges, HeldSecret, Recording, ToolError,
    ToolErrorCode, Usage, WorkdirAccess, WorkdirChanges,
};
use toolhost_sandbox::{EffectsPort, HeldChanges, Invocation, Operation};

use super::access_tokens::SentToken;
use super::consent::gate::Gate;
use super::consent::{self, HeldCall};
use super::exit::exit;
use super::failure::end_of;
use super::inner::InnerCalls;
use super::outer::JoinedTransaction;
use super::recorded::{self, record};
use super::run::{Answer, ComponentRun, RunEnd, result_of};
use super::scope::TurnScope;
use super::transaction::{CallTransaction, TransactionCall, TransactionEnding};
use super::transaction_part::TransactionPart;
use super::{access_tokens, output_schema, telemetry};
use crate::agent::ToolPermit;
use crate::agents_port;
use crate::middleware::CallIdentity;
use crate::pending::record::{Handle, NewHold, PendingCall};
use crate::registry::{RegisteredTool, Runs};
use crate::workdir_provider::{CallWorkdir, WorkdirTransaction, end_call};

/// What a run needs before its component starts.
struct Prepared<'a> {
    directory: CallWorkdir,
    own: Option<CallTransaction<'a>>,
    /// Dropped with the run, too: a call that is stopped keeps nothing.
    part: Option<TransactionPart>,
    /// The OAuth tokens in its grants.
    tokens: Vec<SentToken>,
    /// The secrets of its credential provider.
    redacted: Vec<HeldSecret>,
}

/// A component that has answered or was stopped. Its changes are not committed yet.
pub(crate) struct EndedRun<'a> {
    pub(crate) end: RunEnd,
    run: ComponentRun<'a>,
    operation: Arc<Operation>,
    own: Option<CallTransaction<'a>>,
    /// Its part of the transaction of a call around it.
    part: Option<TransactionPart>,
    of_provider: Option<Box<dyn WorkdirTransaction>>,
    /// The whole recording, for the recorder.
    recording: Option<Box<Recording>>,
    /// Whether a worker ran it: it has committed and recorded the run.
    is_placed: bool,
}

impl<'a> ComponentRun<'a> {
    /// Polls or cancels a call: runs the component in a fresh sandbox, and commits its changes if it succeeds.
    pub(crate) async fn run(self, operation: Operation) -> RunEnd {
        let (turn, budgets) = (self.turn, self.permit.budgets.clone());
        let answered = pin!(self.answer(operation)).await;
        let end = match answered {
            Ok(ended) => ended.finish(None).await,
            Err(refused) => refused,
        };
        if let Some(budgets) = &budgets {
            let host = &turn.agent().host;
            (host.budgets).add_later(budgets, &turn.instance.caller(), &end.usage);
        }
        end
    }

    /// Runs the component in a fresh sandbox.
    ///
    /// # Errors
    /// The end of a run that could not begin.
    pub(crate) async fn answer(mut self, operation: Operation) -> Result<EndedRun<'a>, RunEnd> {
        let (turn, tool) = (self.turn, self.tool);
        if let Some(destination) = self.destination() {
            // In a box, so that the futures of other calls are smaller.
            let end = Box::pin(self.run_on_worker(destination, &operation)).await;
            return Ok(EndedRun::placed(self, operation, end));
        }
        let component = match self.component.ready() {
            Some(ready) => ready,
            // In a box, so that the futures of other calls are smaller.
            None => {
                let compiled = Box::pin(self.component.for_call(turn.locale())).await;
                compiled.map_err(RunEnd::refused)?
            }
        };
        let prepared = self.prepare().await;
        let Prepared {
            directory,
            own,
            part,
            tokens,
            redacted: _redacted,
        } = prepared.map_err(RunEnd::refused)?;
        let redactor = &turn.agent().host.redactor;
        let operation = Arc::new(operation);
        let permit = &self.permit;
        let agents = permit.agents.then(|| {
            let port = agents_port::port(turn.options.agents.as_ref(), redactor);
            match &self.consent {
                None => port,
                Some(consent) => consent::gated_agents(port, consent),
            }
        });
        let invocation = Invocation {
            operation: Arc::clone(&operation),
            context: self.call.tool_context(self.message),
            workdir: Some(directory.workdir),
            protected: std::mem::take(&mut self.protected),
            grants: permit.grants.clone(),
            agents,
            effects: self
                .consent
                .clone()
                .map(|gate| gate as Arc<dyn EffectsPort>),
            tools: self.inner.as_ref().map(InnerCalls::port),
            outer: self.outer.as_ref().map(|outer| outer.caller.clone()),
            log: turn.log_sink(self.call),
            limits: permit.limits.clone(),
            record: recorded::options(turn),
        };
        let began = Instant::now();
        let mut report = {
            let running = pin!(component.call(invocation));
            // In boxes, so that the futures of other calls are smaller.
            match (&self.inner, &self.consent) {
                (None, None) => running.await,
                (Some(inner), None) => Box::pin(inner.drive(running)).await,
                (inner, Some(consent)) => {
                    let running = async {
                        match inner {
                            None => running.await,
                            Some(inner) => inner.drive(running).await,
                        }
                    };
                    match Box::pin(consent.until_held(running)).await {
                        Ok(report) => report,
                        Err(held) => return Err(Box::pin(self.hold(held, &operation)).await),
                    }
                }
            }
        };
        telemetry::record_run(turn, tool, &report);
        let recording = report.recording.take();
        if !report.unauthorized.is_empty() {
            Box::pin(access_tokens::reject(tokens, &report.unauthorized, turn)).await;
        }
        let mut end = end_of(report, tool, redactor, turn.locale());
        if let Some(inner) = &self.inner {
            end.usage.tool_calls = inner.usage();
            let deadline = began + permit.limits.deadline;
            if let (Err(error), Some(call)) = (&mut end.answer, inner.running_at(deadline))
                && error.code == ErrorCode::Host(ToolErrorCode::Timeout)
            {
                error.message = format!("{} When it was stopped, {call}.", error.message);
            }
        }
        // Before the transaction ends: an output that does not fit is a failed call.
        end.answer = output_schema::checked(turn, tool, end.answer).await;
        Ok(EndedRun {
            end,
            run: self,
            operation,
            own,
            part,
            of_provider: directory.transaction,
            recording,
            is_placed: false,
        })
    }

    /// Holds the call at what its component came to.
    async fn hold(&self, held: (NewHold, Option<String>), operation: &Operation) -> RunEnd {
        if matches!(operation, Operation::Cancel { .. }) {
            let tool = &self.tool.item.name;
            let message = format!(
                "Tool '{tool}' may do this only with consent, and a cancelled call waits for none."
            );
            let locale = self.turn.locale();
            return RunEnd::refused(ToolError::host(ToolErrorCode::Denied, message, locale));
        }
        let permit = self.turn.agent().permit(self.tool.item.name.resource());
        let input = consent::input_of(operation);
        held_call(self, &permit, None)
            .hold_effect(held, input)
            .await
    }

    /// Lets the effects of a poll or a cancellation wait. Its changes are kept apart, whatever the policy says of those of
    /// the call.
    pub(crate) fn wait_with(&mut self, consent: Option<Arc<Gate>>) {
        if consent.is_some() && self.permit.changes == WorkdirChanges::Direct {
            Arc::make_mut(&mut self.permit).changes = WorkdirChanges::Transactional;
        }
        self.consent = consent;
    }

    /// Whether its changes are a part of the transaction of a call around it.
    pub(super) fn joins_transaction(&self) -> bool {
        self.joined().is_some()
    }

    /// The transaction of a call around it, of which its changes are a part.
    fn joined(&self) -> Option<&Arc<JoinedTransaction>> {
        self.outer.as_ref()?.transaction.as_ref()
    }

    /// Makes the changes of its inner calls a part of a transaction.
    fn join_inner(&self, transaction: &Arc<JoinedTransaction>) {
        if let Some(inner) = &self.inner {
            inner.join(transaction);
        }
    }

    /// Adds the credentials of the call to its grants, opens its directory, and begins its transaction.
    async fn prepare(&mut self) -> Result<Prepared<'a>, ToolError> {
        let (turn, tool) = (self.turn, self.tool);
        let (credentials, redacted) = turn.credentials(tool.item.name.resource()).await?;
        if !credentials.is_empty() {
            credentials.add_to(&mut Arc::make_mut(&mut self.permit).grants);
        }
        let uses = Arc::clone(&self.permit.oauth);
        let mut tokens = Vec::new();
        if !uses.is_empty() {
            let name = tool.item.name.resource();
            let grants = &mut Arc::make_mut(&mut self.permit).grants;
            tokens = Box::pin(access_tokens::add_to(grants, &uses, name, turn)).await?;
        }
        if let Some(joined) = self.joined() {
            let is_transactional = self.permit.changes != WorkdirChanges::Direct;
            let part = is_transactional.then(|| TransactionPart::begin(joined, self.call));
            let joined = part.as_ref().map_or(joined, TransactionPart::joined);
            self.join_inner(joined);
            let directory = CallWorkdir {
                workdir: joined.workdir.clone(),
                transaction: None,
            };
            return Ok(Prepared {
                directory,
                own: None,
                part,
                tokens,
                redacted,
            });
        }
        let directory = turn.open_workdir(self.call);
        let mut directory = directory.await?;
        if self.consent.is_some() && directory.transaction.is_some() {
            let message = format!(
                "Tool '{}' failed: its changes cannot wait for approval, as its workdir has transactions of its own.",
                tool.item.name
            );
            let code = ToolErrorCode::WorkdirStaging;
            return Err(ToolError::host(code, message, turn.locale()));
        }
        let call = TransactionCall {
            tool: &tool.item.name,
            call: self.call,
            // What it may not change itself, the tools that it calls may.
            access: if self.inner.is_some() {
                WorkdirAccess::ReadWrite
            } else {
                self.permit.grants.workdir
            },
            deadline: self.permit.limits.deadline,
            diffs: (turn.agent().host.events.ring()).is_some_and(|ring| ring.keeps_diffs()),
        };
        let (changes, staging) = (self.permit.changes, turn.agent().host.staging.as_ref());
        let own = CallTransaction::begin(
            changes,
            staging,
            &mut directory.workdir,
            &self.protected,
            call,
        )?;
        if let Some(own) = &own {
            self.join_inner(own.joined());
        }
        Ok(Prepared {
            directory,
            own,
            part: None,
            tokens,
            redacted,
        })
    }
}

impl<'a> EndedRun<'a> {
    /// A run that a worker has ended.
    fn placed(run: ComponentRun<'a>, operation: Operation, end: RunEnd) -> Self {
        Self {
            end,
            run,
            operation: Arc::new(operation),
            own: None,
            part: None,
            of_provider: None,
            recording: None,
            is_placed: true,
        }
    }

    /// Refuses the handle of a component that cannot be polled.
    pub(crate) fn refuse_unpollable(&mut self) {
        let tool = self.run.tool;
        if !matches!(self.end.answer, Ok(Answer::Pending(_))) || tool.polls() {
            return;
        }
        let name = &tool.item.name;
        let message = format!(
            "Tool '{name}' failed: it returned pending but does not export goondan:tool/polling."
        );
        let code = ToolErrorCode::InvalidOutput;
        self.end.answer = Err(ToolError::host(code, message, self.run.turn.locale()));
    }

    /// Commits the changes of a run that succeeded, drops those of another, and records the run.
    ///
    /// `handle` is the one that the host has just given to the answer.
    pub(crate) async fn finish(self, handle: Option<Handle>) -> RunEnd {
        let Self {
            mut end,
            run,
            operation,
            own,
            part,
            mut of_provider,
            recording,
            is_placed,
        } = self;
        if is_placed {
            return end;
        }
        let turn = run.turn;
        let (was_ok, is_changed_in_place) = (end.answer.is_ok(), of_provider.is_none());
        let is_cancellation = matches!(*operation, Operation::Cancel { .. });
        // A cancellation has no output.
        let when = commit_when(turn, run.tool).filter(|_| !is_cancellation);
        let is_kept = |answer: &Answer| when.is_none_or(|when| answer.meets(when));
        let rules = run.consent.as_ref().map(|gate| gate.rules());
        if let Some(part) = part {
            end.answer = part.end(end.answer, when, rules);
        }
        if let Some(own) = own {
            let host = &turn.agent().host;
            // In a box, so that the futures of calls without a transaction are smaller.
            let fence = run.fence.as_ref().and_then(|fence| {
                let answer = end.answer.as_ref().ok()?;
                let result = result_of(Ok(answer.clone()), run.call).with_usage(end.usage.clone());
                let limit = run.tool.error_message_limit;
                Some((fence, (exit(&host.redactor, result, limit), &host.redactor)))
            });
            let ending = TransactionEnding {
                is_kept,
                rules,
                fence,
            };
            let ending = own.end(end.answer, &mut end.usage, &host.sandbox, ending);
            let ended = Box::pin(ending).await;
            host.redactor.changes(&mut end.usage.changes);
            end.answer = match ended {
                Ok((answer, None)) => Ok(answer),
                Ok((answer, Some(held))) => {
                    let wait =
                        hold_changes(&run, &operation, (answer, held), &mut end.usage, handle);
                    Box::pin(wait).await
                }
                Err(error) => Err(error),
            };
        }
        let usage = &mut end.usage;
        if let Ok(answer) = &end.answer
            && of_provider.is_some()
            && !is_kept(answer)
        {
            // Dropped without a commit.
            of_provider = None;
            usage.changes_dropped |= !usage.changes.is_empty();
            usage.changes = FileChanges::default();
        }
        end.answer = end_call(end.answer, of_provider, turn.locale()).await;
        if end.answer.is_err() && !is_changed_in_place {
            // The provider has dropped them.
            usage.changes = FileChanges::default();
        }
        end.has_answered &= !was_ok || end.answer.is_ok();
        if end.answer.is_err() || recording.is_some() {
            let recorded = Box::pin(record(&run, &operation, &end, recording)).await;
            end.recording = recorded;
        }
        end
    }
}

/// Returns the call of a run, to be held: with the handle that it has, or has just got.
fn held_call<'r>(
    run: &'r ComponentRun<'_>,
    permit: &'r ToolPermit,
    handle: Option<Handle>,
) -> HeldCall<'r> {
    HeldCall {
        turn: run.turn,
        call: run.call,
        message: run.message,
        tool: run.tool,
        permit,
        handle: run.handle.clone().or(handle),
        is_inner: run.outer.is_some(),
    }
}

/// Holds the changes of a call, with what it answered and used.
async fn hold_changes(
    run: &ComponentRun<'_>,
    operation: &Operation,
    (answer, held): (Answer, HeldChanges),
    usage: &mut Usage,
    handle: Option<Handle>,
) -> Result<Answer, ToolError> {
    if matches!(operation, Operation::Cancel { .. }) {
        let tool = run.tool.item.name.as_str();
        tracing::warn!(
            tool,
            "what a cancelled call changed needs approval, and was dropped"
        );
        drop(held);
        usage.changes = FileChanges::default();
        return Ok(answer);
    }
    let stored = result_of(Ok(answer), run.call).with_usage(usage.clone());
    let permit = run.turn.agent().permit(run.tool.item.name.resource());
    let held = held_call(run, &permit, handle)
        .hold_changes(held, stored, consent::input_of(operation))
        .await;
    match held {
        // The result that is stored has it.
        Ok(_) => *usage = Usage::default(),
        Err(_) => {
            usage.changes_dropped = true;
            usage.changes = FileChanges::default();
        }
    }
    held
}

/// Returns which outputs mean that the changes of a call are committed; none: all.
fn commit_when<'t>(turn: &'t TurnScope, tool: &'t RegisteredTool) -> Option<&'t CommitCondition> {
    let (agent, resource) = (turn.agent(), tool.item.name.resource());
    let of_export = tool.commit_when.as_deref();
    (agent.host.policy).commit_when(&agent.name, resource, of_export)
}

/// Runs the component of a stored call again; none if the tool was removed or does not export polling.
pub(crate) fn stored_run<'a>(
    turn: &'a TurnScope,
    call: &'a CallIdentity,
    message: &'a AssistantMessage,
    tool: Option<&'a RegisteredTool>,
    handle: Option<Handle>,
) -> Option<ComponentRun<'a>> {
    let tool = tool?;
    match &tool.runs {
        Runs::Component(component) if tool.polls() => Some(ComponentRun {
            consent: None,
            fence: None,
            handle,
            turn,
            call,
            message,
            tool,
            component,
            permit: turn.agent().permit(tool.item.name.resource()),
            protected: turn.agent().host.protection.snapshot(),
            inner: None,
            outer: None,
        }),
        Runs::Component(_) | Runs::Native { .. } | Runs::Catalog { .. } => None,
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
    let identity = turn.stored_identity(call);
    if let Some(mut run) = stored_run(turn, &identity, &call.message, tool, None) {
        match consent::check_cancellation(turn, &run.permit) {
            Ok(consent) => run.wait_with(consent),
            Err(_) => return,
        }
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
