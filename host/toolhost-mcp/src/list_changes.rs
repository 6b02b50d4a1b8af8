//! Notifies clients that the list of tools has changed.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::time::timeout;
use tokio_util::task::AbortOnDropHandle;
use toolhost::BundleChanges;

/// Time in which a client takes a notification. Changes meanwhile are notified as one.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);

type Peers = Arc<Mutex<Vec<Peer<RoleServer>>>>;

/// The clients that sent `initialize`. One task notifies all of them.
#[derive(Default)]
pub(crate) struct Listeners {
    peers: Peers,
    task: OnceLock<AbortOnDropHandle<()>>,
}

impl Listeners {
    /// Notifies a client from now on, until its connection or session ends. Forgets those that have ended.
    pub(crate) fn add(&self, peer: Peer<RoleServer>, changes: impl FnOnce() -> BundleChanges) {
        let mut peers = self.peers.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|peer| !peer.is_transport_closed());
        peers.push(peer);
        drop(peers);
        self.task.get_or_init(|| {
            let notifying = notify_peers(Arc::clone(&self.peers), changes());
            AbortOnDropHandle::new(tokio::spawn(notifying))
        });
    }
}

async fn notify_peers(peers: Peers, mut changes: BundleChanges) {
    loop {
        changes.changed().await;
        let mut open = peers.lock().unwrap_or_else(PoisonError::into_inner).clone();
        open.retain(|peer| !peer.is_transport_closed());
        let notified = open.iter().map(|peer| {
            // A client that does not read is not waited for.
            timeout(NOTIFY_TIMEOUT, peer.notify_tool_list_changed())
        });
        join_all(notified).await;
    }
}

/// Notifies a client of 2026-07-28 that listens, until it stops.
pub(crate) async fn notify_subscription(
    mut changes: BundleChanges,
    subscription: &SubscriptionContext,
) {
    if subscription.accepted().tools_list_changed != Some(true) {
        return subscription.cancelled().await;
    }
    loop {
        tokio::select! {
            () = subscription.cancelled() => return,
            _bundle = changes.changed() => {}
        }
        if subscription
            .sink()
            .notify_tool_list_changed()
            .await
            .is_err()
        {
            return;
        }
    }
}
