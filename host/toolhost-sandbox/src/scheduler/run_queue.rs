//! Turns on the processor. Of the calls that compute for long, those of one component have no more of it
//! together than those of another.
//!
//! A component's calls go over as many lanes as there are threads. A lane is one task of the runtime: it
//! lets its calls compute for a moment, and then the other lanes have their turn.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::component_id::ComponentId;
use crate::sync::lock;

/// How long a lane computes before the others have their turn: as long as a call does before it gives
/// way.
const TURN: Duration = Duration::from_millis(1);

/// The lanes of all components.
#[derive(Clone)]
pub(crate) struct Lanes {
    threads: Handle,
    width: usize,
    of_each: Arc<Mutex<BTreeMap<ComponentId, Weak<OfComponent>>>>,
}

/// The lanes of one component; they end with its last call.
struct OfComponent {
    lanes: Vec<mpsc::UnboundedSender<Job>>,
    next: AtomicUsize,
}

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A call in a lane. Dropping it ends the call.
pub(crate) struct Running<T> {
    done: oneshot::Receiver<T>,
    _lanes: Arc<OfComponent>,
}

impl<T> Future for Running<T> {
    /// None where it panicked, or the runtime is gone.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.done).poll(cx).map(Result::ok)
    }
}

impl Lanes {
    /// Lanes on a runtime of so many threads.
    pub(crate) fn new(threads: Handle, width: usize) -> Self {
        Self {
            threads,
            width,
            of_each: Arc::default(),
        }
    }

    /// Lets a call of a component go on in one of its lanes.
    pub(crate) fn enter<T: Send + 'static>(
        &self,
        component: ComponentId,
        call: impl Future<Output = T> + Send + 'static,
    ) -> Running<T> {
        let (mut answer, done) = oneshot::channel();
        let job = async move {
            let call = AssertUnwindSafe(call).catch_unwind();
            let done = tokio::select! {
                biased;
                () = answer.closed() => None,
                done = call => done.ok(),
            };
            if let Some(done) = done {
                // Nobody waits for it any longer.
                let _ = answer.send(done);
            }
        };
        let lanes = self.of(component);
        let lane = lanes.next.fetch_add(1, Relaxed) % self.width;
        if let Some(lane) = lanes.lanes.get(lane) {
            // A lane whose runtime is gone drops what it is given, which whoever waits is told.
            let _ = lane.send(Box::pin(job));
        }
        Running {
            done,
            _lanes: lanes,
        }
    }

    fn of(&self, component: ComponentId) -> Arc<OfComponent> {
        let mut of_each = lock(&self.of_each);
        if let Some(known) = of_each.get(&component).and_then(Weak::upgrade) {
            return known;
        }
        of_each.retain(|_, known| known.strong_count() > 0);
        let lane = |_| {
            let (enter, jobs) = mpsc::unbounded_channel();
            self.threads.spawn(lane(jobs));
            enter
        };
        let own = Arc::new(OfComponent {
            lanes: (0..self.width).map(lane).collect(),
            next: AtomicUsize::new(0),
        });
        of_each.insert(component, Arc::downgrade(&own));
        own
    }
}

/// Runs the calls of a lane until there are none, and none can come.
async fn lane(mut jobs: mpsc::UnboundedReceiver<Job>) {
    let turn = Arc::new(Turn::default());
    let mut running = FuturesUnordered::new();
    let mut is_open = true;
    while is_open || !running.is_empty() {
        let next = poll_fn(|cx| {
            turn.begin();
            running.poll_next_unpin(cx)
        });
        tokio::select! {
            Some(()) = next => {
                // However many end one after the other, other lanes have their turn.
                tokio::task::yield_now().await;
            }
            job = jobs.recv(), if is_open => match job {
                Some(job) => running.push(InTurn { job, turn: Arc::clone(&turn) }),
                None => is_open = false,
            },
        }
    }
}

/// A lane's turn.
struct Turn(Mutex<Instant>);

impl Default for Turn {
    fn default() -> Self {
        Self(Mutex::new(Instant::now()))
    }
}

impl Turn {
    fn begin(&self) {
        *lock(&self.0) = Instant::now();
    }

    fn is_over(&self) -> bool {
        lock(&self.0).elapsed() >= TURN
    }
}

/// A call that waits for the next turn of its lane where this one is over.
struct InTurn {
    job: Job,
    turn: Arc<Turn>,
}

impl Future for InTurn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.turn.is_over() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        self.job.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    fn component(n: u64) -> ComponentId {
        ComponentId::of(&format!("{n:016x}"))
    }

    /// Computes for ever, counts its moments, and gives way as the engine does.
    async fn spin(moments: Arc<AtomicU64>) {
        poll_fn(|cx| {
            let until = Instant::now() + TURN;
            while Instant::now() < until {}
            moments.fetch_add(1, Relaxed);
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })
        .await;
    }

    #[tokio::test]
    async fn many_calls_of_one_component_have_no_more_time_than_one_of_another() {
        let lanes = Lanes::new(Handle::current(), 1);
        let (many, one) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let of_many = || lanes.enter(component(1), spin(Arc::clone(&many)));
        let spinning: Vec<_> = (0..100).map(|_| of_many()).collect();
        let alone = lanes.enter(component(2), spin(Arc::clone(&one)));
        while one.load(Relaxed) < 100 {
            tokio::task::yield_now().await;
        }
        let (many, one) = (many.load(Relaxed), one.load(Relaxed));
        assert!(many <= 2 * one, "{many} moments beside {one}");
        assert!(many >= one / 2, "{many} moments beside {one}");
        drop((spinning, alone));
    }

    #[tokio::test]
    async fn a_call_is_answered_ends_when_it_is_dropped_and_may_panic() {
        let lanes = Lanes::new(Handle::current(), 2);
        assert_eq!(lanes.enter(component(1), async { 7 }).await, Some(7));
        let panics = lanes.enter(component(1), async { panic!("on purpose") });
        assert_eq!(panics.await, None::<()>);
        let held = Arc::new(());
        let holds = Arc::clone(&held);
        let call = lanes.enter(component(1), async move {
            let _holds = holds;
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
        drop(call);
        while Arc::strong_count(&held) > 1 {
            tokio::task::yield_now().await;
        }
        // And nothing is kept of a component that has no calls.
        let _other = lanes.enter(component(2), async {});
        assert_eq!(lock(&lanes.of_each).len(), 1);
    }
}
