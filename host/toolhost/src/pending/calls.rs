//! The pending calls of a host.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use tokio::sync::broadcast::{self, error::RecvError};
use toolhost_contract::{AssistantMessage, Locale, ToolError, ToolErrorCode, ToolResult};

use super::record::{
    AcceptError, Handle, NewRecord, NewSource, Owner, PendingCall, Records, State,
};
use crate::events::SettledCall;
use crate::instance::Instance;
use crate::turn::TurnInner;
use toolhost_store::{Store, StoreError};

/// How long a handle can be asked for, by default.
pub(crate) const EXPIRY: Duration = Duration::from_secs(24 * 60 * 60);

/// Completions a slow listener may be behind before it loses the oldest.
const LISTENER_QUEUE: usize = 1024;

/// Largest result that is told with its end, in bytes of JSON: so many wait for a slow listener.
const TOLD_MAX: usize = 64 * 1024;

/// How often expired records are removed: each so many that are made.
const SWEEP_EVERY: u64 = 1000;

/// A pending call that has ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Completion {
    /// The agent whose step made the call.
    pub agent_name: String,
    /// Key of its instance.
    pub instance_key: String,
    /// The handle it was answered with.
    pub handle: String,
    /// What it came to. Where that is more than 64 KiB of JSON it is `pending` still, with the handle:
    /// poll for it.
    pub result: ToolResult,
}

/// Completions as they happen in this process. Dropping it unsubscribes.
#[derive(Debug)]
pub struct Completions(broadcast::Receiver<Arc<Completion>>);

/// What a listener receives.
#[derive(Debug, Clone)]
pub enum Completed {
    /// A call has ended.
    Call(Arc<Completion>),
    /// The listener was too slow: so many were dropped here, the oldest. Their results are still
    /// there to be polled.
    Lost(u64),
}

impl Completions {
    /// Waits for the next; none when the host is gone. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Completed> {
        match self.0.recv().await {
            Ok(completion) => Some(Completed::Call(completion)),
            Err(RecvError::Lagged(count)) => Some(Completed::Lost(count)),
            Err(RecvError::Closed) => None,
        }
    }
}

/// Handles that are being asked for: one at a time.
pub(super) type Asked = Mutex<HashMap<Handle, Arc<tokio::sync::Mutex<()>>>>;

/// The pending calls of a host.
pub(crate) struct Pending {
    pub(super) records: Records,
    expiry: Duration,
    completions: broadcast::Sender<Arc<Completion>>,
    /// Calls that run in the background of this process, and how to stop them.
    pub(super) running: Mutex<HashMap<Handle, Arc<Notify>>>,
    pub(super) asked: Asked,
    pub(super) locale: Locale,
    accepted: AtomicU64,
}

impl Pending {
    pub(crate) fn new(store: Store, locale: Locale, expiry: Duration) -> Self {
        Self {
            records: Records::new(store, locale),
            expiry,
            completions: broadcast::Sender::new(LISTENER_QUEUE),
            running: Mutex::default(),
            asked: Mutex::default(),
            locale,
            accepted: AtomicU64::new(0),
        }
    }

    pub(crate) fn completions(&self) -> Completions {
        Completions(self.completions.subscribe())
    }

    /// Takes a component's handle, and gives the host's, which stands for it: a new one, or that of
    /// the background call in which it was answered.
    pub(crate) async fn accept_guest(
        &self,
        turn: &TurnInner,
        call: (&str, &str),
        message: &AssistantMessage,
        guest_handle: String,
        background: Option<&Handle>,
    ) -> Result<Handle, ToolError> {
        let Some(handle) = background else {
            let source = NewSource::Guest { guest_handle };
            return self.accept(turn, call, message, source).await;
        };
        let waits = self.records.wait_for_guest(handle, guest_handle).await;
        match waits {
            Ok(true) => Ok(handle.clone()),
            Ok(false) => {
                let message = "The pending call was cancelled.";
                Err(ToolError::host(
                    ToolErrorCode::Cancelled,
                    message,
                    turn.locale(),
                ))
            }
            Err(error) => Err(unacceptable(&AcceptError::Store(error), turn.locale())),
        }
    }

