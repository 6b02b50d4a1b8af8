//! What others left behind: events whose process died are taken over, responses that nobody takes
//! are removed.

use std::sync::Arc;

use toolhost_store::StoreError;

use super::dispatch::Dispatch;
use super::mailbox::Entry;
use super::{InstanceId, lock, turn};

/// Looks for such events from time to time, until the orchestrator stops.
pub(super) async fn keep_adopting(dispatch: Arc<Dispatch>) {
    let mut phase = dispatch.phase.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = turn::draining(&mut phase) => return,
            () = tokio::time::sleep(dispatch.config.adopt_every) => {}
        }
        if let Err(error) = dispatch.adopt().await {
            tracing::error!(target: "toolhost::agents", %error, "lost events were not looked for");
        }
        if let Err(error) = dispatch.forget_old_responses().await {
            tracing::error!(target: "toolhost::agents", %error, "old responses were not removed");
        }
    }
}

impl Dispatch {
    /// Takes over what runs that died owe the agents that are known here.
    pub(super) async fn adopt(self: &Arc<Self>) -> Result<(), StoreError> {
        for (agent, run) in self.ledger.orphans().await? {
            if lock(&self.agents).contains_key(&agent) {
                let claimed = self.ledger.claim(&agent, &run).await?;
                self.take_up(claimed);
            }
        }
        Ok(())
    }

    /// Removes responses that nobody has taken for long.
    async fn forget_old_responses(&self) -> Result<(), StoreError> {
        let kept_for = self.config.responses_kept_for.as_millis();
        let kept_for = i64::try_from(kept_for).unwrap_or(i64::MAX);
        let before = self.now_ms().saturating_sub(kept_for);
        let forgotten = self.ledger.forget_responses(before).await?;
        if forgotten > 0 {
            tracing::warn!(
                target: "toolhost::agents", forgotten, "responses that nobody took were removed"
            );
        }
        Ok(())
    }

    /// Puts events that were accepted before into their mailboxes, over every limit if need be.
    pub(super) fn take_up(self: &Arc<Self>, claimed: Vec<(InstanceId, Entry)>) {
        for (id, entry) in claimed {
            tracing::info!(
                target: "toolhost::agents", instance = %id, event = entry.event_id,
                "an event of an earlier run is taken up"
            );
            // Agents that are known stay known.
            let Ok(agent) = self.agent(id.agent()) else {
                continue;
            };
            let mut instances = lock(&self.instances);
            let known = instances.get(&id);
            if !known.is_some_and(|mailbox| mailbox.take_up(entry.clone())) {
                self.open(agent, &id, &mut instances).take_up(entry);
            }
        }
    }
}
