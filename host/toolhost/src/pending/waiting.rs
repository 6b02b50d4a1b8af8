//! The instances whose calls wait for consent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use toolhost_runtime::lock;

use super::record::Owner;

/// The instances whose calls wait, and how each learns that somebody has decided.
#[derive(Debug, Default)]
pub(crate) struct WaitingInstances(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    instances: HashMap<Owner, Arc<Notify>>,
    /// Whether a task asks the store for decisions.
    is_asked: bool,
}

impl WaitingInstances {
    /// Adds an instance. Returns what is notified when somebody has decided about a call of it, and whether the caller
    /// has to ask the store from now on. Who waited for that before is notified that it does no longer.
    pub(crate) fn add(&self, owner: Owner) -> (Arc<Notify>, bool) {
        let notify = Arc::new(Notify::new());
        let mut waiting = lock(&self.0);
        if let Some(before) = waiting.instances.insert(owner, Arc::clone(&notify)) {
            before.notify_one();
        }
        let asks = !std::mem::replace(&mut waiting.is_asked, true);
        (notify, asks)
    }

    /// Returns the instances whose calls wait. If there are none, whoever asks the store stops.
    pub(crate) fn to_ask(&self) -> Vec<Owner> {
        let mut waiting = lock(&self.0);
        waiting.is_asked = !waiting.instances.is_empty();
        waiting.instances.keys().cloned().collect()
    }

    /// Whether this is what is notified of decisions about calls of the instance.
    pub(crate) fn has(&self, owner: &Owner, notify: &Arc<Notify>) -> bool {
        let waiting = &lock(&self.0).instances;
        waiting.get(owner).is_some_and(|it| Arc::ptr_eq(it, notify))
    }

    /// No call of the instance waits any more.
    pub(crate) fn remove(&self, owner: &Owner, notify: &Arc<Notify>) {
        let waiting = &mut lock(&self.0).instances;
        if waiting.get(owner).is_some_and(|it| Arc::ptr_eq(it, notify)) {
            waiting.remove(owner);
        }
    }

    /// Notifies who waits for decisions about calls of this instance.
    pub(crate) fn notify(&self, owner: &Owner) {
        if let Some(waiting) = lock(&self.0).instances.get(owner) {
            waiting.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(key: &str) -> Owner {
        Owner {
            bundle: "/b/goondan.yaml".to_owned(),
            agent: "coder".to_owned(),
            instance_key: key.to_owned(),
        }
    }

    #[test]
    fn one_task_at_a_time_asks_the_store() {
        let waiting = WaitingInstances::default();
        let (one, asks) = waiting.add(owner("one"));
        assert!(asks, "the first");
        assert!(!waiting.add(owner("two")).1);
        waiting.remove(&owner("one"), &one);
        assert_eq!(waiting.to_ask(), [owner("two")]);
        let (two, _) = waiting.add(owner("two"));
        waiting.remove(&owner("two"), &two);
        // The task has not looked yet: another one would be the second.
        let (three, asks) = waiting.add(owner("three"));
        assert!(!asks);
        waiting.remove(&owner("three"), &three);
        assert_eq!(waiting.to_ask(), []);
        assert!(waiting.add(owner("four")).1, "it has stopped");
    }
}
