//! Pending calls: a call returns a handle, and polling it returns the result.
//!
//! A component answers `pending` with a handle of its own, or the runtime submits a call, which then
//! runs in the background. Either way the model gets a handle of the host, which only its own agent
//! instance can use, in this process or a later one.

mod background;
mod calls;
mod completion;
mod guest_poll;
mod per_handle_lock;
mod poll;
pub(crate) mod record;
mod resumed;
mod submit;

pub(crate) use calls::{EXPIRY, PendingCalls};
pub use completion::{Completed, Completion, Completions, CompletionsError};
pub use poll::PollReply;
pub(crate) use submit::submit;
