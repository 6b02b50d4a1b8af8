//! Requests that are waited for in this process.

use std::collections::HashMap;
use std::sync::Mutex;

use serde_json::Value;
use tokio::sync::oneshot;

use super::{AgentsError, lock};

/// What comes of a request.
pub(super) type Answer = Result<Value, AgentsError>;

/// Who waits for the answer to which event, by the event's id.
#[derive(Debug, Default)]
pub(super) struct Pending(Mutex<HashMap<String, oneshot::Sender<Answer>>>);

impl Pending {
    /// Begins to wait; none where an event of this id is waited for already.
    pub(super) fn expect(&self, event_id: &str) -> Option<oneshot::Receiver<Answer>> {
        let mut pending = lock(&self.0);
        if pending.contains_key(event_id) {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        pending.insert(event_id.to_owned(), answer);
        Some(answered)
    }

    /// Answers; says whether anybody still waited.
    pub(super) fn answer(&self, event_id: &str, answer: Answer) -> bool {
        let waiting = lock(&self.0).remove(event_id);
        waiting.is_some_and(|waiting| waiting.send(answer).is_ok())
    }

    /// Waits no longer; says whether the answer had not come.
    pub(super) fn forget(&self, event_id: &str) -> bool {
        lock(&self.0).remove(event_id).is_some()
    }

    /// Whether anybody waits.
    pub(super) fn is_expected(&self, event_id: &str) -> bool {
        lock(&self.0).contains_key(event_id)
    }

    /// Lets everybody go without an answer.
    pub(super) fn forget_all(&self) {
        lock(&self.0).clear();
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        lock(&self.0).len()
    }
}
