//! Calls that wait for consent, and what becomes of them once somebody has decided.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use toolhost_contract::{
    AwaitingApproval, HeldEffect, Timestamp, ToolError, ToolErrorCode, ToolName, ToolResult,
    ToolStatus, WorkdirChanges,
};
use toolhost_sandbox::{CommitError, CommitOptions, Durability, HeldError, HeldState, StagingRoot};
use toolhost_store::Database;

use super::guest_poll::in_layers;
use super::poll_reply::PollReply;
use super::running::BackgroundCall;
use crate::call::consent;
use crate::call::executor;
use crate::call::inner::released::ReleasedInner;
use crate::call::scope::{CallScope, InstanceScope, TurnScope};
use crate::middleware::Progress;
use crate::pending::PendingCalls;
use crate::pending::record::{Handle, Hold, Record, State, Taking};

/// How often the store is asked for decisions.
pub(super) const ASK_EVERY: Duration = Duration::from_millis(500);

/// How often a call that waits for another one asks for the decision about that.
const ASK_INNER: Duration = Duration::from_millis(50);

/// What a poll of a call that waits returns.
pub(super) enum Released {
    /// It waits on.
    Waits(ToolResult),
    /// It has ended with this result, which is to be stored.
    Ended(ToolResult),
    /// It has run, or waits for its component: its record says how it is.
    Changed,
    /// Its component is polled, with this consent.
    Polled(Arc<Hold>, String),
}

/// What becomes of staged changes that somebody has consented to.
enum Commit {
    /// They are committed, and this is what the call answered.
    Done(Box<ToolResult>),
    /// They are not what was shown.
    Again,
    /// They cannot be committed now, and wait on.
    Later,
    Failed(ToolError),
}

/// Releases the calls of an instance once somebody has decided about them, as long as the instance is used.
pub(crate) fn watch(instance: &Arc<InstanceScope>) {
    let (pending, owner) = (instance.pending(), instance.owner());
    let (watch, asks) = pending.waiting.add(owner.clone(), instance.agents());
    let threads = pending.sandbox.threads();
    if asks {
        // It outlives the caller's runtime, as another instance may wait by then.
        threads.spawn_own(ask(Arc::downgrade(pending)));
    }
    let (weak, scope) = (Arc::downgrade(pending), Arc::downgrade(instance));
    threads.spawn(async move {
        loop {
            watch.decided.notified().await;
            let Some(pending) = weak.upgrade().filter(|it| it.waiting.has(&owner, &watch)) else {
                return;
            };
            let Some(instance) = scope.upgrade() else {
                return pending.waiting.remove(&owner, &watch);
            };
            let Ok(records) = pending.records().await else {
                continue;
            };
            let due = records.due(&owner, SystemTime::now()).await;
            for (id, handle) in due.unwrap_or_default() {
                let Some(permit) = watch.releases.begin(id).await else {
                    continue;
                };
                release_one(&pending, &instance, handle, permit);
            }
            if records.has_open(&owner).await.is_ok_and(|open| !open) {
                // A call that waits from now on is watched anew.
                return pending.waiting.remove(&owner, &watch);
            }
        }
    });
}

/// Does in the background what somebody has decided about a call. The permit is held until that is done.
pub(super) fn release_one(
    pending: &Arc<PendingCalls>,
    instance: &Arc<InstanceScope>,
    handle: Handle,
    permit: Arc<OwnedSemaphorePermit>,
) {
    let (calls, scope) = (Arc::clone(pending), Arc::clone(instance));
    pending.sandbox.threads().spawn(async move {
        let PollReply { result, has_ended } = calls.poll_once(&scope, &handle).await;
        drop(permit);
        let is_pending = result.status() == ToolStatus::Pending;
        // Nobody else may poll its component.
        if is_pending && !has_ended && result.awaits_approval().is_none() {
            calls.poll_until_ended(&scope, &handle).await;
        }
    });
}

