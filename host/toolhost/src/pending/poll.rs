//! Asks for the result of a pending call, or says that nobody wants it.

use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use tokio::sync::oneshot;
use toolhost_contract::{ErrorCode, ToolError, ToolErrorCode, ToolResult};

use super::calls::{Asked, Pending, owner, unreadable};
use super::guest::{self, PollReply};
use super::record::{Handle, Record, Source, State};
use crate::instance::Instance;
use crate::turn::TurnInner;
use toolhost_contract::text;

/// Longest handle quoted, in characters.
const HANDLE_SHOWN: usize = 64;

impl Pending {
    /// Asks for the result a handle stands for: it, or `pending` again. Once begun, the component is
    /// asked to the end and its answer recorded, also where this is dropped.
    pub(crate) async fn poll(self: &Arc<Self>, instance: &Instance, handle: &str) -> ToolResult {
        let (own, of, named) = (Arc::clone(self), instance.clone(), handle.to_owned());
        let (tell, told) = oneshot::channel();
        instance.0.agent.0.host.sandbox.spawn(async move {
            let polled = own.ask(&of, &named).await;
            // Whoever asked may have gone.
            let _heard = tell.send(polled).is_ok();
        });
        match told.await {
            Ok(polled) => polled.into_result(),
            Err(_) => {
                let locale = instance.0.agent.0.locale;
                let message = "The host could not ask for the result.";
                ToolResult::error(
                    "",
                    "",
                    ToolError::host(ToolErrorCode::Host, message, locale),
                )
            }
        }
    }

    /// Asks, one at a time for each handle: a component that renews its handle must not be asked with
    /// the old one meanwhile.
    pub(super) async fn ask(&self, instance: &Instance, handle: &str) -> PollStatus {
        let Some(known) = Handle::parse(handle) else {
            return PollStatus::Ended(ToolResult::error("", "", unknown(handle, instance)));
        };
        let turnstile = PerHandleLock::of(&self.asked, known);
        let _alone = turnstile.gate.lock().await;
        self.ask_alone(instance, handle).await
    }

    async fn ask_alone(&self, instance: &Instance, handle: &str) -> PollStatus {
        let record = match self.find(instance, handle).await {
            Ok(record) => record,
            Err(error) => return PollStatus::of_error(error),
        };
        let turn = Arc::new(TurnInner::resumed(instance, &record.call));
        if self.is_lost(&record) {
            return self
                .settled(&turn, instance, &record, lost(&record, instance))
                .await;
        }
        let (Source::Guest { guest_handle }, State::Waiting) = (&record.source, &record.state)
        else {
            return told(&record, instance);
        };
        let asked = guest::ask(&turn, &record.call, guest_handle.clone()).await;
        let result = match asked {
            PollReply::Ended(result) => result,
            PollReply::Unanswered(result) => return PollStatus::Unanswered(result),
            PollReply::Pending(renewed) => {
                if renewed != *guest_handle {
                    let renewed = self.records.renew_guest_handle(&record.handle, renewed);
                    if let Err(error) = renewed.await {
                        let error = unreadable(&error, turn.locale());
                        return PollStatus::Unanswered(failed(&record, error));
                    }
                }
                return told(&record, instance);
            }
        };
        self.settled(&turn, instance, &record, result).await
    }

    /// Ends a record that was read as open, and tells what it came to.
    async fn settled(
        &self,
        turn: &TurnInner,
        instance: &Instance,
        record: &Record,
        result: ToolResult,
    ) -> PollStatus {
        match self.settle(turn, &record.handle, &result).await {
            Ok(true) => PollStatus::Ended(result),
            // Another process ended it first, or it ended since it was read.
            Ok(false) => match self.find(instance, record.handle.as_str()).await {
                Ok(record) => told(&record, instance),
                Err(error) => PollStatus::of_error(error),
            },
            // The component may not give it twice: it is answered, though nobody can ask again.
            Err(error) => {
                let call_id = result.tool_call_id();
                tracing::error!(%error, call_id, "the result of a pending call is not recorded");
                PollStatus::Ended(result)
            }
        }
    }

    /// Ends a pending call that nobody wants any more: `E_TOOL_CANCELLED`, or the result it already
    /// had.
    pub(crate) async fn cancel(&self, instance: &Instance, handle: &str) -> ToolResult {
        let locale = instance.0.agent.0.locale;
        let Some(known) = Handle::parse(handle) else {
            return ToolResult::error("", "", unknown(handle, instance));
        };
        let owner = owner(instance);
        let record = match self.records.cancel(&known, &owner, SystemTime::now()).await {
            Ok(Some(record)) => record,
            Ok(None) => return ToolResult::error("", "", unknown(handle, instance)),
            Err(error) => return ToolResult::error("", "", unreadable(&error, locale)),
        };
        if !record.state.is_open() {
            return told(&record, instance).into_result();
        }
        let turn = Arc::new(TurnInner::resumed(instance, &record.call));
        let result = failed(&record, cancelled(instance));
        self.tell(&turn, &record.handle, &result);
        self.stop(&record.handle);
        if let Source::Guest { guest_handle } = &record.source {
            guest::cancel(&turn, &record.call, guest_handle.clone()).await;
        }
        result
    }

