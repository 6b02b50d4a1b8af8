//! The pending calls of a host, in a store that is opened when it is first needed.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::{Notify, OnceCell, broadcast};
use toolhost_contract::{Locale, ToolError, ToolErrorCode};
use toolhost_runtime::debug_fields;
use toolhost_sandbox::{Sandbox, StagingRoot};
use toolhost_store::{Database, StoreError};

use super::completion::{Completion, Completions, CompletionsError, announce, channel};
use super::per_handle_lock::HandleLocks;
use super::record::{
    AcceptError, Handle, NewHold, NewRecord, Owner, PendingCall, Records, SCHEMA, State,
};
use super::waiting::WaitingInstances;
use super::webhook::Webhooks;
use crate::state_store;

/// How long a handle can be polled, by default.
pub(crate) const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

/// Expired records are removed once for every this many new ones.
const SWEEP_EVERY: u64 = 1000;

/// How often staged changes are looked at that wait no longer, and the pause between.
const DROPS: u32 = 4;
const DROP_PAUSE: Duration = Duration::from_millis(50);

/// The pending calls of a host: in the store of the state root, or in memory without one.
pub(crate) struct PendingCalls {
    pub(crate) sandbox: Sandbox,
    pub(crate) database: Option<Database>,
    expiry: Duration,
    locale: Locale,
    records: OnceCell<Records>,
    accepted: AtomicU64,
    pub(crate) listeners: broadcast::Sender<Arc<Completion>>,
    /// Calls that run in the background of this process, and how to stop each.
    pub(crate) running: Mutex<HashMap<Handle, Arc<Notify>>>,
    pub(crate) polled: Arc<HandleLocks>,
    pub(crate) staging: Option<StagingRoot>,
    /// The instances whose calls wait for consent.
    pub(crate) waiting: WaitingInstances,
    /// Who is told of calls that wait.
    pub(crate) webhooks: Webhooks,
}

impl PendingCalls {
    /// `locale` is that of the results that the host makes.
    pub(crate) fn new(
        sandbox: Sandbox,
        (database, staging): (Option<Database>, Option<StagingRoot>),
        expiry: Duration,
        locale: Locale,
    ) -> Self {
        Self {
            sandbox,
            database,
            expiry,
            locale,
            records: OnceCell::new(),
            accepted: AtomicU64::new(0),
            listeners: channel(),
            running: Mutex::default(),
            polled: Arc::default(),
            staging,
            waiting: WaitingInstances::default(),
            webhooks: Webhooks::default(),
        }
    }

    /// Returns the records. Opens the store first, once.
    pub(crate) async fn records(&self) -> Result<&Records, ToolError> {
        self.opened_records().await.map_err(|error| {
            tracing::error!("pending calls cannot be kept: {}", error.with_causes());
            self.error(
                ToolErrorCode::Host,
                "The host cannot keep pending calls now.",
            )
        })
    }

    /// Returns the records if the store is open.
    pub(super) fn opened(&self) -> Option<&Records> {
        self.records.get()
    }

    /// Returns the records if there may be any: nothing is made to look.
    pub(crate) async fn kept_records(&self) -> Option<&Records> {
        let may_exist = self.database.as_ref().is_some_and(Database::may_exist);
        if self.opened().is_none() && !may_exist {
            return None;
        }
        self.records().await.ok()
    }

    async fn opened_records(&self) -> Result<&Records, StoreError> {
        let records = self.records.get_or_try_init(async || {
            let database = self.database.clone();
            let store = state_store::open(self.sandbox.threads(), database, &SCHEMA).await?;
            Ok(Records::new(store, self.locale))
        });
        records.await
    }

    /// Subscribes to completions, and looks for calls that dead processes left running.
    pub(crate) async fn completions(self: &Arc<Self>) -> Result<Completions, CompletionsError> {
        let records = self.opened_records().await;
        let records = records.map_err(|source| CompletionsError { source })?;
        let (own, records) = (Arc::clone(self), records.clone());
        let completions = Completions::of(&self.listeners);
        self.sandbox
            .threads()
            .spawn(async move { own.tidy(&records, SystemTime::now()).await });
        Ok(completions)
    }

