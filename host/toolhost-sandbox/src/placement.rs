//! Where a call runs: where it is awaited, until it has computed for a while.

use std::future::Future;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinHandle;

use crate::SandboxError;

/// Time a call may keep its caller's thread busy before it moves away.
const BUSY: Duration = Duration::from_millis(2);

/// Most file calls that wait for a disk at once.
const SLOW_AT_ONCE: usize = 16;

/// The sandbox's own threads: one that keeps the time of every call, and those of long calls.
///
/// The clock has a thread of its own, so that a deadline is noticed even while guests or slow disks
/// hold up all others. Dropping it ends them without waiting: a sandbox may be dropped in async code.
pub(crate) struct GuestThreads {
    clock: Handle,
    guests: Handle,
    slow: SlowCalls,
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
            },
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
    /// Run by the sandbox's own threads.
    Away(JoinHandle<T>),
    /// Done.
    Over,
}

/// A call on its way. Dropping it ends the guest, wherever it runs.
pub(crate) struct Placed<T> {
    place: Place<T>,
    guests: Handle,
}

impl<T: Send + 'static> Placed<T> {
    /// Runs where it is awaited, until it has computed for a while.
    pub(crate) fn here(work: Work<T>, guests: &Handle) -> Self {
        Self {
            place: Place::Here(work, Duration::ZERO),
            guests: guests.clone(),
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
                        this.place = Place::Away(this.guests.spawn(work));
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
            Place::Away(task) => Pin::new(task)
                .poll(cx)
                .map(|done| done.map_err(|_| SandboxError::HostPanic)),
            Place::Here(..) | Place::Over => Poll::Ready(Err(SandboxError::HostPanic)),
        }
    }
}

impl<T> Drop for Placed<T> {
    fn drop(&mut self) {
        if let Place::Away(task) = &self.place {
            task.abort();
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
}

impl SlowCalls {
    /// Waits for a thread, then for the call. When the future is dropped the call goes on without a
    /// reader, and is one of those at once until it returns.
    pub(crate) async fn run(
        &self,
        call: impl FnOnce() -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let at_once = Arc::clone(&self.at_once).acquire_owned().await;
        let one = at_once.map_err(io::Error::other)?;
        let task = spawn_blocking(&self.threads, move || {
            let done = call();
            drop(one);
            done
        });
        task.map_err(io::Error::other)?
            .await
            .map_err(io::Error::other)?
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
        let (tell, told) = mpsc::channel();
        let wait_for = |ends: mpsc::Receiver<()>| {
            let tell = tell.clone();
            threads.slow().run(move || {
                tell.send(thread::current().id()).unwrap();
                ends.recv().map_err(io::Error::other)
            })
        };
        let mut cx = Context::from_waker(Waker::noop());
        let (mut ends, mut calls) = (Vec::new(), Vec::new());
        for _ in 0..=SLOW_AT_ONCE {
            let (end, ended) = mpsc::channel();
            let mut call = Box::pin(wait_for(ended));
            // Were it run here, this would never return.
            assert!(call.as_mut().poll(&mut cx).is_pending());
            ends.push(end);
            calls.push(call);
        }
        for _ in 0..SLOW_AT_ONCE {
            assert_ne!(told.recv().unwrap(), thread::current().id());
        }
        // A call that nobody waits for any longer is still one of them.
        let mut last = calls.pop().unwrap();
        drop(calls);
        assert!(last.as_mut().poll(&mut cx).is_pending());
        assert_eq!(threads.slow().at_once.available_permits(), 0);
        for end in &ends {
            end.send(()).unwrap();
        }
        threads.clock().block_on(last).unwrap();
        assert_ne!(told.recv().unwrap(), thread::current().id());
    }
}
