//! The transaction of a call whose policy says `workdir: transactional` or `durable`.

use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{
    Locale, Redactor, ToolError, ToolErrorCode, ToolName, ToolResult, Usage, WorkdirChanges,
};
use toolhost_manifest::policy::AskRules;
use toolhost_runtime::lock;
use toolhost_sandbox::{
    CommitError, CommitOptions, Durability, HeldChanges, Sandbox, Shortage, StagingError,
    StagingRoot, Workdir, WorkdirAccess, WorkdirCommit, WriteProtected,
};

use super::cancellation::note_commit;
use super::fence::Fence;
use super::hints;
use super::outer::JoinedTransaction;
use crate::middleware::CallIdentity;

/// Least time that a commit has until its first rename, whatever the deadline of its call is.
const TIME_MIN: Duration = Duration::from_secs(10);

/// Keeps what a call changes apart from its workdir. Dropping it drops the changes.
pub(super) struct CallTransaction<'a> {
    joined: Arc<JoinedTransaction>,
    durability: Durability,
    protected: WriteProtected,
    call: TransactionCall<'a>,
}

/// What a transaction needs of its call.
pub(super) struct TransactionCall<'a> {
    pub(super) tool: &'a ToolName,
    pub(super) call: &'a CallIdentity,
    /// What the call may do in its workdir.
    pub(super) access: WorkdirAccess,
    /// How long the call may take. Its commit has the same time again.
    pub(super) deadline: Duration,
    /// Whether its changes are kept with diffs.
    pub(super) diffs: bool,
}

/// How the transaction of a call ends.
pub(super) struct TransactionEnding<'a, K> {
    /// Whether the changes of a call with this answer are kept.
    pub(super) is_kept: K,
    /// Which changes have to wait.
    pub(super) rules: Option<&'a Arc<AskRules>>,
    /// Lets one run of the call commit; with the result of this run.
    pub(super) fence: Option<(&'a Fence, (ToolResult, &'a Redactor))>,
}

impl<'a> CallTransaction<'a> {
    /// Begins the transaction of a call, whose `workdir` becomes one that only the call changes. None if the
    /// changes take effect at once, or the call may change nothing.
    ///
    /// # Errors
    /// `E_TOOL_WORKDIR_STAGING` where the changes could not be committed.
    pub(super) fn begin(
        changes: WorkdirChanges,
        staging: Option<&StagingRoot>,
        workdir: &mut Workdir,
        protected: &WriteProtected,
        call: TransactionCall<'a>,
    ) -> Result<Option<Self>, ToolError> {
        if call.access == WorkdirAccess::ReadOnly {
            return Ok(None);
        }
        let durability = match changes {
            WorkdirChanges::Direct => return Ok(None),
            WorkdirChanges::Durable => Durability::Power,
            WorkdirChanges::Transactional => Durability::Process,
        };
        let staging = staging.ok_or_else(|| {
            let why = "`workdir: transactional` needs a state root, which the host does not have";
            staging_error(call.tool, why, call.call.origin.locale)
        })?;
        let begun = workdir.transactional(staging);
        *workdir = begun.map_err(|error| refused(call.tool, &error, call.call.origin.locale))?;
        Ok(Some(Self {
            joined: JoinedTransaction::new(workdir.clone()),
            durability,
            protected: protected.clone(),
            call,
        }))
    }

    /// The transaction, for calls that are a part of it.
    pub(super) fn joined(&self) -> &Arc<JoinedTransaction> {
        &self.joined
    }

    /// Commits the changes of a call that succeeded and whose answer `is_kept`, and adds them to its usage; or returns them
    /// where its rules, or those of a call within it, say that they have to wait. Drops those of another.
    ///
    /// If the future is dropped before the commit begins, nothing is committed. Afterwards the commit is made
    /// all the same, and the log says so: nobody gets the result.
    pub(super) async fn end<T>(
        self,
        answer: Result<T, ToolError>,
        usage: &mut Usage,
        sandbox: &Sandbox,
        ending: TransactionEnding<'_, impl Fn(&T) -> bool>,
    ) -> Result<(T, Option<HeldChanges>), ToolError> {
        let TransactionCall { tool, call, .. } = self.call;
        let TransactionEnding {
            is_kept,
            rules,
            fence,
        } = ending;
        let locale = call.origin.locale;
        let workdir = self.joined.workdir.clone();
        if let Some(error) = workdir.transaction_failure() {
            return Err(refused(tool, &error, locale));
        }
        // Most calls change nothing.
        if !workdir.has_staged() {
            return answer.map(|answer| (answer, None));
        }
        let answer = answer.and_then(|answer| self.joined.check(call).map(|()| answer));
        let answer = match answer {
            Ok(answer) if is_kept(&answer) => answer,
            dropped => {
                usage.changes_dropped = dropped.is_ok();
                // If this fails, they are dropped with the workdir.
                let _is_dropped = sandbox.threads().wait(move || workdir.drop_changes()).await;
                return dropped.map(|answer| (answer, None));
            }
        };
        let mut options = CommitOptions::default();
        options.protected = self.protected;
        options.durability = self.durability;
        options.label = format!("{tool} {}", self.call.call.call_id);
        options.time = self.call.deadline.max(TIME_MIN);
        options.diffs = self.call.diffs;
        let (fence, result) = fence.unzip();
        let commit_run = fence.zip(result);
        options.run =
            commit_run.map(|(fence, (result, redactor))| fence.commit_run(result, redactor));
        let asks = std::mem::take(&mut *lock(&self.joined.asks));
        let asks: Vec<_> = asks.into_iter().chain(rules.cloned()).collect();
        if asks.iter().any(|rules| rules.effects.has_workdir()) {
            let (workdir, options) = (workdir.clone(), options.clone());
            let held = move || hold_if_asked(&workdir, &options, &asks);
            match sandbox.threads().wait(held).await {
                Ok(Ok(None)) => {}
                Ok(Ok(Some(held))) => {
                    usage.changes.clone_from(&held.changes);
                    return Ok((answer, Some(held)));
                }
                Ok(Err(error)) => return Err(not_committed(tool, &error, locale)),
                Err(error) => {
                    return Err(super::failure::failure(tool, &error.into(), locale));
                }
            }
        }
        // Calls that wait keep no thread, and can still be stopped.
        let turn = workdir.commit_turn().await;
        note_commit();
        let awaited = Arc::new(());
        let awaits = Arc::downgrade(&awaited);
        // On a thread of its own: a call that is dropped meanwhile is committed whole, or not at all.
        let committed = sandbox.threads().wait(move || {
            let _turn = turn;
            if awaits.upgrade().is_none() {
                return Ok(WorkdirCommit::default());
            }
            let committed = workdir.commit(&options);
            if awaits.upgrade().is_none() && committed.is_ok() {
                let call = &options.label;
                tracing::warn!(
                    call,
                    "a call was dropped while its changes were committed: they were kept"
                );
            }
            committed
        });
        let committed = committed.await;
        drop(awaited);
        match committed {
            Ok(Ok(committed)) => {
                usage.changes = committed.changes;
                Ok((answer, None))
            }
            Ok(Err(error)) => {
                fence.inspect(|fence| fence.keep(&error));
                Err(not_committed(tool, &error, locale))
            }
            Err(error) => Err(super::failure::failure(tool, &error.into(), locale)),
        }
    }
}

