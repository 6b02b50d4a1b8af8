//! The clock of a sandbox: a runtime on a thread of its own that drives the timers of all calls.
//!
//! No guest and no slow disk can delay it, so each deadline is noticed in time. The caller's runtime
//! needs no timer.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;
use std::{io, thread};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio::task::coop::{Unconstrained, unconstrained};
use tokio::time::{Instant, Sleep};

/// A handle on the clock. It stops when the threads of its host end.
#[derive(Clone)]
pub struct Clock(Handle);

impl Clock {
    pub(crate) fn start() -> io::Result<(Self, oneshot::Sender<()>)> {
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

    /// Tasks that run on the thread of the clock.
    #[doc(hidden)]
    pub fn tasks(&self) -> usize {
        self.0.metrics().num_alive_tasks()
    }

    /// Returns a timer of this clock. It fires even if the task has spent its budget.
    fn sleep_until(&self, time: Instant) -> Unconstrained<Sleep> {
        let _entered = self.0.enter();
        unconstrained(tokio::time::sleep_until(time))
    }

    /// Awaits a future for at most this time. Returns none and drops it where it takes longer. A future
    /// that is ready when it is first polled takes no timer.
    pub async fn within<T>(&self, time: Duration, future: impl Future<Output = T>) -> Option<T> {
        // None where that is beyond the range of the clock.
        let ends = Instant::now().checked_add(time);
        let (mut future, mut timer) = (pin!(future), pin!(None::<Unconstrained<Sleep>>));
        poll_fn(|cx| {
            if let Poll::Ready(done) = future.as_mut().poll(cx) {
                return Poll::Ready(Some(done));
            }
            if timer.is_none() {
                timer.set(ends.map(|ends| self.sleep_until(ends)));
            }
            match timer.as_mut().as_pin_mut() {
                Some(timer) => timer.poll(cx).map(|()| None),
                None => Poll::Pending,
            }
        })
        .await
    }

    /// Makes this the clock of a future's timers, whichever thread polls it.
    pub fn drive<F: Future + Send + 'static>(
        &self,
        mut future: Pin<Box<F>>,
    ) -> impl Future<Output = F::Output> + Send + Unpin + use<F> {
        let clock = self.0.clone();
        poll_fn(move |cx| {
            let _entered = clock.enter();
            future.as_mut().poll(cx)
        })
    }
}
