//! Results that come later: a handle now, the result when it is asked for.
//!
//! A component answers `pending` with a handle of its own, or the runtime submits a call, which then
//! runs in the background. Either way the model gets a handle of the host's, which only its own
//! agent instance can use, in this process or a later one.

mod calls;
mod guest;
mod poll;
pub(crate) mod record;
mod submit;

pub use calls::{Completed, Completion, Completions};
pub(crate) use calls::{EXPIRY, Pending};
pub(crate) use guest::accept;
pub(crate) use record::{Handle, PendingCall, SCHEMA};
