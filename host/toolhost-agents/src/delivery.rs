//! Events during delivery, and the limits of events and answers.

use serde_json::Value;
use toolhost_contract::{AgentEvent, HandlerError, IPC_DEPTH_MAX, IPC_LINE_BYTES_MAX, IpcError};

use super::{InstanceId, Undelivered, wire};

/// Longest event, in bytes of JSON: a message is somewhat longer than the event in it.
const EVENT_BYTES_MAX: usize = IPC_LINE_BYTES_MAX - (8 << 10);

/// Deepest nesting of an event: a message is one deeper.
const EVENT_DEPTH_MAX: usize = IPC_DEPTH_MAX - 1;

/// Longest answer, in bytes of JSON: the other fields of a response are short, but for the key of an
/// instance, which escapes may make six times as long.
const ANSWER_BYTES_MAX: usize = EVENT_BYTES_MAX - (128 << 10);

/// Deepest nesting of an answer: in a response, in a list, in an event, in a message.
const ANSWER_DEPTH_MAX: usize = IPC_DEPTH_MAX - 5;

/// An event to be accepted.
#[derive(Debug)]
pub(super) struct Envelope {
    pub(super) event: AgentEvent,
    pub(super) to: InstanceId,
    pub(super) asker: Option<Asker>,
}

/// The instance that requested an answer, and how the answer reaches it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Asker {
    pub(super) instance: InstanceId,
    pub(super) mode: ReplyMode,
}

/// How an answer reaches the requester.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReplyMode {
    /// The requester waits in this process.
    Wait,
    /// The answer is stored until it is taken.
    Async,
    /// The answer is stored until it is sent to the requester's worker, as a `delegate_result`.
    Delegate,
}

/// An event that is being delivered.
#[derive(Debug)]
pub(super) struct Delivered {
    pub(super) seq: i64,
    pub(super) event: AgentEvent,
    /// Which delivery this is, from 1.
    pub(super) attempt: u32,
    pub(super) asker: Option<Asker>,
}

impl ReplyMode {
    pub(super) const ALL: [Self; 3] = [Self::Wait, Self::Async, Self::Delegate];

    /// Its name in the store.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Async => "async",
            Self::Delegate => "delegate",
        }
    }
}

impl Envelope {
    /// Checks the event, sets its instance key, and returns its JSON as it is stored.
    pub(super) fn seal(&mut self) -> Result<String, Undelivered> {
        if wire::is_reserved(&self.event.event_type) {
            let reserved = std::mem::take(&mut self.event.event_type);
            return Err(Undelivered::ReservedType(reserved));
        }
        self.event.instance_key = Some(self.to.key().to_owned());
        let checked = self.event.check();
        checked.map_err(|error| Undelivered::Malformed(error.into()))?;
        let json = serde_json::to_string(&self.event)
            .map_err(|error| Undelivered::Malformed(IpcError::Shape(error)))?;
        IpcError::check_size(&json, EVENT_BYTES_MAX, EVENT_DEPTH_MAX)
            .map_err(Undelivered::Malformed)?;
        Ok(json)
    }
}

/// Returns an answer that is within the limits of a response, and an error for a larger one.
pub(super) fn bounded(answer: Value) -> Result<Value, HandlerError> {
    let json = serde_json::to_string(&answer).map_err(IpcError::Shape);
    match json.and_then(|json| IpcError::check_size(&json, ANSWER_BYTES_MAX, ANSWER_DEPTH_MAX)) {
        Ok(_) => Ok(answer),
        Err(error) => {
            let message = format!("the answer exceeds the IPC limits: {error}");
            Err(HandlerError::new(message))
        }
    }
}
