//! Takes over events of processes that died, and removes responses that nobody takes.

use std::sync::Arc;

use toolhost_runtime::lock;
use toolhost_store::StoreError;

use super::InstanceId;
use super::mailbox::QueuedEvent;
use super::phase::draining;
use super::state::OrchestratorState;

/// Recovers events in intervals, until the orchestrator stops.
pub(super) async fn run_recovery(state: Arc<OrchestratorState>) {
    let mut phase = state.phase.subscribe();
    loop {
        tokio::select! {
            biased;
            _ = draining(&mut phase) => return,
            () = tokio::time::sleep(state.config.recovery_interval) => {}
        }
        if let Err(error) = state.recover().await {
            let error = error.with_causes();
            tracing::error!(target: "toolhost::agents", %error, "lost events were not recovered");
        }
        if let Err(error) = state.remove_old_responses().await {
            let error = error.with_causes();
            tracing::error!(target: "toolhost::agents", %error, "old responses were not removed");
        }
    }
}

impl OrchestratorState {
    /// Takes over the events of dead runs for the agents that are registered here.
    pub(super) async fn recover(self: &Arc<Self>) -> Result<(), StoreError> {
        for (agent, run) in self.event_store.orphans().await? {
            if lock(&self.agents).contains_key(&agent) {
                let claimed = self.event_store.claim(&agent, &run).await?;
                self.restore(claimed);
            }
        }
        Ok(())
    }

    async fn remove_old_responses(&self) -> Result<(), StoreError> {
        let kept_for = self.config.responses_kept_for.as_millis();
        let kept_for = i64::try_from(kept_for).unwrap_or(i64::MAX);
        let before = self.now_ms().saturating_sub(kept_for);
        let count = self.event_store.remove_responses_before(before).await?;
        if count > 0 {
            tracing::warn!(
                target: "toolhost::agents", count, "responses that nobody took were removed"
            );
        }
        Ok(())
    }

    /// Puts events that were accepted before into their mailboxes, whatever the limits.
    pub(super) fn restore(self: &Arc<Self>, claimed: Vec<(InstanceId, QueuedEvent)>) {
        for (id, entry) in claimed {
            tracing::info!(
                target: "toolhost::agents", instance = %id, event = entry.event_id,
                "an event of an earlier run is recovered"
            );
            // A registered agent stays registered.
            let Ok(agent) = self.agent(id.agent()) else {
                continue;
            };
            let mut instances = lock(&self.instances);
            let current = instances.get(&id);
            if !current.is_some_and(|mailbox| mailbox.restore(entry.clone())) {
                self.open(agent, &id, &mut instances).restore(entry);
            }
        }
    }
}
