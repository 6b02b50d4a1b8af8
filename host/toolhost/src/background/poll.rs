//! Polls and cancels pending calls.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::oneshot;
use toolhost_contract::{ErrorCode, ToolError, ToolErrorCode, ToolResult, text};
use toolhost_runtime::lock;
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

use super::guest_poll::{self, PollOutcome};
use super::held::{self, Released};
use super::poll_reply::PollReply;
use super::resumed::instance_of;
use super::running::{announce, settle};
use crate::call::component;
use crate::call::scope::{InstanceScope, TurnScope};
use crate::pending::PendingCalls;
use crate::pending::per_handle_lock::lock_handle;
use crate::pending::record::{CancelReply, Handle, Record, State};

/// How long to wait before a component that answered `pending` in the background is polled: at first,
/// and at most.
const POLL_AFTER: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// Longest handle in a message, in characters.
const HANDLE_SHOWN: usize = 64;

impl PendingCalls {
    /// Polls the result of a handle. Once begun, the component runs to its end and its answer is
    /// recorded, even if this future is dropped. Dropped while another poll of the handle runs, it never
    /// begins.
    pub(crate) async fn poll(
        self: &Arc<Self>,
        instance: &Arc<InstanceScope>,
        handle: &str,
    ) -> PollReply {
        let polled = self.begin_poll(instance, handle).await;
        let polled = polled.unwrap_or_else(reply_of);
        PollReply {
            result: instance.exit(polled.result),
            ..polled
        }
    }

    async fn begin_poll(
        self: &Arc<Self>,
        instance: &Arc<InstanceScope>,
        handle: &str,
    ) -> Result<PollReply, ToolError> {
        let handle = self.parse(handle)?;
        let locked = lock_handle(&self.polled, &handle).await;
        let (own, scope) = (Arc::clone(self), Arc::clone(instance));
        let (send, polled) = oneshot::channel();
        let polling = async move {
            let polled = own.poll_locked(&scope, &handle).await;
            drop(locked);
            // The receiver may have been dropped.
            let _is_received = send.send(polled).is_ok();
        };
        // What is logged belongs to whoever polls.
        let polling = polling.in_current_span().with_current_subscriber();
        self.sandbox.threads().spawn(polling);
        polled.await.unwrap_or_else(|_| {
            let message = "The host could not poll the result.";
            Err(self.error(ToolErrorCode::Host, message))
        })
    }

    /// Returns the name of the tool whose component a poll of this handle may run. None if it runs none.
    pub(crate) async fn polled_tool(
        &self,
        instance: &InstanceScope,
        handle: &str,
    ) -> Option<String> {
        let handle = self.parse(handle).ok()?;
        let record = self.find(instance, &handle).await.ok()?;
        let may_run = matches!(record.state, State::Waiting { .. } | State::Held { .. });
        may_run.then_some(record.call.tool_name)
    }

    /// Cancels a pending call: `E_TOOL_CANCELLED`, or the result that it already had. A call whose changes are being
    /// committed stays pending.
    pub(crate) async fn cancel(&self, instance: &Arc<InstanceScope>, handle: &str) -> ToolResult {
        let cancelled = self.cancel_open(instance, handle).await;
        instance.exit(cancelled.unwrap_or_else(|error| ToolResult::error("", "", error)))
    }

    /// Polls a handle, one poll at a time: a component that renews its handle must not be polled with
    /// the old one meanwhile.
    pub(super) async fn poll_once(
        &self,
        instance: &Arc<InstanceScope>,
        handle: &Handle,
    ) -> PollReply {
        let _locked = lock_handle(&self.polled, handle).await;
        let polled = self.poll_locked(instance, handle).await;
        polled.unwrap_or_else(reply_of)
    }

    /// Polls a component that answered `pending` in the background, until the call has ended or waits for consent.
    pub(super) async fn poll_until_ended(&self, instance: &Arc<InstanceScope>, handle: &Handle) {
        let (mut wait, longest) = POLL_AFTER;
        loop {
            let threads = self.sandbox.threads();
            threads.pause(wait).await;
            wait = (wait * 2).min(longest);
            // If the call has ended, the poll has recorded its result.
            let reply = self.poll_once(instance, handle).await;
            if reply.has_ended || reply.result.awaits_approval().is_some() {
                return;
            }
        }
    }