/// Asks the store for decisions while any instance waits: another process may have made them.
async fn ask(pending: Weak<PendingCalls>) {
    let mut has_failed = false;
    while let Some(calls) = pending.upgrade() {
        let owners = calls.waiting.to_ask();
        if owners.is_empty() {
            return;
        }
        if let Ok(records) = calls.records().await {
            match records.owners_due(owners, SystemTime::now()).await {
                Ok(due) => {
                    has_failed = false;
                    due.iter().for_each(|owner| calls.waiting.notify(owner));
                }
                Err(error) if !has_failed => {
                    has_failed = true;
                    let error = error.with_causes();
                    tracing::warn!(%error, "decisions about waiting calls cannot be read");
                }
                Err(_) => {}
            }
        }
        let threads = calls.sandbox.threads().clone();
        drop(calls);
        threads.pause(ASK_EVERY).await;
    }
}

impl PendingCalls {
    /// Does what somebody has consented to, if so.
    pub(super) async fn release(
        &self,
        turn: &Arc<TurnScope>,
        record: &Record,
        guest_handle: Option<&String>,
    ) -> Result<Released, ToolError> {
        let records = self.records().await?;
        let hold = records.hold_of(&record.handle).await;
        let hold = hold.map_err(|error| self.store_error(&error))?;
        let Some(hold) = hold else {
            let message = "What the call waits for was removed from the state root.";
            return Ok(Released::Ended(
                record.failed(self.error(ToolErrorCode::Host, message)),
            ));
        };
        // The call around it does what was approved.
        let is_inner = matches!(&record.state, State::Held { inner_of, .. } if inner_of.is_some());
        if is_inner {
            return Ok(Released::Waits(waiting(record, &hold)));
        }
        match self.decision(record, &hold) {
            None => return Ok(Released::Waits(waiting(record, &hold))),
            Some(Err(error)) => return Ok(Released::Ended(record.failed(error))),
            Some(Ok(())) => {}
        }
        // Once the bundle is loaded again, or a turn of the instance has a client for other agents, it is released.
        let cannot_run = turn.begin_call().is_err()
            || hold.effect == HeldEffect::Agents && turn.options.agents.is_none();
        let is_elsewhere = records.is_released_elsewhere(&hold).await;
        let is_elsewhere = is_elsewhere.map_err(|error| self.store_error(&error))?;
        if cannot_run || is_elsewhere || self.is_staged_elsewhere(&hold) {
            return Ok(Released::Waits(waiting(record, &hold)));
        }
        let taking = match (hold.effect, guest_handle) {
            (HeldEffect::Workdir, _) => Taking::Commit,
            (_, Some(guest_handle)) => Taking::Poll(guest_handle.clone()),
            (_, None) => Taking::Run,
        };
        let was_taken = hold.released_by.is_some();
        let taken = records.take_approved(hold, taking.clone()).await;
        let Some(hold) = taken.map_err(|error| self.store_error(&error))? else {
            return Ok(Released::Changed);
        };
        match taking {
            Taking::Commit => self.release_changes(turn, record, hold, was_taken).await,
            Taking::Poll(guest_handle) => Ok(Released::Polled(Arc::new(hold), guest_handle)),
            Taking::Run => {
                self.run_again(turn, record, Arc::new(hold)).await;
                Ok(Released::Changed)
            }
        }
    }

