//! Requests that wait for their answer: each is an edge in the wait graph until it ends.

use std::sync::Arc;
use std::time::Duration;

use toolhost_runtime::lock;

use super::delivery::Envelope;
use super::reply_waiters::Reply;
use super::request::millis;
use super::state::OrchestratorState;
use super::{AgentsError, Delivery, InstanceId, Undelivered};

impl OrchestratorState {
    pub(super) async fn ask(
        self: &Arc<Self>,
        asker: &InstanceId,
        envelope: Envelope,
        timeout: Duration,
    ) -> Reply {
        let target = envelope.to.agent().to_owned();
        self.agent(&target)?;
        let failed = |reason| AgentsError::undelivered(&target, reason);
        let depth_max = self.config.chain_depth_max;
        self.wait_graph.enter(asker, &envelope.to, depth_max)?;
        let mut request = WaitingRequest {
            state: Arc::clone(self),
            from: asker.clone(),
            to: envelope.to.clone(),
            event_id: None,
        };
        let Some(replied) = self.reply_waiters.register(&envelope.event.id) else {
            return Err(failed(Undelivered::Duplicate));
        };
        request.event_id = Some(envelope.event.id.clone());
        let reply = tokio::time::timeout(timeout, async {
            match self.accept(envelope).await? {
                Delivery::Accepted => {}
                Delivery::Duplicate => return Err(failed(Undelivered::Duplicate)),
            }
            let stopped = |_| Err(failed(Undelivered::Stopped));
            replied.await.unwrap_or_else(stopped)
        });
        let reply = reply.await;
        drop(request);
        reply.unwrap_or_else(|_| {
            let timeout_ms = millis(timeout);
            Err(AgentsError::Timeout { target, timeout_ms })
        })
    }

    /// Removes an event whose requester no longer waits, if its turn has not begun.
    pub(super) fn withdraw(self: &Arc<Self>, to: &InstanceId, event_id: &str) {
        let mailbox = lock(&self.instances).get(to).cloned();
        let Some(entry) = mailbox.and_then(|mailbox| mailbox.withdraw(event_id)) else {
            return;
        };
        let (own, to, event_id) = (Arc::clone(self), to.clone(), event_id.to_owned());
        self.tasks.spawn(async move {
            // If the orchestrator stops before, the event is delivered at the next start.
            let _is_withdrawn = own.withdraw_stored(&to, &event_id, entry.seq).await;
        });
    }

    /// Removes an event whose requester no longer waits from the store. Returns false if the orchestrator
    /// stops before the store works.
    pub(super) async fn withdraw_stored(&self, of: &InstanceId, event_id: &str, seq: i64) -> bool {
        let mut failures = self.failures(of, event_id, "an event was not withdrawn");
        while let Err(error) = self.event_store.withdraw(seq).await {
            failures.add(&error);
            if !failures.pause().await {
                return false;
            }
        }
        true
    }
}

/// A request that waits. Dropping it removes its edge, and withdraws its event.
struct WaitingRequest {
    state: Arc<OrchestratorState>,
    from: InstanceId,
    to: InstanceId,
    /// The event whose answer is expected.
    event_id: Option<String>,
}

impl Drop for WaitingRequest {
    fn drop(&mut self) {
        self.state.wait_graph.leave(&self.from, &self.to);
        let Some(event_id) = &self.event_id else {
            return;
        };
        if self.state.reply_waiters.forget(event_id) {
            self.state.withdraw(&self.to, event_id);
        }
    }
}
