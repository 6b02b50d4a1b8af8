//! Asks for the result of a pending call, or says that nobody wants it.

use std::sync::{Arc, PoisonError};
use std::time::SystemTime;

use tokio::sync::oneshot;
use toolhost_contract::{ErrorCode, ToolError, ToolErrorCode, ToolResult};

use super::guest::{self, Again};
use super::record::{Handle, Record, Source, State};
use super::{Pending, owner, unreadable};
use crate::instance::Instance;
use crate::result::text;
use crate::turn::TurnInner;

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
    pub(super) async fn ask(&self, instance: &Instance, handle: &str) -> Polled {
        let Some(known) = Handle::parse(handle) else {
            return Polled::Ended(ToolResult::error("", "", unknown(handle, instance)));
        };
        let turnstile = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(asked.entry(known.clone()).or_default())
        };
        let polled = {
            let _alone = turnstile.lock().await;
            self.ask_alone(instance, handle).await
        };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        // This one's and the map's: nobody else waits.
        if Arc::strong_count(&turnstile) == 2 {
            asked.remove(&known);
        }
        polled
    }

    async fn ask_alone(&self, instance: &Instance, handle: &str) -> Polled {
        let record = match self.find(instance, handle).await {
            Ok(record) => record,
            Err(error) => return Polled::of_error(error),
        };
        let (Source::Guest { guest_handle }, State::Waiting) = (&record.source, &record.state)
        else {
            return told(&record, instance);
        };
        let turn = Arc::new(TurnInner::resumed(instance, &record.call));
        let asked = guest::ask(&turn, &record.call, guest_handle.clone()).await;
        let result = match asked {
            Again::Ended(result) => result,
            Again::Unanswered(result) => return Polled::Unanswered(result),
            Again::Pending(renewed) => {
                if renewed != *guest_handle {
                    let renewed = self.records.renew_guest_handle(&record.handle, renewed);
                    if let Err(error) = renewed.await {
                        let error = unreadable(&error, turn.locale());
                        return Polled::Unanswered(failed(&record, error));
                    }
                }
                return told(&record, instance);
            }
        };
        match self.settle(&turn, &record.handle, &result).await {
            Ok(true) => Polled::Ended(result),
            // Another process ended it first.
            Ok(false) => match self.find(instance, handle).await {
                Ok(record) => told(&record, instance),
                Err(error) => Polled::of_error(error),
            },
            // The component may not give it twice: it is answered, though nobody can ask again.
            Err(error) => {
                let call_id = result.tool_call_id();
                tracing::error!(%error, call_id, "the result of a pending call is not recorded");
                Polled::Ended(result)
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

/// What came of asking for a pending call.
pub(super) enum Polled {
    /// It has ended, well or not; or there is no such call.
    Ended(ToolResult),
    /// It has not ended.
    NotYet(ToolResult),
    /// It could not be asked, or did not answer; it may be asked again.
    Unanswered(ToolResult),
}

impl Polled {
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
fn told(record: &Record, instance: &Instance) -> Polled {
    let (id, name) = (&record.call.call_id, &record.call.tool_name);
    match &record.state {
        State::Done(result) => {
            let redactor = &instance.0.agent.0.host.redactor;
            // A secret may have become one since it was stored.
            Polled::Ended(redactor.result((**result).clone().answering(id, name)))
        }
        State::Cancelled => Polled::Ended(failed(record, cancelled(instance))),
        State::Running | State::Waiting => {
            let handle = record.handle.as_str().to_owned();
            Polled::NotYet(ToolResult::pending(id, name, handle))
        }
    }
}

fn failed(record: &Record, error: ToolError) -> ToolResult {
    ToolResult::error(&record.call.call_id, &record.call.tool_name, error)
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
