//! Polls and cancels pending calls.

use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use tokio::sync::oneshot;
use toolhost_contract::{ErrorCode, Locale, ToolError, ToolErrorCode, ToolResult, text};
use toolhost_store::StoreError;

use super::calls::{Pending, cancelled};
use super::guest_poll::{self, PollReply};
use super::opening::PendingCalls;
use super::per_handle_lock::PerHandleLock;
use super::record::{Handle, Record, Source, State};
use crate::call::component;
use crate::call::scope::{InstanceScope, TurnScope};

/// Longest handle in a message, in characters.
const HANDLE_SHOWN: usize = 64;

impl PendingCalls {
    /// Polls the result of a handle. Once begun, the component runs to its end and its answer is
    /// recorded, even if this future is dropped.
    pub(crate) async fn poll(&self, instance: &Arc<InstanceScope>, handle: &str) -> ToolResult {
        let pending = match self.open(instance.agent.locale).await {
            Ok(pending) => Arc::clone(pending),
            Err(error) => return ToolResult::error("", "", error),
        };
        let (scope, handle) = (Arc::clone(instance), handle.to_owned());
        let (send, polled) = oneshot::channel();
        instance.agent.host.sandbox.spawn(async move {
            let polled = pending.poll(&scope, &handle).await;
            // The receiver may have been dropped.
            let _is_received = send.send(polled).is_ok();
        });
        let result = match polled.await {
            Ok(polled) => polled.into_result(),
            Err(_) => {
                let message = "The host could not ask for the result.";
                let locale = instance.agent.locale;
                let error = ToolError::host(ToolErrorCode::Host, message, locale);
                ToolResult::error("", "", error)
            }
        };
        instance.exit(result)
    }

    /// Cancels a pending call: `E_TOOL_CANCELLED`, or the result that it already had.
    pub(crate) async fn cancel(&self, instance: &Arc<InstanceScope>, handle: &str) -> ToolResult {
        let result = match self.open(instance.agent.locale).await {
            Ok(pending) => pending.cancel(instance, handle).await,
            Err(error) => Err(error),
        };
        instance.exit(result.unwrap_or_else(|error| ToolResult::error("", "", error)))
    }
}

impl Pending {
    /// Polls a handle, one poll at a time: a component that renews its handle must not be polled with
    /// the old one meanwhile.
    pub(super) async fn poll(&self, instance: &Arc<InstanceScope>, handle: &str) -> PollStatus {
        let known = match parse(handle, instance.agent.locale) {
            Ok(known) => known,
            Err(error) => return PollStatus::of_error(error),
        };
        let own = PerHandleLock::of(&self.polled, known.clone());
        let _locked = own.lock.lock().await;
        match self.poll_locked(instance, &known).await {
            Ok(status) => status,
            Err(error) => PollStatus::of_error(error),
        }
    }

    async fn poll_locked(
        &self,
        instance: &Arc<InstanceScope>,
        handle: &Handle,
    ) -> Result<PollStatus, ToolError> {
        let locale = instance.agent.locale;
        let record = self.find(instance, handle).await?;
        let turn = Arc::new(TurnScope::resumed(instance, &record.call));
        if self.is_lost(&record) {
            let result = lost(&record, locale);
            return self.end(&turn, &record, result).await;
        }
        let (Source::Guest { guest_handle }, State::Waiting) = (&record.source, &record.state)
        else {
            return Ok(status_of(&record, locale));
        };
        match guest_poll::poll(&turn, &record.call, guest_handle.clone()).await {
            PollReply::Ended(result) => self.end(&turn, &record, result).await,
            PollReply::Unanswered(result) => Ok(PollStatus::Unanswered(result)),
            PollReply::Pending(renewed) => {
                if renewed != *guest_handle {
                    let renewed = self.records.renew_guest_handle(&record.handle, renewed);
                    if let Err(error) = renewed.await {
                        let error = not_readable(&error, locale);
                        return Ok(PollStatus::Unanswered(failed(&record, error)));
                    }
                }
                Ok(status_of(&record, locale))
            }
        }
    }

    /// Ends a record that was read as open, and announces its result.
    async fn end(
        &self,
        turn: &TurnScope,
        record: &Record,
        result: ToolResult,
    ) -> Result<PollStatus, ToolError> {
        match self.settle(turn, &record.handle, &result).await {
            Ok(true) => Ok(PollStatus::Ended(result)),
            // Another poll or process ended it since it was read.
            Ok(false) => {
                let record = self.find(&turn.instance, &record.handle).await?;
                Ok(status_of(&record, turn.locale()))
            }
            // The component may not return the result twice: return it, although it is not stored.
            Err(error) => {
                let call_id = result.tool_call_id();
                tracing::error!(%error, call_id, "the result of a pending call could not be recorded");
                Ok(PollStatus::Ended(result))
            }
        }
    }

