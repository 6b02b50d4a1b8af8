//! Pending calls: a call returns a handle, and polling it returns the result.
//!
//! A component answers `pending` with a handle of its own, or the runtime submits a call, which then
//! runs in the background. Either way the model gets a handle of the host, which only its own agent
//! instance can use, in this process or a later one.

mod calls;
pub(crate) mod completion;
pub(crate) mod per_handle_lock;
pub(crate) mod record;
pub(crate) mod waiting;
mod webhook;
mod webhook_task;

pub(crate) use calls::{EXPIRY, PendingCalls};
pub use completion::{Completed, Completion, Completions, CompletionsError};

pub use crate::background::PollReply;
