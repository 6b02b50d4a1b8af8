//! The task of a host that tells each webhook what it is to be told.

use std::sync::{Arc, Weak};
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use toolhost_manifest::policy::ApprovalRules;

use super::PendingCalls;
use super::webhook::Address;

/// Longest wait for notices to be sent once.
const FLUSH: Duration = Duration::from_secs(5);

/// How often the store is asked: another process may have stored a decision, or ended while it sent something.
const ASK_EVERY: Duration = Duration::from_secs(2);

/// The shortest time between two questions: a decision may be due that waits for an earlier notice.
const ASK_MIN: Duration = Duration::from_millis(200);

impl PendingCalls {
    /// Tells the webhook of these rules from now on what it is to be told, also what earlier processes left. What waits to
    /// be told to the address of an earlier policy is still sent there.
    pub(crate) fn tell(self: &Arc<Self>, rules: &ApprovalRules) {
        let Some(address) = self.webhooks.add(rules, self.sandbox.egress()) else {
            return;
        };
        let threads = self.sandbox.threads();
        threads.spawn_own(send_all(Arc::downgrade(self), address));
    }

    /// Waits until each notice was sent once, at most for 5 s.
    pub(crate) async fn flush_webhooks(&self) {
        let Some(records) = self.opened() else {
            return;
        };
        let threads = self.sandbox.threads();
        let sent = async {
            for url in self.webhooks.urls() {
                while records.has_unsent_notice(&url).await.unwrap_or_default() {
                    threads.pause(Duration::from_millis(20)).await;
                }
            }
        };
        let _is_sent = threads.within(FLUSH, sent).await;
    }
}

/// Sends what an address is to be told, as long as the host is there.
async fn send_all(pending: Weak<PendingCalls>, address: Arc<Address>) {
    while let Some(calls) = pending.upgrade() {
        let mut pause = ASK_EVERY;
        if let Ok(records) = calls.records().await {
            match records.take_notices(&address.url, SystemTime::now()).await {
                Ok(taken) => {
                    let (records, address) = (&records, &address);
                    let sending = taken.notices.iter();
                    join_all(sending.map(|notice| address.send(notice, records))).await;
                    let due = taken
                        .next
                        .map(|next| next.duration_since(SystemTime::now()));
                    let due = due.map(Result::unwrap_or_default);
                    pause = due.unwrap_or(ASK_EVERY).clamp(ASK_MIN, ASK_EVERY);
                }
                Err(error) => {
                    let error = error.with_causes();
                    tracing::warn!(%error, "what a webhook is to be told cannot be read");
                }
            }
        }
        let threads = calls.sandbox.threads().clone();
        drop(calls);
        let _elapsed = threads.within(pause, address.changed.notified()).await;
    }
}
