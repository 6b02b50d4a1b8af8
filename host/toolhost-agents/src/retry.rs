//! Repeats operations of the store that failed: another process may lock the database for long, or the disk
//! may be full.

use toolhost_store::StoreError;

use super::InstanceId;
use super::phase::drained;
use super::settle::report;
use super::state::OrchestratorState;

/// The failures of one operation of the store on an event.
pub(super) struct Failures<'a> {
    state: &'a OrchestratorState,
    /// The instance, the event, and what did not happen.
    of: (&'a InstanceId, &'a str, &'static str),
    pub(super) count: u32,
}

impl OrchestratorState {
    pub(super) fn failures<'a>(
        &'a self,
        instance: &'a InstanceId,
        event_id: &'a str,
        what: &'static str,
    ) -> Failures<'a> {
        Failures {
            state: self,
            of: (instance, event_id, what),
            count: 0,
        }
    }
}

impl Failures<'_> {
    /// Logs a failure and counts it.
    pub(super) fn add(&mut self, error: &StoreError) {
        let (instance, event_id, what) = self.of;
        report(instance, event_id, &error.with_causes(), what);
        self.count = self.count.saturating_add(1);
    }

    /// Waits before the next attempt. Returns false if the orchestrator stops before: the event stays in the
    /// store for the next start.
    pub(super) async fn pause(&self) -> bool {
        let mut phase = self.state.phase.subscribe();
        let pause = self.state.config.backoff(self.count.saturating_sub(1));
        tokio::select! {
            biased;
            () = drained(&mut phase) => false,
            () = tokio::time::sleep(pause) => true,
        }
    }
}