    async fn poll_locked(
        &self,
        instance: &Arc<InstanceScope>,
        handle: &Handle,
    ) -> Result<PollReply, ToolError> {
        let mut record = self.find(instance, handle).await?;
        if self.is_lost(&record).await? {
            // Since it was read, it may have come to wait for consent.
            record = self.find(instance, handle).await?;
        }
        let turn = TurnScope::resumed(instance, &record.call);
        if self.is_lost(&record).await? {
            let name = &record.call.tool_name;
            let message = format!("Tool '{name}' was interrupted: its result could not be stored.");
            let error = self.error(ToolErrorCode::Interrupted, message);
            return self.end(&turn, &record, record.failed(error)).await;
        }
        let (guest_handle, release) = match &record.state {
            State::Waiting { guest_handle } => (guest_handle.clone(), None),
            State::Held { guest_handle, .. } => {
                let Some(owner) = instance_of(instance, &record.call).await else {
                    return Ok(self.without_workdir(&record));
                };
                let turn = TurnScope::resumed(&owner, &record.call);
                match self.release(&turn, &record, guest_handle.as_ref()).await? {
                    Released::Waits(result) => {
                        held::watch(instance);
                        return Ok(PollReply {
                            result,
                            has_ended: false,
                        });
                    }
                    Released::Ended(result) => return self.end(&turn, &record, result).await,
                    Released::Changed => return self.status_now(instance, handle).await,
                    Released::Polled(release, guest_handle) => (guest_handle, Some(release)),
                }
            }
            State::Running { .. } | State::Done(_) | State::Cancelled => {
                return Ok(self.status_of(&record));
            }
        };
        let Some(owner) = instance_of(instance, &record.call).await else {
            return Ok(self.without_workdir(&record));
        };
        let turn = TurnScope::resumed(&owner, &record.call);
        let consent = (release, handle.clone());
        let polled = guest_poll::poll(&turn, &record.call, guest_handle.clone(), consent);
        let (result, outcome) = polled.await;
        if result.awaits_approval().is_some() {
            held::watch(instance);
        }
        match outcome {
            Some(PollOutcome::Ended) => self.end(&turn, &record, result).await,
            Some(PollOutcome::Pending(renewed)) => {
                if renewed == guest_handle {
                    return Ok(self.status_of(&record));
                }
                let records = self.records().await?;
                let is_renewed = records.renew_guest_handle(handle, renewed.clone()).await;
                match is_renewed {
                    Ok(true) => Ok(self.status_of(&record)),
                    // It was cancelled meanwhile, with the handle that is no longer valid.
                    Ok(false) => {
                        component::cancel(&turn, &record.call, renewed).await;
                        let record = self.find(instance, handle).await?;
                        Ok(self.status_of(&record))
                    }
                    Err(error) => Ok(PollReply {
                        result: record.failed(self.store_error(&error)),
                        has_ended: false,
                    }),
                }
            }
            None => Ok(PollReply {
                result,
                has_ended: false,
            }),
        }
    }

    fn without_workdir(&self, record: &Record) -> PollReply {
        let name = &record.call.tool_name;
        let message = format!(
            "Tool '{name}' cannot be polled: the working directory of its call is not there."
        );
        PollReply {
            result: record.failed(self.error(ToolErrorCode::Host, message)),
            has_ended: false,
        }
    }

    /// Returns the status of a call that may wait for consent again.
    async fn status_now(
        &self,
        instance: &Arc<InstanceScope>,
        handle: &Handle,
    ) -> Result<PollReply, ToolError> {
        let record = self.find(instance, handle).await?;
        let mut reply = self.status_of(&record);
        if matches!(record.state, State::Held { .. }) {
            held::watch(instance);
            let hold = self.records().await?.hold_of(handle).await;
            if let Some(hold) = hold.map_err(|error| self.store_error(&error))? {
                reply.result = held::waiting(&record, &hold);
            }
        }
        Ok(reply)
    }

    /// Ends a record that was read as open, and announces its result.
    async fn end(
        &self,
        turn: &TurnScope,
        record: &Record,
        result: ToolResult,
    ) -> Result<PollReply, ToolError> {
        match settle(turn, &record.handle, &result).await {
            Ok(true) => {}
            // Another poll or process ended it since it was read.
            Ok(false) => {
                let record = self.find(&turn.instance, &record.handle).await?;
                return Ok(self.status_of(&record));
            }
            // The component may not return the result twice: return it, although it is not stored.
            Err(_) => {
                let call_id = result.tool_call_id();
                tracing::error!(
                    call_id,
                    "the result of a pending call could not be recorded"
                );
            }
        }
        Ok(PollReply {
            result,
            has_ended: true,
        })
    }

