//! The requests of a stream that have no response yet, and the memory that they take.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;
use tokio::sync::Notify;

use crate::shares::Share;

/// The requests that have no response yet.
#[derive(Debug, Default)]
pub(crate) struct Unanswered {
    requests: Mutex<Requests>,
    answered: Notify,
}

#[derive(Debug, Default)]
struct Requests {
    running: HashMap<RequestId, Share>,
    /// Responses that the client has not read.
    written: usize,
}

impl Unanswered {
    fn requests(&self) -> MutexGuard<'_, Requests> {
        let requests = self.requests.lock();
        requests.unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns false if a request of this id runs.
    pub(crate) fn begin(&self, id: RequestId, memory: Share) -> bool {
        match self.requests().running.entry(id) {
            Entry::Vacant(free) => {
                free.insert(memory);
                true
            }
            Entry::Occupied(_) => false,
        }
    }

    pub(crate) fn cancel(&self, id: &RequestId) {
        self.requests().running.remove(id);
        self.answered.notify_one();
    }

    pub(crate) fn begin_response(&self, id: &RequestId) {
        let mut requests = self.requests();
        requests.running.remove(id);
        requests.written += 1;
    }

    pub(crate) fn end_response(&self) {
        self.requests().written -= 1;
        self.answered.notify_one();
    }

    fn count(&self) -> usize {
        let requests = self.requests();
        requests.running.len() + requests.written
    }

    pub(crate) async fn fewer_than(&self, max: usize) {
        while self.count() >= max {
            self.answered.notified().await;
        }
    }
}
