//! Calls that wait for consent, and what becomes of them once somebody has decided.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use toolhost_contract::{
    AwaitingApproval, HeldEffect, Timestamp, ToolError, ToolErrorCode, ToolName, ToolResult,
    WorkdirChanges,
};
use toolhost_sandbox::{CommitError, CommitOptions, Durability, HeldError, HeldState, StagingRoot};

use super::guest_poll::in_layers;
use super::running::BackgroundCall;
use crate::call::consent;
use crate::call::consent::release::Release;
use crate::call::executor;
use crate::call::scope::{CallScope, InstanceScope, TurnScope};
use crate::middleware::Progress;
use crate::pending::PendingCalls;
use crate::pending::record::{Decision, Handle, Hold, Record, Taking};

/// How often the store is asked for decisions.
const ASK_EVERY: Duration = Duration::from_millis(500);

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
    Polled(Arc<Release>, String),
}

/// Releases the calls of an instance once somebody has decided about them, as long as the instance is used.
pub(crate) fn watch(instance: &Arc<InstanceScope>) {
    let (pending, owner) = (instance.pending(), instance.owner());
    let (watch, asks) = pending.waiting.add(owner.clone());
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
                let (calls, scope) = (Arc::clone(&pending), Arc::clone(&instance));
                pending.sandbox.threads().spawn(async move {
                    calls.poll_once(&scope, &handle).await;
                    drop(permit);
                });
            }
            if records.has_open(&owner).await.is_ok_and(|open| !open) {
                // A call that waits from now on is watched anew.
                return pending.waiting.remove(&owner, &watch);
            }
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
        let _elapsed = threads
            .within(ASK_EVERY, std::future::pending::<()>())
            .await;
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
        if hold.inner_of.is_some() {
            // The call around it does what was approved.
            if records.is_waited_for(&hold) {
                return Ok(Released::Waits(waiting(record, &hold)));
            }
            let name = &record.call.tool_name;
            let message =
                format!("Tool '{name}' was interrupted: the host stopped while it waited.");
            let error = self.error(ToolErrorCode::Interrupted, message);
            return Ok(Released::Ended(record.failed(error)));
        }
        let Some(decision) = &hold.decision else {
            if hold.expires_at > SystemTime::now() {
                return Ok(Released::Waits(waiting(record, &hold)));
            }
            self.drop_changes(&hold);
            let error = self.expired(&record.call.tool_name);
            return Ok(Released::Ended(record.failed(error)));
        };
        if !decision.is_approved {
            self.drop_changes(&hold);
            return Ok(Released::Ended(
                record.failed(self.denied(&record.call.tool_name, decision)),
            ));
        }
        if turn.begin_call().is_err() {
            // It is released once the bundle is loaded again.
            return Ok(Released::Waits(waiting(record, &hold)));
        }
        if records.is_released_elsewhere(&hold) {
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
            Taking::Poll(guest_handle) => Ok(Released::Polled(Release::of(hold), guest_handle)),
            Taking::Run => {
                self.run_again(turn, record, Release::of(hold)).await;
                Ok(Released::Changed)
            }
        }
    }

    /// Waits until somebody has decided about a call that another one waits for, and ends its record. Returns what the call
    /// around it may do now.
    pub(crate) async fn decision_of_inner(
        &self,
        instance: &InstanceScope,
        handle: &str,
        name: &str,
    ) -> Result<Arc<Release>, ToolError> {
        let unknown = || self.error(ToolErrorCode::Cancelled, "The pending call was cancelled.");
        let handle = Handle::parse(handle).ok_or_else(unknown)?;
        let records = self.records().await?;
        let release = loop {
            let hold = records.hold_of(&handle).await;
            let hold = hold.map_err(|error| self.store_error(&error))?;
            let hold = hold.ok_or_else(unknown)?;
            match &hold.decision {
                Some(decision) if !decision.is_approved => break Err(self.denied(name, decision)),
                Some(_) => {
                    let taken = records.take_approved(hold, Taking::Run).await;
                    let taken = taken.map_err(|error| self.store_error(&error))?;
                    break taken.map(Release::of).ok_or_else(unknown);
                }
                None if hold.expires_at <= SystemTime::now() => break Err(self.expired(name)),
                None => {
                    let threads = self.sandbox.threads();
                    let _elapsed = threads
                        .within(ASK_INNER, std::future::pending::<()>())
                        .await;
                }
            }
        };
        self.withdraw(&handle, &instance.owner()).await;
        release
    }

    fn expired(&self, name: &str) -> ToolError {
        let message = format!("Nobody approved the call of tool '{name}' in time.");
        self.error(ToolErrorCode::ApprovalExpired, message)
    }

    fn denied(&self, name: &str, decision: &Decision) -> ToolError {
        let message = match &decision.why {
            Some(why) => format!("The call of tool '{name}' was not approved: {why}"),
            None => format!("The call of tool '{name}' was not approved."),
        };
        self.error(ToolErrorCode::ApprovalDenied, message)
    }

    fn drop_changes(&self, hold: &Hold) {
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
        let records = self.records().await?;
        let (Some(staging), Some(id), Some(answer)) = (&self.staging, &hold.staging, &hold.answer)
        else {
            let message = "The changes of the call are not in the state root.";
            return Ok(Released::Ended(
                record.failed(self.error(ToolErrorCode::Host, message)),
            ));
        };
        let is_bound = bound_now(turn, record).is_some_and(|bound| bound == hold.bound);
        let again = match staging.held(id) {
            HeldState::Committed => false,
            HeldState::Waiting if !is_bound => true,
            HeldState::Waiting => match self.commit(turn, staging, record, &hold).await {
                Ok(again) => again,
                Err(waits) => return Ok(waits),
            },
            // Another process committed them, and they could be undone no longer.
            HeldState::Gone if was_taken => {
                let name = &record.call.tool_name;
                let message = format!(
                    "Tool '{name}' was interrupted: the host stopped while it kept the changes that were approved."
                );
                let error = self.error(ToolErrorCode::Interrupted, message);
                return Ok(Released::Ended(record.failed(error)));
            }
            HeldState::Gone => true,
        };
        if again {
            tracing::info!(
                tool = record.call.tool_name,
                "what was approved cannot be done as it was shown: the call runs again"
            );
            let runs = records.run_again(&record.handle).await;
            if runs.map_err(|error| self.store_error(&error))? {
                // It is stored that they are not committed: without that, nobody could tell why they are gone.
                self.drop_changes(&hold);
                self.run_again(turn, record, Release::of_nothing(hold))
                    .await;
            }
            return Ok(Released::Changed);
        }
        match answer.handle() {
            // Its component is polled from now on.
            Some(guest_handle) => {
                let waits = records.wait_again(&record.handle, guest_handle.to_owned());
                waits.await.map_err(|error| self.store_error(&error))?;
                Ok(Released::Changed)
            }
            None => {
                let answer = answer.clone();
                let core =
                    move |_| -> BoxFuture<'static, ToolResult> { Box::pin(async { answer }) };
                Ok(Released::Ended(in_layers(turn, &record.call, core).await))
            }
        }
    }

    /// Commits changes as they were shown. Returns whether the call has to run again.
    ///
    /// # Errors
    /// What a poll returns if they cannot be committed now.
    async fn commit(
        &self,
        turn: &TurnScope,
        staging: &StagingRoot,
        record: &Record,
        hold: &Hold,
    ) -> Result<bool, Released> {
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
            Ok(directory) => directory.workdir,
            Err(error) => {
                tracing::warn!(tool = record.call.tool_name, %error.message, "approved changes cannot be kept now");
                return Err(Released::Waits(waiting(record, hold)));
            }
        };
        let (staging, id) = (staging.clone(), hold.staging.clone().unwrap_or_default());
        let digest = hold.digest.clone();
        let committed = move || staging.commit_held(&workdir, &id, &digest, &options);
        let committed = host.sandbox.threads().wait(committed).await;
        let error = match committed {
            Ok(Ok(_)) => return Ok(false),
            Ok(Err(HeldError::Changed | HeldError::Commit(CommitError::Conflict { .. }))) => {
                return Ok(true);
            }
            Ok(Err(error)) => error.to_string(),
            Err(error) => error.to_string(),
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
        Err(Released::Waits(waiting(record, hold)))
    }

    /// Runs a call with what somebody has consented to, and stores its result, or what it waits for by now.
    async fn run_again(&self, turn: &Arc<TurnScope>, record: &Record, release: Arc<Release>) {
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
