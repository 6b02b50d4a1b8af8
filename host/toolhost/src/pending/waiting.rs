//! The instances whose calls wait for consent.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use toolhost_agents::AgentsClient;
use toolhost_runtime::lock;

use super::record::{ApprovalId, Owner};

/// Releases of one instance at once.
const RELEASES: usize = 8;

/// After this time a release is tried again that left its call waiting, such as a commit to a full disk.
const RETRY_AFTER: Duration = Duration::from_secs(10);

/// The instances whose calls wait, and how each learns that somebody has decided.
#[derive(Debug, Default)]
pub(crate) struct WaitingInstances(Mutex<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    instances: HashMap<Owner, Arc<Watch>>,
    /// Whether a task asks the store for decisions.
    is_asked: bool,
}

/// What the task has that releases the calls of an instance.
#[derive(Debug)]
pub(crate) struct Watch {
    /// Notified when somebody has decided about a call of the instance.
    pub(crate) decided: Notify,
    pub(crate) releases: Arc<Releases>,
    /// The client for other agents that the instance has, or had before.
    agents: Option<AgentsClient>,
}

/// The releases of one instance, also of tasks that were replaced.
#[derive(Debug)]
pub(crate) struct Releases {
    permits: Arc<Semaphore>,
    /// When each began. The permit is there as long as it runs.
    begun: Mutex<HashMap<ApprovalId, (Instant, Weak<OwnedSemaphorePermit>)>>,
}

impl Default for Releases {
    fn default() -> Self {
        Self {
            permits: Arc::new(Semaphore::new(RELEASES)),
            begun: Mutex::default(),
        }
    }
}

impl Releases {
    /// Begins a release, which lasts until the permit is dropped. Waits while eight of them run. None if this one runs
    /// already, or was tried a short time ago.
    pub(crate) async fn begin(&self, id: ApprovalId) -> Option<Arc<OwnedSemaphorePermit>> {
        if self.is_begun(&id) {
            return None;
        }
        let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
        // Another task may have begun it meanwhile.
        if self.is_begun(&id) {
            return None;
        }
        let permit = Arc::new(permit);
        lock(&self.begun).insert(id, (Instant::now(), Arc::downgrade(&permit)));
        Some(permit)
    }

    fn is_begun(&self, id: &ApprovalId) -> bool {
        let mut begun = lock(&self.begun);
        begun.retain(|_, (at, permit)| permit.strong_count() > 0 || at.elapsed() < RETRY_AFTER);
        begun.contains_key(id)
    }
}

impl WaitingInstances {
    /// Adds an instance. Returns what is notified when somebody has decided about a call of it, and whether the caller
    /// has to ask the store from now on. Who waited for that before is notified that it does no longer.
    pub(crate) fn add(&self, owner: Owner, agents: Option<AgentsClient>) -> (Arc<Watch>, bool) {
        let mut waiting = lock(&self.0);
        let before = waiting.instances.get(&owner);
        before.inspect(|before| before.decided.notify_one());
        let releases = before.map(|before| Arc::clone(&before.releases));
        let watch = Arc::new(Watch {
            decided: Notify::new(),
            releases: releases.unwrap_or_default(),
            agents: agents.or_else(|| before?.agents.clone()),
        });
        waiting.instances.insert(owner, Arc::clone(&watch));
        let asks = !std::mem::replace(&mut waiting.is_asked, true);
        (watch, asks)
    }

    /// Returns the client for other agents of an instance whose calls wait.
    pub(crate) fn agents(&self, owner: &Owner) -> Option<AgentsClient> {
        lock(&self.0).instances.get(owner)?.agents.clone()
    }

    /// Returns the instances whose calls wait. If there are none, whoever asks the store stops.
    pub(crate) fn to_ask(&self) -> Vec<Owner> {
        let mut waiting = lock(&self.0);
        waiting.is_asked = !waiting.instances.is_empty();
        waiting.instances.keys().cloned().collect()
    }

    /// Whether this is what is notified of decisions about calls of the instance.
    pub(crate) fn has(&self, owner: &Owner, watch: &Arc<Watch>) -> bool {
        let waiting = &lock(&self.0).instances;
        waiting.get(owner).is_some_and(|it| Arc::ptr_eq(it, watch))
    }

    /// No call of the instance waits any more.
    pub(crate) fn remove(&self, owner: &Owner, watch: &Arc<Watch>) {
        let waiting = &mut lock(&self.0).instances;
        if waiting.get(owner).is_some_and(|it| Arc::ptr_eq(it, watch)) {
            waiting.remove(owner);
        }
    }

    /// Notifies who waits for decisions about calls of this instance.
    pub(crate) fn notify(&self, owner: &Owner) {
        if let Some(waiting) = lock(&self.0).instances.get(owner) {
            waiting.decided.notify_one();
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
        let (one, asks) = waiting.add(owner("one"), None);
        assert!(asks, "the first");
        assert!(!waiting.add(owner("two"), None).1);
        waiting.remove(&owner("one"), &one);
        assert_eq!(waiting.to_ask(), [owner("two")]);
        let (two, _) = waiting.add(owner("two"), None);
        waiting.remove(&owner("two"), &two);
        // The task has not looked yet: another one would be the second.
        let (three, asks) = waiting.add(owner("three"), None);
        assert!(!asks);
        waiting.remove(&owner("three"), &three);
        assert_eq!(waiting.to_ask(), []);
        assert!(waiting.add(owner("four"), None).1, "it has stopped");
    }

    #[tokio::test]
    async fn a_release_begins_once_and_eight_run_at_once_also_of_a_task_that_was_replaced() {
        let id = |letter: char| {
            ApprovalId::parse(&format!("approval_{}", letter.to_string().repeat(32)))
        };
        let waiting = WaitingInstances::default();
        let (before, _) = waiting.add(owner("one"), None);
        let mut running = Vec::new();
        for letter in 'a'..='h' {
            running.push(before.releases.begin(id(letter).unwrap()).await.unwrap());
        }
        let (after, _) = waiting.add(owner("one"), None);
        assert!(
            after.releases.begin(id('a').unwrap()).await.is_none(),
            "it runs"
        );
        let ninth = after.releases.begin(id('i').unwrap());
        let mut ninth = std::pin::pin!(ninth);
        assert!(futures_util::poll!(&mut ninth).is_pending());
        running.remove(0);
        assert!(ninth.await.is_some());
        assert!(
            after.releases.begin(id('a').unwrap()).await.is_none(),
            "it left its call waiting"
        );
        let (other, _) = waiting.add(owner("two"), None);
        assert!(other.releases.begin(id('a').unwrap()).await.is_some());
    }
}
