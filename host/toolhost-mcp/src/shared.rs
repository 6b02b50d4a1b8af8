//! What all connections of a server share.

use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::config::McpConfig;
use crate::metrics::Metrics;
use crate::served::ServedAgent;

/// What all connections share.
pub(crate) struct Shared {
    pub(crate) served: ServedAgent,
    pub(crate) config: McpConfig,
    /// One permit for each call that may run.
    pub(crate) calls: Semaphore,
    /// The calls that run, for waiting until they have ended.
    pub(crate) running: TaskTracker,
    /// No further calls.
    pub(crate) drain: CancellationToken,
    pub(crate) metrics: Metrics,
}

impl Shared {
    /// Returns the number of calls that run.
    pub(crate) fn in_flight(&self) -> usize {
        let free = self.calls.available_permits();
        self.config.max_calls.saturating_sub(free)
    }

    /// Waits until the server is to stop and no call runs any more.
    pub(crate) async fn drained(&self) {
        self.drain.cancelled().await;
        self.running.close();
        self.running.wait().await;
    }
}