    async fn cancel_open(
        &self,
        instance: &Arc<InstanceScope>,
        handle: &str,
    ) -> Result<ToolResult, ToolError> {
        let (known, owner) = (self.parse(handle)?, instance.owner());
        let records = self.records().await?;
        let cancelled = records.cancel(&known, &owner, SystemTime::now()).await;
        let cancelled = cancelled.map_err(|error| self.store_error(&error))?;
        let record = match cancelled.ok_or_else(|| self.unknown(handle))? {
            CancelReply::Now(record) => record,
            CancelReply::TooLate(record) => return Ok(self.status_of(&record).result),
        };
        let turn = TurnScope::resumed(instance, &record.call);
        let result = record.failed(self.cancelled());
        announce(&turn, &record.handle, &result);
        self.stop(&record.handle);
        let guest_handle = match &record.state {
            State::Waiting { guest_handle } => Some(guest_handle),
            State::Held { guest_handle, .. } => {
                if let Ok(Some(hold)) = records.hold_of(&record.handle).await {
                    self.drop_changes(&hold);
                }
                guest_handle.as_ref()
            }
            State::Running { .. } | State::Done(_) | State::Cancelled => None,
        };
        if let Some(guest_handle) = guest_handle {
            match instance_of(instance, &record.call).await {
                Some(own) => {
                    let turn = TurnScope::resumed(&own, &record.call);
                    component::cancel(&turn, &record.call, guest_handle.clone()).await;
                }
                None => {
                    let tool = &*record.call.tool_name;
                    tracing::warn!(
                        tool,
                        "the cancellation of a call did not reach its component: the workdir of the call is gone"
                    );
                }
            }
        }
        Ok(result)
    }

    /// Stops a call that runs in the background of this process.
    fn stop(&self, handle: &Handle) {
        let running = lock(&self.running);
        if let Some(stopped) = running.get(handle) {
            stopped.notify_one();
        }
    }

    /// Returns whether this process has ended the call of a record that is stored as running, because
    /// its result could not be stored.
    async fn is_lost(&self, record: &Record) -> Result<bool, ToolError> {
        let is_own = self.records().await?.is_own_running(record);
        let running = lock(&self.running);
        Ok(is_own && !running.contains_key(&record.handle))
    }

    pub(super) async fn find(
        &self,
        instance: &InstanceScope,
        handle: &Handle,
    ) -> Result<Record, ToolError> {
        let (records, owner) = (self.records().await?, instance.owner());
        let record = records.find(handle, &owner, SystemTime::now()).await;
        let record = record.map_err(|error| self.store_error(&error))?;
        record.ok_or_else(|| self.unknown(handle.as_str()))
    }

    fn status_of(&self, record: &Record) -> PollReply {
        let (id, name) = (&record.call.call_id, &record.call.tool_name);
        let result = match &record.state {
            State::Done(result) => (**result).clone().with_call(id, name),
            State::Cancelled => record.failed(self.cancelled()),
            State::Running { .. } | State::Waiting { .. } | State::Held { .. } => {
                ToolResult::pending(id, name, record.handle.as_str().to_owned())
            }
        };
        PollReply {
            result,
            has_ended: !record.state.is_open(),
        }
    }

    fn parse(&self, handle: &str) -> Result<Handle, ToolError> {
        Handle::parse(handle).ok_or_else(|| self.unknown(handle))
    }

    /// Returns the error of a handle that is malformed, another instance's, expired or made up. The
    /// message does not tell which.
    fn unknown(&self, handle: &str) -> ToolError {
        let handle = text::shorten(handle, HANDLE_SHOWN);
        let message = format!("No pending call of this agent instance has the handle '{handle}'.");
        self.error(ToolErrorCode::UnknownHandle, message)
    }
}

/// Returns the reply of a poll that failed.
fn reply_of(error: ToolError) -> PollReply {
    PollReply {
        // If the host failed, the next poll may succeed.
        has_ended: error.code != ErrorCode::Host(ToolErrorCode::Host),
        result: ToolResult::error("", "", error),
    }
}
