//! The instances whose calls wait for consent, and who tells them that somebody has decided.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, SystemTime};

use tokio::sync::Notify;
use toolhost_runtime::lock;

use super::calls::PendingCalls;
use super::record::Owner;

/// How often the store is asked for decisions: another process may have made them.
const ASK_EVERY: Duration = Duration::from_millis(500);

/// The instances whose calls wait.
#[derive(Debug, Default)]
pub(crate) struct WaitingInstances(Mutex<HashMap<Owner, Arc<Notify>>>);

impl PendingCalls {
    /// Returns what is notified when somebody has decided about a call of this instance. Who waited for that before is
    /// notified that it does no longer.
    pub(crate) fn wait_for_decisions(self: &Arc<Self>, owner: Owner) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        let mut waiting = lock(&self.waiting.0);
        let is_first = waiting.is_empty();
        if let Some(before) = waiting.insert(owner, Arc::clone(&notify)) {
            before.notify_one();
        }
        drop(waiting);
        if is_first {
            self.sandbox.threads().spawn(ask(Arc::downgrade(self)));
        }
        notify
    }

    /// Whether this is what is notified of decisions about calls of the instance.
    pub(crate) fn is_waiting(&self, owner: &Owner, notify: &Arc<Notify>) -> bool {
        let waiting = lock(&self.waiting.0);
        waiting.get(owner).is_some_and(|it| Arc::ptr_eq(it, notify))
    }

    /// No call of the instance waits any more.
    pub(crate) fn stop_waiting(&self, owner: &Owner, notify: &Arc<Notify>) {
        if self.is_waiting(owner, notify) {
            lock(&self.waiting.0).remove(owner);
        }
    }

    /// Notifies who waits for decisions about calls of this instance.
    pub(crate) fn note_decision(&self, owner: &Owner) {
        if let Some(waiting) = lock(&self.waiting.0).get(owner) {
            waiting.notify_one();
        }
    }
}

/// Asks the store for decisions while any instance waits.
async fn ask(pending: Weak<PendingCalls>) {
    loop {
        let Some(calls) = pending.upgrade() else {
            return;
        };
        if let Ok(records) = calls.records().await {
            match records.decided(SystemTime::now()).await {
                Ok(decided) => decided
                    .iter()
                    .for_each(|(_, owner)| calls.note_decision(owner)),
                Err(error) => {
                    let error = error.with_causes();
                    tracing::warn!(%error, "decisions about waiting calls cannot be read");
                }
            }
        }
        let threads = calls.sandbox.threads().clone();
        if lock(&calls.waiting.0).is_empty() {
            return;
        }
        drop(calls);
        let _elapsed = threads
            .within(ASK_EVERY, std::future::pending::<()>())
            .await;
    }
}