/// Holds the changes of a transaction, if these rules say that they have to wait.
fn hold_if_asked(
    workdir: &Workdir,
    options: &CommitOptions,
    asks: &[Arc<AskRules>],
) -> Result<Option<HeldChanges>, CommitError> {
    let changes = workdir.staged_changes(options)?;
    let is_whole = !changes.truncated;
    let mut asks = asks.iter().map(|rules| &rules.effects);
    if asks.any(|effects| effects.asks_for_changes(&changes.files, is_whole)) {
        return workdir.hold(options);
    }
    Ok(None)
}

/// Returns the error of a call that could not begin, or not keep its changes apart.
fn refused(tool: &ToolName, error: &StagingError, locale: Locale) -> ToolError {
    if let Some(shortage) = error.shortage() {
        tracing::warn!(%tool, ?error, "the changes of a call cannot be staged");
        let message = format!("Tool '{tool}' failed: its changes cannot be staged, as {shortage}.");
        return short_of(shortage, message, locale);
    }
    tracing::error!(%tool, %error, "the changes of a call cannot be staged");
    // Without the paths, which are the operator's.
    let why = match error {
        StagingError::OtherFileSystem { .. } => {
            "the workdir and the state root are not on one file system"
        }
        StagingError::NoExchange { .. } => {
            "the file system of the state root cannot exchange files"
        }
        StagingError::NotPrivate(_) | StagingError::Io { .. } => {
            "the staging directory in the state root cannot be used"
        }
    };
    staging_error(tool, why, locale)
}

fn staging_error(tool: &ToolName, why: &str, locale: Locale) -> ToolError {
    let message = format!("Tool '{tool}' failed: its changes cannot be staged, as {why}.");
    ToolError::host(ToolErrorCode::WorkdirStaging, message, locale)
}

/// Returns the error of a call whose changes were not committed.
fn not_committed(tool: &ToolName, error: &CommitError, locale: Locale) -> ToolError {
    let code = match error {
        CommitError::Conflict { .. } => ToolErrorCode::WorkdirConflict,
        CommitError::WriteProtected { .. } => ToolErrorCode::Denied,
        CommitError::Busy { .. } => ToolErrorCode::Busy,
        CommitError::TooLarge { .. } => ToolErrorCode::DiskLimit,
        // Nobody reads it: the other run is reported.
        CommitError::Superseded | CommitError::Committed { .. } => ToolErrorCode::Interrupted,
        CommitError::Late { .. } => ToolErrorCode::Timeout,
        CommitError::Short { shortage, .. } => {
            tracing::warn!(%tool, ?error, "the changes of a call were not committed");
            return short_of(*shortage, format!("Tool '{tool}' failed: {error}."), locale);
        }
        CommitError::HalfDone { .. } => {
            let message = "The changes of the call were committed in part: the log of the host names the files.";
            return of_host(tool, error, message, locale);
        }
        CommitError::Failed { .. } => {
            let message = "The changes of the call could not be committed.";
            return of_host(tool, error, message, locale);
        }
    };
    ToolError::host(code, format!("Tool '{tool}' failed: {error}."), locale)
}

/// Logs why the changes of a call were not committed, and returns an error without the paths, which are the
/// operator's.
fn of_host(tool: &ToolName, error: &CommitError, message: &str, locale: Locale) -> ToolError {
    let reasons: &(dyn std::error::Error + 'static) = error;
    tracing::error!(%tool, error = reasons, "the changes of a call were not committed");
    ToolError::host(ToolErrorCode::Host, message, locale)
}

/// Returns the error of a call for which the system had no room.
fn short_of(shortage: Shortage, message: String, locale: Locale) -> ToolError {
    match shortage {
        Shortage::Disk => {
            let mut error = ToolError::host(ToolErrorCode::DiskLimit, message, locale);
            hints::suggest_room(&mut error, locale);
            error
        }
        Shortage::Descriptors => ToolError::host(ToolErrorCode::Busy, message, locale),
    }
}
