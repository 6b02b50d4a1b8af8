//! Calls that run in the background, and polls and cancellations of pending calls.

mod guest_poll;
pub(crate) mod held;
mod poll;
mod resumed;
mod running;
mod submit;

pub use poll::PollReply;
pub(crate) use submit::submit;
