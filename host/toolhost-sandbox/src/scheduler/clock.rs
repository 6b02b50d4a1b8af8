//! The clock of a sandbox: a runtime on a thread of its own that drives the timers of all calls.
//!
//! No guest and no slow disk can delay it, so each deadline is noticed in time. The caller's runtime
//! needs no timer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::time::Sleep;

/// A handle on the clock. The clock stops when the sender that [`Clock::start`] returns is dropped.
#[derive(Clone)]
pub(crate) struct Clock(Handle);

impl Clock {
    pub(super) fn start() -> io::Result<(Self, oneshot::Sender<()>)> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let clock = Self(runtime.handle().clone());
        let (stop, stopped) = oneshot::channel();
        thread::Builder::new()
            .name("toolhost-clock".to_owned())
            .spawn(move || {
                let _: Result<(), _> = runtime.block_on(stopped);
            })?;
        Ok((clock, stop))
    }

    /// Returns a timer of this clock.
    pub(crate) fn sleep(&self, time: Duration) -> Sleep {
        let _entered = self.0.enter();
        tokio::time::sleep(time)
    }
}

/// A future whose timers belong to a [`Clock`], whichever thread polls it.
pub(crate) struct ClockedFuture<T> {
    future: Pin<Box<dyn Future<Output = T> + Send>>,
    clock: Clock,
}

impl<T> ClockedFuture<T> {
    pub(crate) fn new(future: impl Future<Output = T> + Send + 'static, clock: &Clock) -> Self {
        Self {
            future: Box::pin(future),
            clock: clock.clone(),
        }
    }
}

impl<T> Future for ClockedFuture<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let this = &mut *self;
        let _entered = this.clock.0.enter();
        this.future.as_mut().poll(cx)
    }
}
