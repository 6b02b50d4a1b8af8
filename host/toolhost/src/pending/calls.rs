//! The pending calls of a host, in an open store.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use toolhost_contract::{Locale, ToolError, ToolErrorCode, ToolResult};
use toolhost_store::{Store, StoreError};

use super::completion::Announcer;
use super::per_handle_lock::HandleLocks;
use super::record::{
    AcceptError, Handle, NewRecord, NewSource, Owner, PendingCall, Records, State,
};
use crate::call::pending_port::GuestPending;
use crate::call::scope::TurnScope;
use crate::events::SettledCall;

/// Expired records are removed once for every this many new ones.
const SWEEP_EVERY: u64 = 1000;

/// The pending calls of a host, in an open store.
pub(crate) struct Pending {
    pub(super) records: Records,
    expiry: Duration,
    pub(super) announcer: Announcer,
    /// Calls that run in the background of this process, and how to stop each.
    pub(super) running: Mutex<HashMap<Handle, Arc<Notify>>>,
    pub(super) polled: HandleLocks,
    pub(super) locale: Locale,
    accepted: AtomicU64,
}

impl Pending {
    pub(super) fn new(store: Store, locale: Locale, expiry: Duration) -> Self {
        Self {
            records: Records::new(store, locale),
            expiry,
            announcer: Announcer::new(),
            running: Mutex::default(),
            polled: Mutex::default(),
            locale,
            accepted: AtomicU64::new(0),
        }
    }

    /// Stores a component's handle, and returns the host's handle that stands for it: a new one, or
    /// that of the background call.
    pub(super) async fn accept_guest(&self, pending: GuestPending) -> Result<Handle, ToolError> {
        let GuestPending {
            guest_handle,
            locale,
            ..
        } = pending;
        let Some(handle) = pending.background else {
            let source = NewSource::Guest { guest_handle };
            return self
                .accept(pending.owner, pending.call, source, locale)
                .await;
        };
        match self.records.wait_for_guest(&handle, guest_handle).await {
            Ok(true) => Ok(handle),
            Ok(false) => Err(cancelled(locale)),
            Err(error) => Err(not_accepted(&AcceptError::Store(error), locale)),
        }
    }

    /// Stores a new record, and returns its handle.
    pub(super) async fn accept(
        &self,
        owner: Owner,
        call: PendingCall,
        source: NewSource,
        locale: Locale,
    ) -> Result<Handle, ToolError> {
        let now = SystemTime::now();
        let new = NewRecord {
            owner,
            call,
            source,
            expires_at: now + self.expiry,
        };
        let accepted = self.accepted.fetch_add(1, Relaxed);
        if accepted.is_multiple_of(SWEEP_EVERY) {
            self.tidy(now).await;
        }
        let stored = self.records.accept(new, now).await;
        stored.map_err(|error| not_accepted(&error, locale))
    }

    /// Removes expired records, and ends the calls that dead processes left running.
    pub(super) async fn tidy(&self, now: SystemTime) {
        if let Err(error) = self.records.sweep(now).await {
            tracing::warn!(%error, "expired pending calls could not be removed");
        }
        match self.records.interrupt_dead_runs().await {
            Ok(ended) => ended.into_iter().for_each(|record| {
                if let State::Done(result) = &record.state {
                    self.announcer
                        .announce(&record.owner, &record.handle, result);
                }
            }),
            Err(error) => tracing::warn!(%error, "interrupted calls could not be recorded"),
        }
    }

    /// Records the result of a call. The first to record one announces it. Returns whether this was
    /// the first.
    pub(super) async fn settle(
        &self,
        turn: &TurnScope,
        handle: &Handle,
        result: &ToolResult,
    ) -> Result<bool, StoreError> {
        let is_first = self.records.complete(handle, result).await?;
        if is_first {
            self.announce(turn, handle, result);
        }
        Ok(is_first)
    }

    /// Emits the event of a call that has ended, and notifies the listeners.
    pub(super) fn announce(&self, turn: &TurnScope, handle: &Handle, result: &ToolResult) {
        let settled = SettledCall {
            turn_id: &turn.origin.turn_id,
            tool_call_id: result.tool_call_id(),
            tool_name: result.tool_name(),
            handle: handle.as_str(),
            trace: Some(&turn.origin.trace_id),
            duration: None,
        };
        turn.instance.emitter.settled(&settled, result);
        self.announcer
            .announce(&turn.instance.owner(), handle, result);
    }
}

/// The error of a call that was cancelled.
pub(super) fn cancelled(locale: Locale) -> ToolError {
    let message = "The pending call was cancelled.";
    ToolError::host(ToolErrorCode::Cancelled, message, locale)
}

/// The error of a call that could not be stored.
fn not_accepted(error: &AcceptError, locale: Locale) -> ToolError {
    let code = match error {
        AcceptError::Full { .. } | AcceptError::NoRoom => ToolErrorCode::Busy,
        AcceptError::MessageTooDeep { .. } => ToolErrorCode::InvalidArgs,
        AcceptError::MessageOfAnotherCall { .. }
        | AcceptError::Random(_)
        | AcceptError::Store(_) => {
            tracing::error!(?error, "a pending call could not be stored");
            ToolErrorCode::Host
        }
    };
    let message = format!("The call cannot be pending: {error}.");
    ToolError::host(code, message, locale)
}