    /// Waits until somebody has decided about a call that another one waits for, and does what was approved if that is to
    /// keep its changes. Otherwise the record ends, and the call runs again with what is returned.
    pub(crate) async fn release_inner(
        &self,
        turn: &Arc<TurnScope>,
        handle: &str,
    ) -> Result<ReleasedInner, ToolError> {
        let unknown = || self.error(ToolErrorCode::Cancelled, "The pending call was cancelled.");
        let handle = Handle::parse(handle).ok_or_else(unknown)?;
        let records = self.records().await?;
        let record = self.find(&turn.instance, &handle).await?;
        let threads = self.sandbox.threads();
        let ended = loop {
            let hold = records.hold_of(&handle).await;
            let hold = hold.map_err(|error| self.store_error(&error))?;
            let hold = hold.ok_or_else(unknown)?;
            match self.decision(&record, &hold) {
                None => {
                    threads.pause(ASK_INNER).await;
                    continue;
                }
                Some(Err(error)) => break Err(error),
                Some(Ok(())) => {}
            }
            let is_commit = hold.effect == HeldEffect::Workdir;
            let taking = if is_commit {
                Taking::Commit
            } else {
                Taking::Run
            };
            let taken = records.take_approved(hold, taking).await;
            let taken = taken.map_err(|error| self.store_error(&error))?;
            let hold = taken.ok_or_else(unknown)?;
            if !is_commit {
                break Ok(ReleasedInner::Again(Arc::new(hold)));
            }
            // On a task of its own: if the call around it is stopped meanwhile, it is stored all the same.
            let (send, committed) = oneshot::channel();
            let (pending, turn, record) =
                (Arc::clone(turn.pending()), Arc::clone(turn), record.clone());
            threads.spawn(async move {
                let ended = pending.commit_inner(&turn, &record, hold).await;
                // The receiver may have been dropped.
                let _is_received = send.send(ended).is_ok();
            });
            match committed.await.map_err(|_| unknown())?? {
                Some(ReleasedInner::Again(release)) => break Ok(ReleasedInner::Again(release)),
                Some(ended) => return Ok(ended),
                None => threads.pause(ASK_EVERY).await,
            }
        };
        self.withdraw(&handle, &turn.instance.owner()).await;
        ended
    }

    /// Commits the staged changes of a call that another one waits for. None if that has to be tried again.
    async fn commit_inner(
        &self,
        turn: &Arc<TurnScope>,
        record: &Record,
        hold: Hold,
    ) -> Result<Option<ReleasedInner>, ToolError> {
        let (records, call) = (self.records().await?, &record.call);
        let result = match self.commit_approved(turn, record, &hold, false).await {
            Commit::Done(answer) => match answer.handle() {
                Some(guest_handle) => {
                    let waits = self.wait_for_guest(&record.handle, guest_handle.to_owned());
                    waits.await?;
                    let handle = record.handle.as_str().to_owned();
                    let pending = ToolResult::pending(&call.call_id, &call.tool_name, handle);
                    return Ok(Some(ReleasedInner::Ended(Box::new(pending))));
                }
                None => answered(turn, record, *answer).await,
            },
            Commit::Again => {
                self.forget_changes(&record.handle, &hold).await?;
                return Ok(Some(ReleasedInner::Again(Arc::new(hold.without_consent()))));
            }
            Commit::Later => return Ok(None),
            Commit::Failed(error) => record.failed(error),
        };
        let stored = records.complete(&record.handle, &result).await;
        stored.map_err(|error| self.store_error(&error))?;
        Ok(Some(ReleasedInner::Ended(Box::new(result))))
    }

    /// Returns what was decided about what a call waits for, none while it waits. What was refused, or nobody decided about in
    /// time, is its error, and its changes are dropped.
    fn decision(&self, record: &Record, hold: &Hold) -> Option<Result<(), ToolError>> {
        let name = &record.call.tool_name;
        let (code, message) = match &hold.decision {
            Some(decision) if decision.is_approved => return Some(Ok(())),
            Some(decision) => {
                let why = decision.why.as_ref().map(|why| format!(": {why}"));
                let why = why.unwrap_or_else(|| ".".to_owned());
                let message = format!("The call of tool '{name}' was not approved{why}");
                (ToolErrorCode::ApprovalDenied, message)
            }
            None if hold.expires_at > SystemTime::now() => return None,
            None => {
                let message = format!("Nobody approved the call of tool '{name}' in time.");
                (ToolErrorCode::ApprovalExpired, message)
            }
        };
        self.drop_changes(hold);
        Some(Err(self.error(code, message)))
    }

