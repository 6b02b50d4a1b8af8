//! Asks for the result of a pending call, or says that nobody wants it.

use std::sync::Arc;
use std::time::SystemTime;

use toolhost_contract::{ToolError, ToolErrorCode, ToolResult};

use super::guest::{self, Again};
use super::record::{Handle, Record, Source, State};
use super::{Pending, owner, unreadable};
use crate::instance::Instance;
use crate::result::text;
use crate::turn::TurnInner;

/// Longest handle quoted, in characters.
const HANDLE_SHOWN: usize = 64;

impl Pending {
    /// Asks for the result a handle stands for: it, or `pending` again.
    pub(crate) async fn poll(&self, instance: &Instance, handle: &str) -> ToolResult {
        let record = match self.find(instance, handle).await {
            Ok(record) => record,
            Err(error) => return ToolResult::error("", "", error),
        };
        let Source::Guest { guest_handle } = &record.source else {
            return told(&record, instance);
        };
        if record.state != State::Waiting {
            return told(&record, instance);
        }
        let turn = Arc::new(TurnInner::resumed(instance, &record.call));
        let asked = guest::ask(&turn, &record.call, guest_handle.clone()).await;
        let result = match asked {
            Again::Ended(result) => result,
            Again::Unanswered(result) => return result,
            Again::Pending(renewed) => {
                if renewed != *guest_handle {
                    let renewed = self.records.renew_guest_handle(&record.handle, renewed);
                    if let Err(error) = renewed.await {
                        return failed(&record, unreadable(&error, turn.locale()));
                    }
                }
                return told(&record, instance);
            }
        };
        if self.settle(&turn, &record.handle, &result).await {
            return result;
        }
        // Somebody else ended it first.
        match self.find(instance, handle).await {
            Ok(record) => told(&record, instance),
            Err(error) => failed(&record, error),
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
            return told(&record, instance);
        }
        let turn = Arc::new(TurnInner::resumed(instance, &record.call));
        let result = failed(&record, cancelled(instance));
        self.tell(&turn, &record.handle, &result);
        match &record.source {
            Source::Background { .. } => self.stop(&record.handle),
            Source::Guest { guest_handle } => {
                guest::cancel(&turn, &record.call, guest_handle.clone()).await;
            }
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

/// How far a record is, as a result.
fn told(record: &Record, instance: &Instance) -> ToolResult {
    let (id, name) = (&record.call.call_id, &record.call.tool_name);
    match &record.state {
        State::Done(result) => (**result).clone().answering(id, name),
        State::Cancelled => failed(record, cancelled(instance)),
        State::Running | State::Waiting => {
            ToolResult::pending(id, name, record.handle.as_str().to_owned())
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
