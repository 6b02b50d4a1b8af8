//! What extensions add to the agents of a bundle. It survives when the bundle is loaded again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use toolhost_runtime::lock;

use super::overlay::CurrentOverlay;

/// The overlays of a bundle's agents, by name. All loads of the bundle share them.
#[derive(Default)]
pub(crate) struct AgentOverlays {
    by_agent: Mutex<HashMap<String, Arc<CurrentOverlay>>>,
    /// What an agent begins with that no earlier load had.
    pub(crate) initial: Arc<CurrentOverlay>,
    /// Counts the changes of overlays, and those that a holder of the bundle adds.
    pub(crate) changes: watch::Sender<u64>,
}

impl AgentOverlays {
    /// Returns the overlay of an agent: the initial one, if there was no agent of this name before. The
    /// overlay of an agent that was removed is kept while it has other extensions.
    pub(crate) fn of(&self, agent: &str) -> Arc<CurrentOverlay> {
        let mut by_agent = lock(&self.by_agent);
        let initial = self.initial.snapshot();
        by_agent.retain(|_, overlay| {
            Arc::strong_count(overlay) > 1
                || overlay.snapshot().extensions() != initial.extensions()
        });
        let new = || Arc::new(CurrentOverlay::new(initial, self.changes.clone()));
        Arc::clone(by_agent.entry(agent.to_owned()).or_insert_with(new))
    }
}
