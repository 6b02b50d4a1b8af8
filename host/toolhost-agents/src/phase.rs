//! Whether the orchestrator is running or stopping.

use std::future::pending;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Whether events are accepted.
#[derive(Debug, Clone, Copy)]
pub(super) enum Phase {
    Open,
    /// No event is accepted. Running turns may end until this moment.
    Draining(Instant),
}

/// Waits until the orchestrator stops. Returns until when turns may go on.
pub(super) async fn draining(phase: &mut watch::Receiver<Phase>) -> Instant {
    loop {
        if let Phase::Draining(until) = *phase.borrow_and_update() {
            return until;
        }
        if phase.changed().await.is_err() {
            // The orchestrator is gone: the owner of this task ends it.
            pending::<()>().await;
        }
    }
}

/// Waits until the orchestrator has stopped and the grace period is over.
pub(super) async fn drained(phase: &mut watch::Receiver<Phase>) {
    let until = draining(phase).await;
    sleep_until(until).await;
}
