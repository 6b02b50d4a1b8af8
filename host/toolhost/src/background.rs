//! Calls that run in the background, and polls and cancellations of pending calls.

mod guest_poll;
pub(crate) mod held;
mod poll;
mod poll_reply;
mod resumed;
mod running;
pub(crate) mod served;
mod submit;

pub use poll_reply::PollReply;
pub(crate) use submit::submit;
