//! Where a call runs: where it is awaited, until it keeps computing.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

use crate::SandboxError;
use crate::meter::Meter;

/// Epoch yields in a row after which a call moves away: about 2 ms of computing.
const YIELDS: u32 = 2;

/// The sandbox's own runtime: the clock of every call, and the place of long ones.
///
/// Started by the first call. Ended without waiting, so that a sandbox may be dropped in async code.
#[derive(Default)]
pub(crate) struct GuestRuntime(OnceLock<Option<Runtime>>);

impl GuestRuntime {
    pub(crate) fn handle(&self) -> Result<Handle, SandboxError> {
        let runtime = self.0.get_or_init(|| {
            let workers = std::thread::available_parallelism().map_or(1, usize::from);
            Builder::new_multi_thread()
                .worker_threads(workers)
                .thread_name("toolhost-guest")
                .enable_time()
                .event_interval(1)
                .build()
                .inspect_err(|error| tracing::error!(%error, "cannot start threads for guests"))
                .ok()
        });
        let runtime = runtime.as_ref().ok_or(SandboxError::HostPanic)?;
        Ok(runtime.handle().clone())
    }
}

impl Drop for GuestRuntime {
    fn drop(&mut self) {
        if let Some(Some(runtime)) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// What is to be run.
pub(crate) type Work<T> = Pin<Box<dyn Future<Output = T> + Send>>;

enum Place<T> {
    /// Polled by whoever awaits the call.
    Here(Work<T>),
    /// Polled by the sandbox's own runtime.
    Away(JoinHandle<T>),
    /// Done.
    Over,
}

/// A call on its way. Dropping it ends the guest, wherever it runs.
pub(crate) struct Placed<T> {
    place: Place<T>,
    meter: Arc<Meter>,
    handle: Handle,
    /// Epoch yields seen at the last poll.
    seen: u32,
    in_a_row: u32,
}

impl<T: Send + 'static> Placed<T> {
    /// Runs where it is awaited, until it keeps computing.
    pub(crate) fn here(work: Work<T>, meter: Arc<Meter>, handle: Handle) -> Self {
        Self::at(Place::Here(work), meter, handle)
    }

    /// Runs on a thread of its own, where a file call may hang without holding up anything else.
    pub(crate) fn on_its_own_thread(work: Work<T>, meter: Arc<Meter>, handle: Handle) -> Self {
        let own = handle.clone();
        let task = handle.spawn_blocking(move || own.block_on(work));
        Self::at(Place::Away(task), meter, handle)
    }

    fn at(place: Place<T>, meter: Arc<Meter>, handle: Handle) -> Self {
        Self {
            place,
            meter,
            handle,
            seen: 0,
            in_a_row: 0,
        }
    }

    fn keeps_computing(&mut self) -> bool {
        let yields = self.meter.yields.load(Relaxed);
        self.in_a_row = if yields == self.seen {
            0
        } else {
            self.in_a_row + 1
        };
        self.seen = yields;
        self.in_a_row >= YIELDS
    }
}

impl<T: Send + 'static> Future for Placed<T> {
    type Output = Result<T, SandboxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Place::Here(work) = &mut this.place {
            // Timers of the call belong to the sandbox's runtime: the caller needs none, and the
            // call may move while it waits for one.
            let entered = this.handle.enter();
            let polled = catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)));
            drop(entered);
            match polled {
                Ok(Poll::Ready(done)) => {
                    this.place = Place::Over;
                    return Poll::Ready(Ok(done));
                }
                Ok(Poll::Pending) if !this.keeps_computing() => return Poll::Pending,
                Ok(Poll::Pending) => {
                    if let Place::Here(work) = std::mem::replace(&mut this.place, Place::Over) {
                        this.place = Place::Away(this.handle.spawn(work));
                    }
                }
                Err(_) => {
                    this.place = Place::Over;
                    return Poll::Ready(Err(SandboxError::HostPanic));
                }
            }
        }
        match &mut this.place {
            Place::Away(task) => Pin::new(task)
                .poll(cx)
                .map(|done| done.map_err(|_| SandboxError::HostPanic)),
            Place::Here(_) | Place::Over => Poll::Ready(Err(SandboxError::HostPanic)),
        }
    }
}

impl<T> Drop for Placed<T> {
    fn drop(&mut self) {
        if let Place::Away(task) = &self.place {
            self.meter.abandoned.store(true, Relaxed);
            task.abort();
        }
    }
}

/// Counts an epoch yield.
pub(crate) fn yielded(yields: &AtomicU32) {
    yields.fetch_add(1, Relaxed);
}
