//! The threads of a host: those that run guests and work of the host, and the clock.

use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, oneshot};

use crate::blocking::{BlockingPool, MAX_BLOCKING, TaskError, spawn_blocking};
use crate::clock::Clock;
use crate::run_queue::FairRunQueue;

/// Most works at once that wait for files or for locks of other processes, such as commits.
const MAX_WAITING: usize = 32;

/// Time after which a thread that blocks or computes ends if nothing needs it: starting one costs less than what it
/// keeps.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// The threads of a host, shared by all clones. When the last is dropped they end without waiting, as that may be in
/// async code.
#[derive(Clone)]
pub struct Threads(Arc<Inner>);

struct Inner {
    clock: Clock,
    handle: Handle,
    blocking: BlockingPool,
    run_queue: FairRunQueue,
    computing: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// Taken when dropped.
    runtime: Option<Runtime>,
    _stop_clock: oneshot::Sender<()>,
}

impl Threads {
    /// Starts the threads. Each of `calls` may have one of its own where its files are slow.
    ///
    /// # Errors
    /// The system has no thread.
    pub fn start(calls: u32) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(cores)
            .max_blocking_threads(
                (calls as usize).saturating_add(cores + MAX_BLOCKING + MAX_WAITING),
            )
            .thread_keep_alive(IDLE_TIME)
            .thread_name("toolhost-guest")
            .event_interval(1)
            .build()?;
        let (clock, stop) = Clock::start()?;
        let handle = runtime.handle().clone();
        Ok(Self(Arc::new(Inner {
            clock,
            blocking: BlockingPool::new(handle.clone()),
            run_queue: FairRunQueue::new(handle.clone(), cores),
            computing: Arc::new(Semaphore::new(cores)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            handle,
            runtime: Some(runtime),
            _stop_clock: stop,
        })))
    }

    /// The clock, which needs no timer of the caller's runtime.
    pub fn clock(&self) -> &Clock {
        &self.0.clock
    }

    /// The runtime for work that computes or blocks.
    pub fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// The threads for file calls that wait for a disk.
    pub fn blocking(&self) -> &BlockingPool {
        &self.0.blocking
    }

    /// The queue for calls that compute for long.
    pub fn run_queue(&self) -> &FairRunQueue {
        &self.0.run_queue
    }

    /// Awaits a future for at most this time, by the [clock](Self::clock). Returns `None` and drops the future where it
    /// takes longer.
    pub async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        self.0.clock.within(time, future).await
    }

    /// Waits for this time, by the [clock](Self::clock).
    pub async fn pause(&self, time: Duration) {
        let _elapsed = self.within(time, std::future::pending::<()>()).await;
    }

    /// Runs a future in the background: on the caller's runtime, or else on these threads.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn(future)),
            Err(_) => self.spawn_own(future),
        }
    }

    /// Runs a future on these threads, which outlive the caller's runtime.
    pub fn spawn_own(&self, future: impl Future<Output = ()> + Send + 'static) {
        drop(self.0.handle.spawn(future));
    }

    /// Runs a long computation on a thread of its own, as many at once as there are cores. If the future is dropped
    /// before the computation begins, it never does.
    ///
    /// # Errors
    /// [`TaskError`] where it panicked, or the system has no thread.
    pub async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TaskError> {
        self.with_permit(&self.0.computing, work).await
    }

    /// Runs work that waits, for files or for locks of other processes, on a thread of its own: 32 at once, which delay
    /// no [computation](Self::compute). If the future is dropped before the work begins, it never does.
    ///
    /// # Errors
    /// Those of [`compute`](Self::compute).
    pub async fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TaskError> {
        self.with_permit(&self.0.waiting, work).await
    }

    async fn with_permit<T: Send + 'static>(
        &self,
        permits: &Arc<Semaphore>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, TaskError> {
        let permit = Arc::clone(permits).acquire_owned().await;
        let permit = permit.map_err(|_| TaskError::NoThread)?;
        let task = spawn_blocking(&self.0.handle, move || {
            let done = work();
            drop(permit);
            done
        });
        task?.await.map_err(|_| TaskError::Panicked)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