    /// Whether the changes of a call were staged on another machine, which alone can commit them.
    fn is_staged_elsewhere(&self, hold: &Hold) -> bool {
        let is_here = |(staging, id): (&StagingRoot, &String)| staging.held(id) != HeldState::Gone;
        let is_shared = self.database.as_ref().is_some_and(Database::is_shared);
        is_shared && hold.staging.is_some() && {
            let staged = self.staging.as_ref().zip(hold.staging.as_ref());
            !staged.is_some_and(is_here)
        }
    }

    pub(super) fn drop_changes(&self, hold: &Hold) {
        if let (Some(staging), Some(id)) = (&self.staging, &hold.staging) {
            staging.drop_held(id);
        }
    }

    /// Commits staged changes that somebody has consented to. `was_taken`: a process began before, and was killed or could
    /// not store it.
    async fn release_changes(
        &self,
        turn: &Arc<TurnScope>,
        record: &Record,
        hold: Hold,
        was_taken: bool,
    ) -> Result<Released, ToolError> {
        let answer = match self.commit_approved(turn, record, &hold, was_taken).await {
            Commit::Done(answer) => *answer,
            Commit::Later => return Ok(Released::Waits(waiting(record, &hold))),
            Commit::Failed(error) => return Ok(Released::Ended(record.failed(error))),
            Commit::Again => {
                if self.forget_changes(&record.handle, &hold).await? {
                    self.run_again(turn, record, Arc::new(hold.without_consent()))
                        .await;
                }
                return Ok(Released::Changed);
            }
        };
        match answer.handle() {
            // Its component is polled from now on.
            Some(guest_handle) => {
                let waits = self.wait_for_guest(&record.handle, guest_handle.to_owned());
                waits.await?;
                Ok(Released::Changed)
            }
            None => Ok(Released::Ended(answered(turn, record, answer).await)),
        }
    }

    /// Stores that a call runs again, in this process, as what was approved cannot be done as it was shown. Returns false if
    /// it does not wait any more.
    async fn forget_changes(&self, handle: &Handle, hold: &Hold) -> Result<bool, ToolError> {
        let runs = self.records().await?.run_again(handle).await;
        let runs = runs.map_err(|error| self.store_error(&error))?;
        if runs {
            tracing::info!(%hold.id, "what was approved cannot be done as it was shown: the call runs again");
            // It is stored that they are not committed: without that, nobody could tell why they are gone.
            self.drop_changes(hold);
        }
        Ok(runs)
    }

    /// Commits staged changes that somebody has consented to, if they are what was shown.
    async fn commit_approved(
        &self,
        turn: &TurnScope,
        record: &Record,
        hold: &Hold,
        was_taken: bool,
    ) -> Commit {
        let (Some(staging), Some(id), Some(answer)) = (&self.staging, &hold.staging, &hold.answer)
        else {
            let message = "The changes of the call are not in the state root.";
            return Commit::Failed(self.error(ToolErrorCode::Host, message));
        };
        let is_bound = bound_now(turn, record).is_some_and(|bound| bound == hold.bound);
        match staging.held(id) {
            HeldState::Committed => Commit::Done(Box::new(answer.clone())),
            HeldState::Waiting if is_bound => {
                match self.commit(turn, staging, record, hold).await {
                    Some(true) => Commit::Done(Box::new(answer.clone())),
                    Some(false) => Commit::Again,
                    None => Commit::Later,
                }
            }
            // Another process committed them, and they could be undone no longer.
            HeldState::Gone if was_taken => {
                let name = &record.call.tool_name;
                let message = format!(
                    "Tool '{name}' was interrupted: the host stopped while it kept the changes that were approved."
                );
                Commit::Failed(self.error(ToolErrorCode::Interrupted, message))
            }
            HeldState::Waiting | HeldState::Gone => Commit::Again,
        }
    }