    /// Stores a component's handle, and returns the host's handle that stands for it: a new one, or that of the `background`
    /// call, which runs until it [waits](Self::wait_for_guest).
    pub(crate) async fn accept_guest(
        &self,
        owner: Owner,
        call: PendingCall,
        guest_handle: String,
        background: Option<&Handle>,
    ) -> Result<Handle, ToolError> {
        let Some(handle) = background else {
            return self.accept(owner, call, Some(guest_handle)).await;
        };
        let stored = self
            .records()
            .await?
            .renew_guest_handle(handle, guest_handle);
        self.unless_cancelled(stored.await)?;
        Ok(handle.clone())
    }

    /// Stores that a background call has done all that it does itself, and waits for its component.
    pub(crate) async fn wait_for_guest(
        &self,
        handle: &Handle,
        guest_handle: String,
    ) -> Result<(), ToolError> {
        let waits = self.records().await?.wait_for_guest(handle, guest_handle);
        self.unless_cancelled(waits.await)
    }

    fn unless_cancelled(&self, is_open: Result<bool, StoreError>) -> Result<(), ToolError> {
        match is_open {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.cancelled()),
            Err(error) => Err(self.not_accepted(&AcceptError::Store(error))),
        }
    }

    /// Ends the record of a call that failed after its handle was stored: nobody has the handle.
    pub(crate) async fn withdraw(&self, handle: &Handle, owner: &Owner) {
        let Ok(records) = self.records().await else {
            return;
        };
        if let Err(error) = records.cancel(handle, owner, SystemTime::now()).await {
            let error = error.with_causes();
            tracing::warn!(%error, "the record of a call that failed remains until it expires");
        }
    }

    /// Returns the records, which get one more, and the time. Tidies them now and then.
    async fn records_for_more(&self) -> Result<(&Records, SystemTime), ToolError> {
        let (records, now) = (self.records().await?, SystemTime::now());
        let accepted = self.accepted.fetch_add(1, Relaxed);
        if accepted.is_multiple_of(SWEEP_EVERY) {
            self.tidy(records, now).await;
        }
        Ok((records, now))
    }

    /// Stores a new record, and returns its handle.
    pub(crate) async fn accept(
        &self,
        owner: Owner,
        call: PendingCall,
        guest_handle: Option<String>,
    ) -> Result<Handle, ToolError> {
        let (records, now) = self.records_for_more().await?;
        let new = NewRecord {
            owner,
            call,
            guest_handle,
            expires_at: after(now, self.expiry),
        };
        let stored = records.accept(new, now).await;
        stored.map_err(|error| self.not_accepted(&error))
    }

    /// Stores that a call waits for consent. Returns its handle, and until when somebody may decide.
    pub(crate) async fn hold(
        &self,
        owner: Owner,
        call: PendingCall,
        existing: Option<Handle>,
        hold: NewHold,
    ) -> Result<(Handle, SystemTime), ToolError> {
        let (records, now) = self.records_for_more().await?;
        let expires_at = after(now, self.expiry);
        let new = NewRecord {
            owner,
            call,
            guest_handle: None,
            // So that a later poll still learns that nobody decided.
            expires_at: after(expires_at, self.expiry),
        };
        let hold = NewHold { expires_at, ..hold };
        let is_told = hold.webhook.is_some();
        let stored = records.hold(existing, new, hold, now).await;
        let handle = stored.map_err(|error| self.not_accepted(&error))?;
        if is_told {
            self.webhooks.notify();
        }
        Ok((handle, expires_at))
    }

    /// Whether somebody has approved a call as a whole that is bound to this.
    pub(crate) async fn is_call_approved(
        &self,
        handle: &Handle,
        bound: String,
    ) -> Result<bool, ToolError> {
        let approved = self.records().await?.is_call_approved(handle, bound).await;
        approved.map_err(|error| self.store_error(&error))
    }

    /// Removes the staged changes of calls that wait no longer: their instance was removed, or a process died. Some that
    /// another process looks at are tried again.
    pub(crate) async fn drop_staged(&self, records: &Records) {
        let Some(staging) = &self.staging else {
            return;
        };
        for tries in 0..DROPS {
            let left = match self.orphans(staging, records).await {
                Ok(left) if left.is_empty() => return,
                Ok(left) => left,
                Err(error) => {
                    let error = error.with_causes();
                    tracing::warn!(%error, "staged changes that wait no longer could not be removed");
                    return;
                }
            };
            if tries > 0 {
                self.sandbox.threads().pause(DROP_PAUSE).await;
            }
            for id in left {
                // Their row may have been stored since.
                let waits = async {
                    let held = records.held_staging().await;
                    !held.is_ok_and(|held| !held.contains(&id))
                };
                staging.drop_held_unless(&id, waits).await;
            }
        }
    }

    /// Returns the held changes that no row has.
    async fn orphans(
        &self,
        staging: &StagingRoot,
        records: &Records,
    ) -> Result<Vec<String>, StoreError> {
        let mut ids = staging.held_ids().unwrap_or_default();
        if !ids.is_empty() {
            let held = records.held_staging().await?;
            ids.retain(|id| !held.contains(id));
        }
        let is_shared = self.database.as_ref().is_some_and(Database::is_shared);
        if let Some(root) = staging.path().parent()
            && is_shared
            && !ids.is_empty()
        {
            // Calls wait in the file that the state root had before its state was moved.
            let root = root.to_owned();
            let read = move || Records::local_staging(&root);
            let held = state_store::blocking(self.sandbox.threads(), read).await?;
            ids.retain(|id| !held.contains(id));
        }
        Ok(ids)
    }

    /// Removes expired records, and ends the calls that dead processes left running.
    async fn tidy(&self, records: &Records, now: SystemTime) {
        if let Err(error) = records.sweep(now).await {
            let error = error.with_causes();
            tracing::warn!(%error, "expired pending calls could not be removed");
        }
        match records.interrupt_dead_runs().await {
            Ok(ended) => ended.into_iter().for_each(|record| {
                if let State::Done(result) = &record.state {
                    let Owner {
                        agent,
                        instance_key,
                        ..
                    } = &record.owner;
                    announce(
                        &self.listeners,
                        (agent, instance_key),
                        &record.handle,
                        result,
                    );
                }
            }),
            Err(error) => {
                let error = error.with_causes();
                tracing::warn!(%error, "interrupted calls could not be recorded");
            }
        }
        self.drop_staged(records).await;
    }

    pub(crate) fn error(&self, code: ToolErrorCode, message: impl Into<String>) -> ToolError {
        ToolError::host(code, message, self.locale)
    }

    /// Logs why the store failed, and returns an error without that reason.
    pub(crate) fn store_error(&self, error: &StoreError) -> ToolError {
        tracing::error!("pending calls cannot be looked up: {}", error.with_causes());
        let message = "The host cannot look up its pending calls now.";
        self.error(ToolErrorCode::Host, message)
    }

    pub(crate) fn cancelled(&self) -> ToolError {
        self.error(ToolErrorCode::Cancelled, "The pending call was cancelled.")
    }

    fn not_accepted(&self, error: &AcceptError) -> ToolError {
        let code = match error {
            AcceptError::Full { .. } | AcceptError::NoRoom | AcceptError::NoRoomForHeld => {
                ToolErrorCode::Busy
            }
            AcceptError::Cancelled => ToolErrorCode::Cancelled,
            AcceptError::MessageTooDeep { .. } => ToolErrorCode::InvalidArgs,
            AcceptError::MessageOfAnotherCall { .. }
            | AcceptError::Random(_)
            | AcceptError::Store(_) => {
                let reason = if let AcceptError::Store(error) = error {
                    error.with_causes()
                } else {
                    error.to_string()
                };
                tracing::error!("a pending call could not be stored: {reason}");
                ToolErrorCode::Host
            }
        };
        self.error(code, format!("The call cannot be pending: {error}."))
    }
}

/// Returns the time after `now`; the latest time that can be stored if that is beyond the range of times.
fn after(now: SystemTime, time: Duration) -> SystemTime {
    let latest = || SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(i64::MAX as u64));
    now.checked_add(time).or_else(latest).unwrap_or(now)
}

debug_fields!(PendingCalls, this => database: this.database);
