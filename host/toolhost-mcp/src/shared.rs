//! What all connections of a server share.

use std::sync::Arc;

use rmcp::model::ErrorData;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

use crate::config::McpConfig;
use crate::list_changes::Listeners;
use crate::metrics::Metrics;
use crate::served::ServedAgent;
use crate::shares::{Exhausted, InstanceShare, InstanceShares, Share, Shares};
use crate::subscriptions::Subscriptions;

/// Jobs that read files of workdirs at the same time, with a thread each.
const FILE_JOBS_MAX: usize = 4;

/// Cancellations of one instance at the same time. They need no free call.
const INSTANCE_CANCELLATIONS_MAX: usize = 16;

/// The unit in which memory is counted.
const KIB: usize = 1 << 10;

/// What all connections share.
pub(crate) struct ServedState {
    pub(crate) served: ServedAgent,
    pub(crate) config: McpConfig,
    calls: Shares,
    instance_cancellations: InstanceShares,
    /// KiB of requests.
    memory: Shares,
    file_jobs: Arc<Semaphore>,
    /// The calls that run, for waiting until they have ended.
    running: TaskTracker,
    /// No further calls.
    pub(crate) drain: CancellationToken,
    pub(crate) listeners: Listeners,
    pub(crate) subscriptions: Subscriptions,
    pub(crate) metrics: Metrics,
}

/// A call that may run, until this is dropped.
pub(crate) struct Admitted {
    _running: TaskTrackerToken,
    _share: AdmittedShare,
}

/// What an admitted call has taken.
enum AdmittedShare {
    Call(#[expect(dead_code, reason = "held until the call has ended")] Share),
    Cancellation(#[expect(dead_code, reason = "held until the call has ended")] InstanceShare),
}

impl ServedState {
    pub(crate) fn new(served: ServedAgent, config: McpConfig) -> Self {
        let kib = config.request_bytes.div_ceil(KIB);
        Self {
            calls: Shares::new(config.max_calls, config.max_instance_calls),
            instance_cancellations: InstanceShares::default(),
            memory: Shares::new(kib, kib / 4),
            file_jobs: Arc::new(Semaphore::new(FILE_JOBS_MAX)),
            running: TaskTracker::new(),
            drain: CancellationToken::new(),
            listeners: Listeners::default(),
            subscriptions: Subscriptions::default(),
            metrics: Metrics::new(served.bundle().host().sandbox().clone()),
            served,
            config,
        }
    }

    /// Admits a call, a poll or a reading of files: what runs a component or blocks a thread.
    ///
    /// # Errors
    /// An error for the client if the server stops, or if it or the instance runs as many as it may.
    pub(crate) fn admit(&self, key: &str) -> Result<Admitted, ErrorData> {
        let running = self.run()?;
        let call = self.calls.take(key, 1).map_err(|exhausted| {
            self.busy(match exhausted {
                Exhausted::All => "the server runs as many calls as it may; call again later",
                Exhausted::Instance => {
                    "this instance runs as many calls as it may; call again when one has ended"
                }
            })
        })?;
        Ok(Admitted {
            _running: running,
            _share: AdmittedShare::Call(call),
        })
    }

    /// Admits the cancellation of a pending call, also if no further call is admitted.
    ///
    /// # Errors
    /// As [`Self::admit`].
    pub(crate) fn admit_cancellation(&self, key: &str) -> Result<Admitted, ErrorData> {
        let running = self.run()?;
        let (cancellations, most) = (&self.instance_cancellations, INSTANCE_CANCELLATIONS_MAX);
        let cancellation = cancellations.take(key, 1, most).ok_or_else(|| {
            self.busy("this instance runs as many cancellations as it may; cancel again later")
        })?;
        Ok(Admitted {
            _running: running,
            _share: AdmittedShare::Cancellation(cancellation),
        })
    }

    /// Takes memory for a request.
    ///
    /// # Errors
    /// An error for the client if there is not enough.
    pub(crate) fn take_memory(&self, key: &str, bytes: usize) -> Result<Share, ErrorData> {
        let memory = self.memory.take(key, bytes.div_ceil(KIB).max(1));
        memory.map_err(|exhausted| {
            self.busy(match exhausted {
                Exhausted::All => "the requests that run take all the memory; send it again later",
                Exhausted::Instance => {
                    "the requests of this instance take all its memory; send it again when one has ended"
                }
            })
        })
    }

    /// Has draining wait until this is dropped.
    pub(crate) fn running(&self) -> TaskTrackerToken {
        self.running.token()
    }

    fn run(&self) -> Result<TaskTrackerToken, ErrorData> {
        // Before the check, so that draining waits for every call that passes it.
        let running = self.running();
        if self.drain.is_cancelled() {
            return Err(self.busy("the server is stopping"));
        }
        Ok(running)
    }

    fn busy(&self, message: &'static str) -> ErrorData {
        self.metrics.count_refused_call();
        ErrorData::internal_error(message, None)
    }

    /// Returns the number of calls that run.
    pub(crate) fn in_flight(&self) -> usize {
        self.config.max_calls.saturating_sub(self.calls.free())
    }

    /// Waits until the server is to stop and no call runs any more.
    pub(crate) async fn drained(&self) {
        self.drain.cancelled().await;
        self.running.close();
        self.running.wait().await;
    }

    /// Reads files on a thread that may block, a few at the same time. Returns none if it panicked.
    pub(crate) async fn read_files<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let job = Arc::clone(&self.file_jobs).acquire_owned().await.ok()?;
        let reading = tokio::task::spawn_blocking(move || {
            let _job = job;
            read()
        });
        reading.await.ok()
    }
}