    async fn cancel(
        &self,
        instance: &Arc<InstanceScope>,
        handle: &str,
    ) -> Result<ToolResult, ToolError> {
        let locale = instance.agent.locale;
        let (known, owner) = (parse(handle, locale)?, instance.owner());
        let cancelling = self.records.cancel(&known, &owner, SystemTime::now());
        let record = cancelling
            .await
            .map_err(|error| not_readable(&error, locale))?;
        let record = record.ok_or_else(|| unknown(handle, locale))?;
        if !record.state.is_open() {
            return Ok(status_of(&record, locale).into_result());
        }
        let turn = TurnScope::resumed(instance, &record.call);
        let result = failed(&record, cancelled(locale));
        self.announce(&turn, &record.handle, &result);
        self.stop(&record.handle);
        if let Source::Guest { guest_handle } = &record.source {
            component::cancel(&turn, &record.call, guest_handle.clone()).await;
        }
        Ok(result)
    }

    /// Stops a call that runs in the background of this process.
    fn stop(&self, handle: &Handle) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stopped) = running.get(handle) {
            stopped.notify_one();
        }
    }

    /// Returns whether this process has ended the call of a record that is stored as running, because
    /// its result could not be stored.
    fn is_lost(&self, record: &Record) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.records.is_own_running(record) && !running.contains_key(&record.handle)
    }

    async fn find(&self, instance: &InstanceScope, handle: &Handle) -> Result<Record, ToolError> {
        let (locale, owner) = (instance.agent.locale, instance.owner());
        let found = self.records.find(handle, &owner, SystemTime::now()).await;
        let found = found.map_err(|error| not_readable(&error, locale))?;
        found.ok_or_else(|| unknown(handle.as_str(), locale))
    }
}

/// How far a pending call is.
pub(super) enum PollStatus {
    /// The call has ended or does not exist.
    Ended(ToolResult),
    /// It has not ended.
    NotYet(ToolResult),
    /// The component could not be run, or did not answer. It can be polled again.
    Unanswered(ToolResult),
}

impl PollStatus {
    /// The status of a record that was not found, or could not be read.
    fn of_error(error: ToolError) -> Self {
        let is_transient = error.code == ErrorCode::Host(ToolErrorCode::Host);
        let result = ToolResult::error("", "", error);
        if is_transient {
            Self::Unanswered(result)
        } else {
            Self::Ended(result)
        }
    }

    fn into_result(self) -> ToolResult {
        match self {
            Self::Ended(result) | Self::NotYet(result) | Self::Unanswered(result) => result,
        }
    }
}

fn status_of(record: &Record, locale: Locale) -> PollStatus {
    let (id, name) = (&record.call.call_id, &record.call.tool_name);
    match &record.state {
        State::Done(result) => PollStatus::Ended((**result).clone().with_call(id, name)),
        State::Cancelled => PollStatus::Ended(failed(record, cancelled(locale))),
        State::Running | State::Waiting => {
            let handle = record.handle.as_str().to_owned();
            PollStatus::NotYet(ToolResult::pending(id, name, handle))
        }
    }
}

fn failed(record: &Record, error: ToolError) -> ToolResult {
    ToolResult::error(&record.call.call_id, &record.call.tool_name, error)
}

/// The result of a call whose own result the store could not record.
fn lost(record: &Record, locale: Locale) -> ToolResult {
    let name = &record.call.tool_name;
    let message = format!("Tool '{name}' was interrupted: its result could not be stored.");
    let error = ToolError::host(ToolErrorCode::Interrupted, message, locale);
    failed(record, error)
}

fn parse(handle: &str, locale: Locale) -> Result<Handle, ToolError> {
    Handle::parse(handle).ok_or_else(|| unknown(handle, locale))
}

/// The error of a handle that is malformed, another instance's, expired or made up. The message does
/// not tell which.
fn unknown(handle: &str, locale: Locale) -> ToolError {
    let handle = text::shorten(handle, HANDLE_SHOWN);
    let message = format!("No pending call of this agent instance has the handle '{handle}'.");
    ToolError::host(ToolErrorCode::UnknownHandle, message, locale)
}

/// The error of a record that could not be read. The cause is logged, and not part of it.
fn not_readable(error: &StoreError, locale: Locale) -> ToolError {
    tracing::error!(?error, "pending calls could not be read");
    let message = "The host cannot look up its pending calls now.";
    ToolError::host(ToolErrorCode::Host, message, locale)
}
