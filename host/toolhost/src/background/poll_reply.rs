//! The answer of a poll.

use toolhost_contract::ToolResult;

/// What [`Instance::poll_reply`](crate::Instance::poll_reply) returns.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PollReply {
    /// The result of the call, `pending`, or why this poll failed.
    pub result: ToolResult,
    /// Whether the call has ended or does not exist. If not, it can be polled again, also if this poll
    /// failed.
    pub has_ended: bool,
}
