//! The logs of events of the hosts that a command opens.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Builder;
use toolhost::Host;
use toolhost::events::EventBus;

/// How long the end of the process waits for the disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// The logs that are to be written before the process ends. All clones are one list.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLogs(Arc<Mutex<Vec<EventBus>>>);

impl EventLogs {
    /// Adds the logs of a host with a state root.
    pub(crate) fn add(&self, host: &Host) {
        self.with(|logs| logs.push(host.events().clone()));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.with(|logs| logs.is_empty())
    }

    /// Waits until the events so far are in their files.
    pub(crate) fn write(&self) {
        let logs = self.with(std::mem::take);
        if logs.is_empty() {
            return;
        }
        // The runtime of the command has ended, so that what it dropped has sent its events.
        let Ok(runtime) = Builder::new_current_thread().enable_time().build() else {
            return;
        };
        let flushed = async {
            for log in &logs {
                log.flush().await;
            }
        };
        runtime.block_on(async {
            if tokio::time::timeout(WRITE_TIMEOUT, flushed).await.is_err() {
                tracing::warn!("the last events are not written: the disk takes too long");
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Vec<EventBus>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