    pub(super) async fn accept(
        &self,
        turn: &TurnInner,
        (call_id, tool_name): (&str, &str),
        message: &AssistantMessage,
        source: NewSource,
    ) -> Result<Handle, ToolError> {
        let now = SystemTime::now();
        let new = NewRecord {
            owner: owner(&turn.instance),
            call: PendingCall {
                call_id: call_id.to_owned(),
                tool_name: tool_name.to_owned(),
                turn_id: turn.id.clone(),
                trace_id: Some(turn.trace_id.clone()),
                message: message.clone(),
            },
            source,
            expires_at: now + self.expiry,
        };
        let accepted = self.accepted.fetch_add(1, Relaxed);
        if accepted.is_multiple_of(SWEEP_EVERY) {
            self.tidy(now).await;
        }
        let stored = self.records.accept(new, now).await;
        stored.map_err(|error| unacceptable(&error, turn.locale()))
    }

    /// Removes what has expired, and ends what processes left running that are no more.
    pub(crate) async fn tidy(&self, now: SystemTime) {
        if let Err(error) = self.records.sweep(now).await {
            tracing::warn!(%error, "expired pending calls are not removed");
        }
        match self.records.interrupt_dead_runs().await {
            Ok(ended) => ended.into_iter().for_each(|record| {
                if let State::Done(result) = &record.state {
                    self.announce(&record.owner, &record.handle, result);
                }
            }),
            Err(error) => tracing::warn!(%error, "interrupted calls are not recorded"),
        }
    }

    /// Records what a call came to, and tells whoever listens: once, by whoever ends it first.
    /// Says whether this did.
    pub(super) async fn settle(
        &self,
        turn: &TurnInner,
        handle: &Handle,
        result: &ToolResult,
    ) -> Result<bool, StoreError> {
        let is_first = self.records.complete(handle, result).await?;
        if is_first {
            self.tell(turn, handle, result);
        }
        Ok(is_first)
    }

    pub(super) fn tell(&self, turn: &TurnInner, handle: &Handle, result: &ToolResult) {
        let settled = SettledCall {
            turn_id: &turn.id,
            tool_call_id: result.tool_call_id(),
            tool_name: result.tool_name(),
            handle: handle.as_str(),
            trace: Some(&turn.trace_id),
            duration: None,
        };
        turn.instance.0.emitter.settled(&settled, result);
        self.announce(&owner(&turn.instance), handle, result);
    }

    fn announce(&self, owner: &Owner, handle: &Handle, result: &ToolResult) {
        if self.completions.receiver_count() == 0 {
            return;
        }
        let handle = handle.as_str();
        let result = match result.to_stored().to_string().len() {
            0..=TOLD_MAX => result.clone(),
            _ => {
                let (id, name) = (result.tool_call_id(), result.tool_name());
                ToolResult::pending(id, name, handle.to_owned())
            }
        };
        let completion = Completion {
            agent_name: owner.agent.clone(),
            instance_key: owner.instance_key.clone(),
            handle: handle.to_owned(),
            result,
        };
        // It is no error that nobody listens any more.
        let _ = self.completions.send(Arc::new(completion));
    }
}

pub(super) fn owner(instance: &Instance) -> Owner {
    let agent = &instance.0.agent.0;
    Owner {
        bundle: agent.bundle.to_string_lossy().into_owned(),
        agent: agent.name.clone(),
        instance_key: instance.key().to_owned(),
    }
}

/// Why a call has no handle, as the model reads it.
fn unacceptable(error: &AcceptError, locale: Locale) -> ToolError {
    let code = match error {
        AcceptError::Full { .. } | AcceptError::NoRoom => ToolErrorCode::Busy,
        AcceptError::MessageTooDeep { .. } => ToolErrorCode::InvalidArgs,
        AcceptError::MessageOfAnotherCall { .. }
        | AcceptError::Random(_)
        | AcceptError::Store(_) => {
            tracing::error!(?error, "a pending call is not recorded");
            ToolErrorCode::Host
        }
    };
    ToolError::host(
        code,
        format!("The call cannot be pending: {error}."),
        locale,
    )
}

/// The host's failure to look up a handle; the cause is logged, never told.
pub(super) fn unreadable(error: &StoreError, locale: Locale) -> ToolError {
    tracing::error!(?error, "pending calls cannot be looked up");
    let message = "The host cannot look up its pending calls now.";
    ToolError::host(ToolErrorCode::Host, message, locale)
}
