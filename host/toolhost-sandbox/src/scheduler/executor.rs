//! The threads of a sandbox: those that run guests, and the clock.

use std::sync::Arc;
use std::{io, thread};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, oneshot};

use crate::SandboxError;
use crate::scheduler::blocking::{BlockingPool, MAX_BLOCKING, NoThread, spawn_blocking};
use crate::scheduler::clock::Clock;
use crate::scheduler::run_queue::FairRunQueue;

/// Most works at once that wait for files or for locks of other processes, such as commits.
const MAX_WAITING: usize = 32;

/// The threads of a sandbox. Dropping it ends them without waiting, as a sandbox may be dropped in async
/// code.
pub(crate) struct Executor {
    pub(crate) clock: Clock,
    /// The runtime for work that computes or blocks.
    pub(crate) threads: Handle,
    /// The threads for file calls that wait for a disk.
    pub(crate) blocking: BlockingPool,
    /// The queue for calls that compute for long.
    pub(crate) run_queue: FairRunQueue,
    computing: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    /// Taken when dropped.
    runtime: Option<Runtime>,
    _stop_clock: oneshot::Sender<()>,
}

impl Executor {
    /// Starts the threads. Each of `calls` may have one of its own where its files are slow.
    pub(crate) fn start(calls: u32) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let runtime = Builder::new_multi_thread()
            .worker_threads(cores)
            .max_blocking_threads(
                (calls as usize).saturating_add(cores + MAX_BLOCKING + MAX_WAITING),
            )
            .thread_name("toolhost-guest")
            .event_interval(1)
            .build()?;
        let (clock, stop) = Clock::start()?;
        let threads = runtime.handle().clone();
        Ok(Self {
            clock,
            blocking: BlockingPool::new(threads.clone()),
            run_queue: FairRunQueue::new(threads.clone(), cores),
            computing: Arc::new(Semaphore::new(cores)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            threads,
            runtime: Some(runtime),
            _stop_clock: stop,
        })
    }

    /// Runs a long computation on a thread of its own, as many at once as there are cores. If the
    /// future is dropped before the computation begins, it never does.
    pub(crate) async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SandboxError> {
        self.with_permit(&self.computing, work).await
    }

    /// Runs work that waits, for files or for locks of other processes, on a thread of its own. It takes no
    /// permit of a computation. If the future is dropped before the work begins, it never does.
    pub(crate) async fn wait<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SandboxError> {
        self.with_permit(&self.waiting, work).await
    }

    async fn with_permit<T: Send + 'static>(
        &self,
        permits: &Arc<Semaphore>,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, SandboxError> {
        let permit = Arc::clone(permits).acquire_owned().await;
        let permit = permit.map_err(|_| NoThread)?;
        let task = spawn_blocking(&self.threads, move || {
            let done = work();
            drop(permit);
            done
        });
        task?.await.map_err(|_| SandboxError::HostPanic)
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
