//! Where a call runs: where it is awaited, until it has computed for a while; then in a lane of its
//! component's.

use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use crate::SandboxError;
use crate::component_id::ComponentId;
use crate::scheduler::run_queue::{Lanes, Running};
use crate::sync::lock;

/// Time a call may keep its caller's thread busy before it moves away.
const BUSY: Duration = Duration::from_millis(2);

/// Most file calls that wait for a disk at once; of one component a quarter of them.
const SLOW_AT_ONCE: usize = 16;

/// The sandbox's own threads: one that keeps the time of every call, and those of long calls.
///
/// The clock has a thread of its own, so that a deadline is noticed even while guests or slow disks
/// hold up all others. Dropping it ends them without waiting: a sandbox may be dropped in async code.
pub(crate) struct GuestThreads {
    clock: Handle,
    guests: Handle,
    slow: SlowCalls,
    lanes: Lanes,
    /// Taken when dropped.
    runtime: Option<Runtime>,
    _stop_clock: oneshot::Sender<()>,
}

impl GuestThreads {
    /// Starts them; `calls` may each have a thread of their own where their files are slow.
    pub(crate) fn start(calls: u32) -> io::Result<Self> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let blocking = (calls as usize).saturating_add(cores + SLOW_AT_ONCE);
        let guests = Builder::new_multi_thread()
            .worker_threads(cores)
            .max_blocking_threads(blocking)
            .thread_name("toolhost-guest")
            .event_interval(1)
            .build()?;
        let clock = Builder::new_current_thread().enable_time().build()?;
        let handle = clock.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        thread::Builder::new()
            .name("toolhost-clock".to_owned())
            .spawn(move || {
                // Ends when the sender is dropped.
                let _ended = clock.block_on(stopped);
            })?;
        Ok(Self {
            clock: handle,
            slow: SlowCalls {
                threads: guests.handle().clone(),
                at_once: Arc::new(Semaphore::new(SLOW_AT_ONCE)),
                of_each: Arc::default(),
            },
            lanes: Lanes::new(guests.handle().clone(), cores),
            guests: guests.handle().clone(),
            runtime: Some(guests),
            _stop_clock: stop,
        })
    }

    /// Keeps time.
    pub(crate) fn clock(&self) -> &Handle {
        &self.clock
    }

    /// A timer of the sandbox's own clock.
    pub(crate) fn timer(&self, time: Duration) -> tokio::time::Sleep {
        let _entered = self.clock.enter();
        tokio::time::sleep(time)
    }

    /// Runs what computes or blocks.
    pub(crate) fn guests(&self) -> &Handle {
        &self.guests
    }

    /// Runs calls that compute for long.
    pub(crate) fn lanes(&self) -> &Lanes {
        &self.lanes
    }

    /// Runs what waits for a disk.
    pub(crate) fn slow(&self) -> &SlowCalls {
        &self.slow
    }
}

impl Drop for GuestThreads {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What is to be run. Its timers are the clock's, wherever it is polled: a caller needs none of its
/// own, and the work may move while it waits for one.
pub(crate) struct Work<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    clock: Handle,
}

impl<T> Work<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static, clock: &Handle) -> Self {
        Self {
            future: Box::pin(future),
            clock: clock.clone(),
        }
    }
}

impl<T> Future for Work<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let _entered = this.clock.enter();
        this.future.as_mut().poll(cx)
    }
}

enum Place<T> {
    /// Polled by whoever awaits the call, so long as it is busy for this long at most.
    Here(Work<T>, Duration),
    /// Run by the sandbox's own threads, in a lane of its component's.
    Away(Running<T>),
    /// Done.
    Over,
}

/// A call on its way. Dropping it ends the guest, wherever it runs.
pub(crate) struct Placed<T> {
    place: Place<T>,
    lanes: Lanes,
    component: ComponentId,
}

impl<T: Send + 'static> Placed<T> {
    /// Runs where it is awaited, until it has computed for a while.
    pub(crate) fn here(work: Work<T>, lanes: &Lanes, component: ComponentId) -> Self {
        Self {
            place: Place::Here(work, Duration::ZERO),
            lanes: lanes.clone(),
            component,
        }
    }
}

impl<T: Send + 'static> Future for Placed<T> {
    type Output = Result<T, SandboxError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Place::Here(work, busy) = &mut this.place {
            let started = Instant::now();
            let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(work).poll(cx)));
            *busy += started.elapsed();
            match polled {
                Ok(Poll::Pending) if *busy < BUSY => return Poll::Pending,
                Ok(Poll::Pending) => {
                    if let Place::Here(work, _) = std::mem::replace(&mut this.place, Place::Over) {
                        this.place = Place::Away(this.lanes.enter(this.component, work));
                    }
                }
                Ok(Poll::Ready(done)) => {
                    this.place = Place::Over;
                    return Poll::Ready(Ok(done));
                }
                Err(_) => {
                    this.place = Place::Over;
                    return Poll::Ready(Err(SandboxError::HostPanic));
                }
            }
        }
        match &mut this.place {
            Place::Away(running) => Pin::new(running)
                .poll(cx)
                .map(|done| done.ok_or(SandboxError::HostPanic)),
            Place::Here(..) | Place::Over => Poll::Ready(Err(SandboxError::HostPanic)),
        }
    }
}