    /// Whether a record is one of this process that nothing here runs: the store could not keep what
    /// it came to.
    fn is_lost(&self, record: &Record) -> bool {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        self.records.is_own_running(record) && !running.contains_key(&record.handle)
    }

    async fn find(&self, instance: &Instance, handle: &str) -> Result<Record, ToolError> {
        let locale = instance.0.agent.0.locale;
        let Some(known) = Handle::parse(handle) else {
            return Err(unknown(handle, instance));
        };
        let owner = owner(instance);
        match self.records.find(&known, &owner, SystemTime::now()).await {
            Ok(Some(record)) => Ok(record),
            Ok(None) => Err(unknown(handle, instance)),
            Err(error) => Err(unreadable(&error, locale)),
        }
    }
}

/// One who asks for a handle, or waits to: the last of them takes its gate away.
struct PerHandleLock<'a> {
    asked: &'a Asked,
    handle: Handle,
    gate: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> PerHandleLock<'a> {
    fn of(asked: &'a Asked, handle: Handle) -> Self {
        let mut all = asked.lock().unwrap_or_else(PoisonError::into_inner);
        let gate = Arc::clone(all.entry(handle.clone()).or_default());
        drop(all);
        Self {
            asked,
            handle,
            gate,
        }
    }
}

impl Drop for PerHandleLock<'_> {
    fn drop(&mut self) {
        let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        // This one's and the map's: nobody else waits.
        if Arc::strong_count(&self.gate) == 2 {
            all.remove(&self.handle);
        }
    }
}

/// What came of asking for a pending call.
pub(super) enum PollStatus {
    /// It has ended, well or not; or there is no such call.
    Ended(ToolResult),
    /// It has not ended.
    NotYet(ToolResult),
    /// It could not be asked, or did not answer; it may be asked again.
    Unanswered(ToolResult),
}

impl PollStatus {
    /// Of a record that was not found, or could not be.
    fn of_error(error: ToolError) -> Self {
        let transient = error.code == ErrorCode::Host(ToolErrorCode::Host);
        let result = ToolResult::error("", "", error);
        if transient {
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

/// How far a record is.
fn told(record: &Record, instance: &Instance) -> PollStatus {
    let (id, name) = (&record.call.call_id, &record.call.tool_name);
    match &record.state {
        State::Done(result) => PollStatus::Ended((**result).clone().answering(id, name)),
        State::Cancelled => PollStatus::Ended(failed(record, cancelled(instance))),
        State::Running | State::Waiting => {
            let handle = record.handle.as_str().to_owned();
            PollStatus::NotYet(ToolResult::pending(id, name, handle))
        }
    }
}

fn failed(record: &Record, error: ToolError) -> ToolResult {
    ToolResult::error(&record.call.call_id, &record.call.tool_name, error)
}

/// What a call came to whose result the store could not keep.
fn lost(record: &Record, instance: &Instance) -> ToolResult {
    let message = format!(
        "Tool '{}' was interrupted: its result could not be kept.",
        record.call.tool_name
    );
    let locale = instance.0.agent.0.locale;
    failed(
        record,
        ToolError::host(ToolErrorCode::Interrupted, message, locale),
    )
}

fn cancelled(instance: &Instance) -> ToolError {
    let locale = instance.0.agent.0.locale;
    let message = "The pending call was cancelled.";
    ToolError::host(ToolErrorCode::Cancelled, message, locale)
}

/// A handle that is malformed, another instance's, expired or made up: it is not said which.
fn unknown(handle: &str, instance: &Instance) -> ToolError {
    let shown = text::shorten(handle, HANDLE_SHOWN);
    let message = format!("No pending call of this agent instance has the handle '{shown}'.");
    let locale = instance.0.agent.0.locale;
    ToolError::host(ToolErrorCode::UnknownHandle, message, locale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn nothing_is_left_of_those_who_asked_or_went_away() {
        let asked = Asked::default();
        let handle = Handle::parse(&format!("pending_{}", "a".repeat(32))).unwrap();
        let left = || asked.lock().unwrap().len();
        {
            let first = PerHandleLock::of(&asked, handle.clone());
            let _alone = first.gate.lock().await;
            let second = PerHandleLock::of(&asked, handle.clone());
            let waits = async { drop(second.gate.lock().await) };
            let gave_up = tokio::time::timeout(std::time::Duration::from_millis(1), waits).await;
            assert!(gave_up.is_err(), "one at a time");
            drop(second);
            assert_eq!(left(), 1);
        }
        assert_eq!(left(), 0);
        // A future that was begun and is dropped.
        let cancelled = async {
            let _own = PerHandleLock::of(&asked, handle);
            std::future::pending::<()>().await;
        };
        let _gone = tokio::time::timeout(std::time::Duration::from_millis(1), cancelled).await;
        assert_eq!(left(), 0);
    }
}
