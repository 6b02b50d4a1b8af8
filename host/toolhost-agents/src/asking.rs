//! Requests that wait: an edge in the graph of who waits for whom, and nothing left when they end.

use std::sync::Arc;
use std::time::Duration;

use super::delivery::Envelope;
use super::dispatch::Dispatch;
use super::pending::Answer;
use super::waits::Refusal;
use super::{AgentsError, Delivery, InstanceId, Undelivered, lock};

impl Dispatch {
    /// Asks and waits. The envelope names the one who asks.
    pub(super) async fn ask(
        self: &Arc<Self>,
        asker: &InstanceId,
        envelope: Envelope,
        timeout: Duration,
    ) -> Answer {
        let target = envelope.to.agent().to_owned();
        self.agent(&target)?;
        let failed = |reason| AgentsError::undelivered(&target, reason);
        let mut awaited = self.begin_to_wait(asker, &envelope.to)?;
        let Some(answered) = self.pending.expect(&envelope.event.id) else {
            return Err(failed(Undelivered::Duplicate));
        };
        awaited.event_id = Some(envelope.event.id.clone());
        let answer = tokio::time::timeout(timeout, async {
            match self.accept(envelope).await? {
                Delivery::Accepted => {}
                Delivery::Duplicate => return Err(failed(Undelivered::Duplicate)),
            }
            let gone = |_| Err(failed(Undelivered::Stopped));
            answered.await.unwrap_or_else(gone)
        });
        let answer = answer.await;
        drop(awaited);
        answer.unwrap_or_else(|_| {
            let timeout_ms = u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX);
            Err(AgentsError::Timeout { target, timeout_ms })
        })
    }

    fn begin_to_wait(
        self: &Arc<Self>,
        from: &InstanceId,
        to: &InstanceId,
    ) -> Result<Awaited, AgentsError> {
        let depth_max = self.config.chain_depth_max;
        let target = || to.agent().to_owned();
        let entered = self.waits.enter(from, to, depth_max);
        entered.map_err(|refusal| match refusal {
            Refusal::Circle(circle) => AgentsError::Circular {
                target: target(),
                circle,
            },
            Refusal::TooLong => AgentsError::ChainTooLong {
                target: target(),
                depth_max,
            },
        })?;
        Ok(Awaited {
            dispatch: Arc::clone(self),
            from: from.clone(),
            to: to.clone(),
            event_id: None,
        })
    }

    /// Takes back an event that nobody waits for any more, where its turn has not begun.
    pub(super) fn withdraw(&self, to: &InstanceId, event_id: &str) {
        let mailbox = lock(&self.instances).get(to).cloned();
        let Some(entry) = mailbox.and_then(|mailbox| mailbox.withdraw(event_id)) else {
            return;
        };
        let ledger = self.ledger.clone();
        self.tasks.spawn(async move {
            if let Err(error) = ledger.withdraw(entry.seq).await {
                tracing::error!(target: "toolhost::agents", %error, "an event was not withdrawn");
            }
        });
    }
}

/// A request that waits; what it left behind is gone when it is dropped.
struct Awaited {
    dispatch: Arc<Dispatch>,
    from: InstanceId,
    to: InstanceId,
    /// The event whose answer is expected, once it is.
    event_id: Option<String>,
}

impl Drop for Awaited {
    fn drop(&mut self) {
        self.dispatch.waits.leave(&self.from, &self.to);
        let Some(event_id) = &self.event_id else {
            return;
        };
        if self.dispatch.pending.forget(event_id) {
            self.dispatch.withdraw(&self.to, event_id);
        }
    }
}
