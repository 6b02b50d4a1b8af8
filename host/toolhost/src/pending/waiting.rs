//! The instances whose calls wait for consent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use toolhost_runtime::lock;

use super::record::Owner;

/// The instances whose calls wait, and how each learns that somebody has decided.
#[derive(Debug, Default)]
pub(crate) struct WaitingInstances(Mutex<HashMap<Owner, Arc<Notify>>>);

impl WaitingInstances {
    /// Adds an instance. Returns what is notified when somebody has decided about a call of it, and whether it is the first
    /// instance. Who waited for that before is notified that it does no longer.
    pub(crate) fn add(&self, owner: Owner) -> (Arc<Notify>, bool) {
        let notify = Arc::new(Notify::new());
        let mut waiting = lock(&self.0);
        let is_first = waiting.is_empty();
        if let Some(before) = waiting.insert(owner, Arc::clone(&notify)) {
            before.notify_one();
        }
        (notify, is_first)
    }

    /// Whether no instance has calls that wait.
    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.0).is_empty()
    }

    /// Whether this is what is notified of decisions about calls of the instance.
    pub(crate) fn has(&self, owner: &Owner, notify: &Arc<Notify>) -> bool {
        let waiting = lock(&self.0);
        waiting.get(owner).is_some_and(|it| Arc::ptr_eq(it, notify))
    }

    /// No call of the instance waits any more.
    pub(crate) fn remove(&self, owner: &Owner, notify: &Arc<Notify>) {
        let mut waiting = lock(&self.0);
        if waiting.get(owner).is_some_and(|it| Arc::ptr_eq(it, notify)) {
            waiting.remove(owner);
        }
    }

    /// Notifies who waits for decisions about calls of this instance.
    pub(crate) fn notify(&self, owner: &Owner) {
        if let Some(waiting) = lock(&self.0).get(owner) {
            waiting.notify_one();
        }
    }
}
