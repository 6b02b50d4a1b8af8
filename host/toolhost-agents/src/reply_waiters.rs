//! Requests that wait for their answer.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;
use tokio::sync::oneshot;
use toolhost_runtime::lock;

use super::AgentsError;

/// The outcome of a request.
pub(super) type Reply = Result<Value, AgentsError>;

/// The requests that wait, by the ids that identify their replies.
#[derive(Debug)]
pub(super) struct ReplyWaiters<T>(Mutex<HashMap<String, oneshot::Sender<T>>>);

impl<T> Default for ReplyWaiters<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> ReplyWaiters<T> {
    /// Registers a wait for a reply. Returns none if the reply with this id is already awaited.
    pub(super) fn register(&self, id: &str) -> Option<oneshot::Receiver<T>> {
        let mut waiters = lock(&self.0);
        if waiters.contains_key(id) {
            return None;
        }
        let (reply, replied) = oneshot::channel();
        waiters.insert(id.to_owned(), reply);
        Some(replied)
    }

    /// Gives the reply to its waiter. Returns false if nobody waits any more.
    pub(super) fn reply(&self, id: &str, reply: T) -> bool {
        let waiter = lock(&self.0).remove(id);
        waiter.is_some_and(|waiter| waiter.send(reply).is_ok())
    }

    /// Stops waiting. Returns false if the reply has been given.
    pub(super) fn forget(&self, id: &str) -> bool {
        lock(&self.0).remove(id).is_some()
    }

    pub(super) fn is_expected(&self, id: &str) -> bool {
        lock(&self.0).contains_key(id)
    }

    /// Drops all waiters: their requests fail.
    pub(super) fn forget_all(&self) {
        lock(&self.0).clear();
    }

    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}
