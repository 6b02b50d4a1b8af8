//! Requests that wait for their answer in this process.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;
use tokio::sync::oneshot;

use super::AgentsError;
use super::sync::lock;

/// The outcome of a request.
pub(super) type Reply = Result<Value, AgentsError>;

/// The requests that wait, by the ids of their events.
#[derive(Debug, Default)]
pub(super) struct ReplyWaiters(Mutex<HashMap<String, oneshot::Sender<Reply>>>);

impl ReplyWaiters {
    /// Begins to wait; none if the event of this id is waited for already.
    pub(super) fn expect(&self, event_id: &str) -> Option<oneshot::Receiver<Reply>> {
        let mut waiters = lock(&self.0);
        if waiters.contains_key(event_id) {
            return None;
        }
        let (reply, replied) = oneshot::channel();
        waiters.insert(event_id.to_owned(), reply);
        Some(replied)
    }

    /// Gives the reply to its waiter. Returns false if nobody waits any more.
    pub(super) fn reply(&self, event_id: &str, reply: Reply) -> bool {
        let waiter = lock(&self.0).remove(event_id);
        waiter.is_some_and(|waiter| waiter.send(reply).is_ok())
    }

    /// Stops waiting. Returns false if the reply has been given.
    pub(super) fn forget(&self, event_id: &str) -> bool {
        lock(&self.0).remove(event_id).is_some()
    }

    pub(super) fn is_expected(&self, event_id: &str) -> bool {
        lock(&self.0).contains_key(event_id)
    }

    /// Drops all waiters: their requests fail.
    pub(super) fn forget_all(&self) {
        lock(&self.0).clear();
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}
