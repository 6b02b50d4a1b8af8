//! The files of workdirs to which clients have subscribed.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rmcp::RoleServer;
use rmcp::model::{ErrorData, ResourceUpdatedNotificationParam};
use rmcp::service::{Peer, SubscriptionSink};
use tokio::time::timeout;
use toolhost::Workdir;

/// Subscriptions of the clients of one instance.
pub(crate) const INSTANCE_MAX: usize = 128;

/// Time in which a client takes a notification. A client that does not read is not waited for.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);

/// The subscriptions of all clients.
#[derive(Default)]
pub(crate) struct Subscriptions {
    /// Number of subscribers so far.
    subscribers: AtomicU64,
    /// By the key of the instance. None is empty.
    instances: Mutex<HashMap<Arc<str>, Watched>>,
}

/// The subscriptions to files of one instance.
struct Watched {
    workdir: Workdir,
    subscriptions: Vec<Subscription>,
    /// Whether a call has ended since the files were looked at.
    is_due: bool,
    /// Whether a task looks at the files: one at a time, so that no older state follows a newer one.
    is_looked_at: bool,
}

/// The subscription of a client to a file.
pub(crate) struct Subscription {
    /// Number of the client.
    pub(crate) subscriber: u64,
    pub(crate) uri: String,
    pub(crate) path: String,
    /// The file when it was last looked at. None if there was none.
    pub(crate) state: Option<FileState>,
    pub(crate) client: ChangeListener,
}

/// What differs once a file has changed: inode, bytes, and the time of the change.
pub(crate) type FileState = (u64, u64, i64, i64);

/// Files by their paths. None if there is none.
pub(crate) type FileStates = HashMap<String, Option<FileState>>;

/// Where changes are reported.
#[derive(Clone)]
pub(crate) enum ChangeListener {
    /// To a client that sent `initialize`.
    Session(Peer<RoleServer>),
    /// On a stream of `subscriptions/listen`.
    Stream(SubscriptionSink),
}

impl Subscriptions {
    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Watched>> {
        self.instances
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of another client.
    pub(crate) fn next_subscriber(&self) -> u64 {
        self.subscribers.fetch_add(1, Relaxed)
    }

    /// Adds a subscription. One to the same file of the same client changes nothing.
    ///
    /// # Errors
    /// An error for the client if the instance has as many as it may.
    pub(crate) fn insert(
        &self,
        key: &str,
        workdir: Workdir,
        subscription: Subscription,
    ) -> Result<(), ErrorData> {
        let mut instances = self.lock();
        let watched = instances.entry(key.into()).or_insert_with(|| Watched {
            workdir,
            subscriptions: Vec::new(),
            is_due: false,
            is_looked_at: false,
        });
        let is_same = |other: &Subscription| {
            other.subscriber == subscription.subscriber && other.uri == subscription.uri
        };
        if watched.subscriptions.iter().any(is_same) {
            return Ok(());
        }
        if watched.subscriptions.len() >= INSTANCE_MAX {
            let message =
                format!("the instance has {INSTANCE_MAX} subscriptions, which is the limit");
            return Err(ErrorData::invalid_request(message, None));
        }
        watched.subscriptions.push(subscription);
        Ok(())
    }

    /// Ends subscriptions.
    pub(crate) fn remove(&self, is_removed: impl Fn(&Subscription) -> bool) {
        self.lock().retain(|_, watched| {
            watched.subscriptions.retain(|it| !is_removed(it));
            !watched.subscriptions.is_empty()
        });
    }

    /// Returns whether the caller has to look at the files of an instance: some are watched, and no other
    /// task looks at them.
    pub(crate) fn is_to_be_looked_at(&self, key: &str) -> bool {
        let mut instances = self.lock();
        instances.get_mut(key).is_some_and(|watched| {
            watched.is_due = true;
            !std::mem::replace(&mut watched.is_looked_at, true)
        })
    }

    /// Returns the files to look at. None if no call has ended since the last time.
    pub(crate) fn next_look(&self, key: &str) -> Option<(Workdir, BTreeSet<String>)> {
        let mut instances = self.lock();
        let watched = instances.get_mut(key)?;
        if !std::mem::replace(&mut watched.is_due, false) {
            watched.is_looked_at = false;
            return None;
        }
        let paths = watched.subscriptions.iter();
        let paths = paths.map(|it| it.path.clone()).collect();
        Some((watched.workdir.clone(), paths))
    }

    /// Notifies the clients of the files that have changed.
    pub(crate) async fn notify(&self, key: &str, states: &FileStates) {
        let changed = self.changed(key, states).into_iter();
        let notified = changed.map(|(client, uri)| timeout(NOTIFY_TIMEOUT, client.notify(uri)));
        join_all(notified).await;
    }

    fn changed(&self, key: &str, states: &FileStates) -> Vec<(ChangeListener, String)> {
        let mut instances = self.lock();
        let watched = instances.get_mut(key).into_iter();
        let subscriptions = watched.flat_map(|watched| &mut watched.subscriptions);
        let changed = subscriptions.filter_map(|it| {
            let state = *states.get(&it.path)?;
            let before = std::mem::replace(&mut it.state, state);
            (before != state).then(|| (it.client.clone(), it.uri.clone()))
        });
        changed.collect()
    }
}

impl ChangeListener {
    async fn notify(self, uri: String) {
        // The subscriptions of a client that has left end with it.
        match self {
            Self::Session(peer) => {
                let update = ResourceUpdatedNotificationParam::new(uri);
                drop(peer.notify_resource_updated(update).await);
            }
            Self::Stream(sink) => drop(sink.notify_resource_updated(uri).await),
        }
    }
}