/// Runs a call on a thread of its own, where a file call may hang without holding up anything else.
/// Dropping the future ends the guest as soon as no file call holds it.
pub(crate) async fn on_its_own_thread<T: Send + 'static>(
    work: Work<T>,
    guests: &Handle,
) -> Result<T, SandboxError> {
    // Dropped with this future, which the thread then notices.
    let (_waits, mut gone) = oneshot::channel::<()>();
    let own = guests.clone();
    let task = spawn_blocking(guests, move || {
        own.block_on(async {
            tokio::select! {
                biased;
                _ = &mut gone => Err(SandboxError::HostPanic),
                done = work => Ok(done),
            }
        })
    });
    let reason = "the system has no thread for it";
    let task = task.map_err(|NoThread| SandboxError::Busy { reason })?;
    task.await.map_err(|_| SandboxError::HostPanic)?
}

/// File calls that wait for a disk, whichever it is: each on a thread of its own, so that no other
/// call waits with it.
#[derive(Clone)]
pub(crate) struct SlowCalls {
    threads: Handle,
    at_once: Arc<Semaphore>,
    of_each: Arc<Mutex<BTreeMap<ComponentId, Weak<Semaphore>>>>,
}

impl SlowCalls {
    /// Waits for a thread, then for the call. When the future is dropped the call goes on without a
    /// reader, and is one of those at once until it returns.
    pub(crate) async fn run(
        &self,
        component: ComponentId,
        call: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let of_its_own = self.of(component).acquire_owned().await;
        let of_its_own = of_its_own.map_err(io::Error::other)?;
        let at_once = Arc::clone(&self.at_once).acquire_owned().await;
        let at_once = at_once.map_err(io::Error::other)?;
        let task = spawn_blocking(&self.threads, move || {
            let done = call();
            drop((of_its_own, at_once));
            done
        });
        task.map_err(io::Error::other)?
            .await
            .map_err(io::Error::other)?
    }

    /// Those that one component may have at once.
    fn of(&self, component: ComponentId) -> Arc<Semaphore> {
        let mut of_each = lock(&self.of_each);
        if let Some(known) = of_each.get(&component).and_then(Weak::upgrade) {
            return known;
        }
        of_each.retain(|_, known| known.strong_count() > 0);
        let own = Arc::new(Semaphore::new(SLOW_AT_ONCE / 4));
        of_each.insert(component, Arc::downgrade(&own));
        own
    }
}

/// The system gives no thread.
#[derive(Debug, thiserror::Error)]
#[error("the system has no thread to give")]
pub(crate) struct NoThread;

/// Runs what blocks on a thread of its own; tokio panics where there is none to be had.
pub(crate) fn spawn_blocking<T: Send + 'static>(
    guests: &Handle,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, NoThread> {
    catch_unwind(AssertUnwindSafe(|| guests.spawn_blocking(work))).map_err(|_| NoThread)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_slow_file_call_holds_no_thread_but_its_own_and_so_many_go_on_at_once() {
        let threads = GuestThreads::start(1).unwrap();
        let component = |n: usize| ComponentId::of(&format!("{n:016x}"));
        let (tell, told) = mpsc::channel();
        let mut cx = Context::from_waker(Waker::noop());
        let (mut ends, mut calls) = (Vec::new(), Vec::new());
        let mut begin = |of: usize| {
            let (end, ended) = mpsc::channel::<()>();
            let tell = tell.clone();
            let mut call = Box::pin(threads.slow().run(component(of), move || {
                tell.send((of, thread::current().id())).unwrap();
                ended.recv().map_err(io::Error::other)
            }));
            // Were it run here, this would never return.
            assert!(call.as_mut().poll(&mut cx).is_pending());
            ends.push(end);
            call
        };
        // Of five of one component the last waits; those of the others do not.
        let mut first = begin(0);
        for of in 0..SLOW_AT_ONCE {
            calls.push(begin(of / 4));
        }
        let mut begun = BTreeMap::new();
        for _ in 0..SLOW_AT_ONCE {
            let (of, thread) = told.recv().unwrap();
            assert_ne!(thread, thread::current().id());
            *begun.entry(of).or_insert(0) += 1;
        }
        assert_eq!(begun, BTreeMap::from([(0, 4), (1, 4), (2, 4), (3, 4)]));
        let mut other = begin(9);
        // A call that nobody waits for any longer is still one of them.
        drop(calls);
        assert_eq!(threads.slow().at_once.available_permits(), 0);
        for end in &ends {
            // Nobody hears it of the one that never began.
            let _ = end.send(());
        }
        for call in [&mut first, &mut other] {
            threads.clock().block_on(call).unwrap();
        }
    }
}
