//! What the hosts that a command opens still have to write when it ends: logs of events, of calls and for audits, and
//! the use of budgets.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Builder;
use toolhost::Host;
use toolhost::middleware::AuditLog;

/// How long the end of the process waits for the disk.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);

/// The logs that are to be written before the process ends. All clones are one list.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLogs(Arc<Mutex<Logs>>);

#[derive(Debug, Default)]
struct Logs {
    hosts: Vec<Host>,
    audits: Vec<AuditLog>,
}

impl EventLogs {
    /// Adds the logs of a host with a state root.
    pub(crate) fn add(&self, host: &Host) {
        self.with(|logs| logs.hosts.push(host.clone()));
    }

    /// Adds an audit log.
    pub(crate) fn add_audit(&self, log: AuditLog) {
        self.with(|logs| logs.audits.push(log));
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.with(|logs| logs.hosts.is_empty() && logs.audits.is_empty())
    }

    /// Waits until what happened so far is in the files.
    pub(crate) fn write(&self) {
        if self.is_empty() {
            return;
        }
        let logs = self.with(std::mem::take);
        // The runtime of the command has ended, so that what it dropped has sent its events.
        let Ok(runtime) = Builder::new_current_thread().enable_time().build() else {
            return;
        };
        let flushed = async {
            for host in &logs.hosts {
                host.events().flush().await;
                host.flush_budgets().await;
            }
            for log in &logs.audits {
                log.flush().await;
            }
        };
        runtime.block_on(async {
            if tokio::time::timeout(WRITE_TIMEOUT, flushed).await.is_err() {
                tracing::warn!("the last events are not written: the disk takes too long");
            }
            for host in &logs.hosts {
                host.flush_webhooks().await;
                host.flush_workers().await;
            }
        });
    }

    fn with<T>(&self, work: impl FnOnce(&mut Logs) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