    /// Commits changes. Returns whether they are what was shown; none if they cannot be committed now.
    async fn commit(
        &self,
        turn: &TurnScope,
        staging: &StagingRoot,
        record: &Record,
        hold: &Hold,
    ) -> Option<bool> {
        let host = &turn.agent().host;
        let mut options = CommitOptions::default();
        options.protected = host.protection.snapshot();
        options.label = format!("{} {}", record.call.tool_name, record.call.call_id);
        let permit = match ToolName::parse(&record.call.tool_name) {
            Ok(tool) => turn.agent().permit(tool.resource()),
            Err(_) => Arc::default(),
        };
        if permit.changes == WorkdirChanges::Durable {
            options.durability = Durability::Power;
        }
        let identity = turn.stored_identity(&record.call);
        let workdir = match turn.open_workdir(&identity).await {
            Ok(directory) => Ok(directory.workdir),
            Err(error) => Err(error.message),
        };
        let error = match workdir {
            Err(error) => error,
            Ok(workdir) => {
                let (staging, id) = (staging.clone(), hold.staging.clone().unwrap_or_default());
                let digest = hold.digest.clone();
                let committed = move || staging.commit_held(&workdir, &id, &digest, &options);
                match host.sandbox.threads().wait(committed).await {
                    Ok(Ok(_)) => return Some(true),
                    Ok(Err(
                        HeldError::Changed | HeldError::Commit(CommitError::Conflict { .. }),
                    )) => return Some(false),
                    Ok(Err(error)) => error.to_string(),
                    Err(error) => error.to_string(),
                }
            }
        };
        tracing::warn!(
            tool = record.call.tool_name,
            error,
            "approved changes cannot be kept now: they wait on"
        );
        if let Ok(records) = self.records().await {
            // If that fails, it is taken over once this process has ended.
            let _is_given_back = records.give_back(&hold.id).await.is_ok();
        }
        None
    }

    /// Runs a call with what somebody has consented to, and stores its result, or what it waits for by now.
    async fn run_again(&self, turn: &Arc<TurnScope>, record: &Record, release: Arc<Hold>) {
        let call = &record.call;
        let identity = turn.stored_identity(call);
        let background = BackgroundCall::begin(turn, &record.handle, &identity);
        let stopped = Arc::clone(&background.stopped);
        let scope = CallScope::resumed(Arc::clone(turn), record.handle.clone(), release);
        let core = {
            let (again, message) = (call.tool_call(), call.message.clone());
            let identity = identity.clone();
            move |progress: Arc<Progress>| -> BoxFuture<'static, ToolResult> {
                Box::pin(async move {
                    executor::run_stored(&scope, again, &identity, &message, &progress).await
                })
            }
        };
        let running = Box::pin(in_layers(turn, call, core));
        let result = tokio::select! {
            biased;
            () = stopped.notified() => None,
            result = running => Some(result),
        };
        match result {
            Some(result) if result.handle().is_none() => background.settle(result).await,
            Some(_) | None => background.release(),
        }
    }
}

/// Lets the answer of a call pass the layers of its agent.
async fn answered(turn: &Arc<TurnScope>, record: &Record, answer: ToolResult) -> ToolResult {
    let core = move |_| -> BoxFuture<'static, ToolResult> { Box::pin(async { answer }) };
    in_layers(turn, &record.call, core).await
}

/// Returns what an approval of a stored call would be bound to now. None if its tool was removed.
fn bound_now(turn: &TurnScope, record: &Record) -> Option<String> {
    let running = turn.begin_call().ok()?;
    let tool = running.registry.get(&*record.call.tool_name)?;
    let permit = turn.agent().permit(tool.item.name.resource());
    Some(consent::bound(tool, &permit, ""))
}

/// Returns the result of a call that waits for consent.
pub(super) fn waiting(record: &Record, hold: &Hold) -> ToolResult {
    let handle = record.handle.as_str().to_owned();
    let details = AwaitingApproval {
        effect: hold.effect,
        expires_at: Timestamp(hold.expires_at),
    };
    ToolResult::awaiting_approval(
        &record.call.call_id,
        &record.call.tool_name,
        handle,
        details,
    )
}
