//! Notifies clients that the list of tools has changed.

use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::{Peer, SubscriptionContext};
use tokio::time::timeout;
use toolhost::BundleChanges;

/// Time after which a watcher looks whether its client is still there.
const CLOSED_CHECK_INTERVAL: Duration = Duration::from_secs(30);

/// Notifies a client that sent `initialize`, until its connection or session ends.
pub(super) async fn notify_peer(mut changes: BundleChanges, peer: Peer<RoleServer>) {
    while !peer.is_transport_closed() {
        let changed = timeout(CLOSED_CHECK_INTERVAL, changes.changed()).await;
        if changed.is_ok() && peer.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

/// Notifies a client of 2026-07-28 that listens, until it stops.
pub(super) async fn notify_subscription(
    mut changes: BundleChanges,
    subscription: &SubscriptionContext,
) {
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
