//! Shares CPU time fairly between components, for calls that compute for long.
//!
//! A component has a worker queue for each thread, and its calls are spread over them. A worker queue is
//! one task of the runtime. It polls its calls in turns for one time slice, then yields to the queues of
//! other components.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, mpsc as blocking};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};

use crate::ComponentId;
use crate::per_component::PerComponent;
use crate::round_robin::{Job, RoundRobin};

/// Length of a time slice: as long as a guest computes before it yields.
pub(crate) const TIME_SLICE: Duration = Duration::from_millis(1);

/// Longest time for which a time slice on another thread keeps its worker.
const MAX_LENT: Duration = TIME_SLICE.saturating_mul(2);

/// The worker queues of all components.
#[derive(Clone)]
pub struct FairRunQueue {
    threads: Handle,
    width: usize,
    components: Arc<PerComponent<WorkerQueues>>,
}

/// The worker queues of one component. They end with its last call.
pub(crate) struct WorkerQueues {
    queues: Vec<mpsc::UnboundedSender<Job>>,
    next: AtomicUsize,
}

impl FairRunQueue {
    /// Each component has `width` worker queues on the runtime.
    pub(crate) fn new(threads: Handle, width: usize) -> Self {
        Self {
            threads,
            width,
            components: Arc::default(),
        }
    }

    /// Adds a call to one of its component's worker queues. Dropping the future ends the call. It returns
    /// none where the call panicked, or the runtime has ended.
    pub fn spawn<F>(
        &self,
        component: ComponentId,
        call: F,
    ) -> impl Future<Output = Option<F::Output>> + use<F>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        let (mut answer, done) = oneshot::channel();
        let job = async move {
            let call = AssertUnwindSafe(call).catch_unwind();
            let done = tokio::select! {
                biased;
                () = answer.closed() => None,
                done = call => done.ok(),
            };
            if let Some(done) = done {
                let _ = answer.send(done);
            }
        };
        let queues = self.queues(component);
        // If the runtime has ended, the job is dropped, and `done` reports that.
        queues.push(job);
        async move {
            let done = done.await.ok();
            drop(queues);
            done
        }
    }

    /// Returns a component's worker queues. They end when neither the value nor a call is left.
    pub(crate) fn queues(&self, component: ComponentId) -> Arc<WorkerQueues> {
        self.components.get(component, || self.start_workers())
    }

    fn start_workers(&self) -> WorkerQueues {
        let start = |_| {
            let (queue, jobs) = mpsc::unbounded_channel();
            self.threads.spawn(work(jobs));
            queue
        };
        WorkerQueues {
            queues: (0..self.width).map(start).collect(),
            next: AtomicUsize::new(0),
        }
    }
}

/// A time slice on another thread than the worker's, which waits until it is dropped, or for
/// [`MAX_LENT`].
pub(crate) struct LentSlice {
    _ends: blocking::Sender<Infallible>,
}

impl WorkerQueues {
    /// Adds a job to one of the queues.
    fn push(&self, job: impl Future<Output = ()> + Send + 'static) {
        let queue = self.next.fetch_add(1, Relaxed) % self.queues.len().max(1);
        if let Some(queue) = self.queues.get(queue) {
            // The time slice limits how long a job runs, so tokio's budget of the task need not.
            let job = tokio::task::unconstrained(job);
            let _ = queue.send(Box::pin(job));
        }
    }

    /// Waits for the component's turn, and takes its time slice to another thread. Meanwhile the worker's
    /// thread is blocked, so that the slice costs the component as much as if the worker had used it.
    /// Returns none where the runtime has ended.
    pub(crate) fn lend(&self) -> oneshot::Receiver<LentSlice> {
        let (slice, lent) = oneshot::channel();
        self.push(async move {
            let (ends, ended) = blocking::channel();
            if slice.send(LentSlice { _ends: ends }).is_ok() {
                // Nothing is sent: it returns when the slice is dropped.
                let _ = ended.recv_timeout(MAX_LENT);
            }
        });
        lent
    }
}

/// Runs the calls of a worker queue until it is closed and empty.
async fn work(mut jobs: mpsc::UnboundedReceiver<Job>) {
    let mut running = RoundRobin::default();
    let mut is_open = true;
    while is_open || !running.is_empty() {
        tokio::select! {
            // A call that has arrived takes part in the next time slice.
            biased;
            job = jobs.recv(), if is_open => match job {
                Some(job) => running.push(job),
                None => is_open = false,
            },
            () = poll_fn(|cx| running.poll_slice(cx, TIME_SLICE)), if !running.is_empty() => {
                // Other queues run in between, however many calls end one after the other.
                tokio::task::yield_now().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;
    use std::task::Poll;
    use std::time::Instant;

    use super::*;

    fn component(n: u64) -> ComponentId {
        ComponentId(n)
    }

    /// Computes for ever, counts its time slices, and yields as a guest does.
    async fn spin(slices: Arc<AtomicU64>) {
        poll_fn(|cx| {
            let until = Instant::now() + TIME_SLICE;
            while Instant::now() < until {}
            slices.fetch_add(1, Relaxed);
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        })
        .await;
    }

    #[tokio::test]
    async fn many_calls_of_one_component_have_no_more_time_than_one_of_another() {
        let queue = FairRunQueue::new(Handle::current(), 1);
        let (many, one) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let of_many = || queue.spawn(component(1), spin(Arc::clone(&many)));
        let spinning: Vec<_> = (0..100).map(|_| of_many()).collect();
        let alone = queue.spawn(component(2), spin(Arc::clone(&one)));
        while one.load(Relaxed) < 100 {
            tokio::task::yield_now().await;
        }
        let (many, one) = (many.load(Relaxed), one.load(Relaxed));
        assert!(many <= 2 * one, "{many} slices beside {one}");
        assert!(many >= one / 2, "{many} slices beside {one}");
        drop((spinning, alone));
    }

    #[tokio::test]
    async fn calls_of_one_component_take_turns() {
        for calls in [2, 3, 4, 7, 8] {
            let queue = FairRunQueue::new(Handle::current(), 1);
            let counts: Vec<Arc<AtomicU64>> = (0..calls).map(|_| Arc::default()).collect();
            let spinning = counts
                .iter()
                .map(|count| queue.spawn(component(1), spin(Arc::clone(count))));
            let spinning: Vec<_> = spinning.collect();
            while counts[0].load(Relaxed) < 10 {
                tokio::task::yield_now().await;
            }
            drop(spinning);
            let slices: Vec<_> = counts.iter().map(|count| count.load(Relaxed)).collect();
            let (most, least) = (slices.iter().max(), slices.iter().min());
            // The first call began before the others were there.
            assert!(most <= least.map(|least| least + 2).as_ref(), "{slices:?}");
        }
    }

    #[tokio::test]
    async fn a_call_answers_ends_when_it_is_dropped_and_may_panic() {
        let queue = FairRunQueue::new(Handle::current(), 2);
        assert_eq!(queue.spawn(component(1), async { 7 }).await, Some(7));
        let panics = queue.spawn(component(1), async { panic!("on purpose") });
        assert_eq!(panics.await, None::<()>);
        let held = Arc::new(());
        let holds = Arc::clone(&held);
        let call = queue.spawn(component(1), async move {
            let _holds = holds;
            std::future::pending::<()>().await;
        });
        tokio::task::yield_now().await;
        drop(call);
        while Arc::strong_count(&held) > 1 {
            tokio::task::yield_now().await;
        }
        // Nothing is kept of a component without calls.
        let _other = queue.spawn(component(2), async {});
        assert_eq!(queue.components.len(), 1);
    }
}
