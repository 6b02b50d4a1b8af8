//! Time slices for a call on a thread of its own.
//!
//! Threads of their own would give a component as much processor time as it has calls. So a call there
//! computes at once for [`FREE`] only. For each millisecond of processor time beyond that it takes a time
//! slice of its component's worker queues. Time in which it waits for a disk costs nothing.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Poll, ready};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::oneshot;

use crate::ComponentId;
use crate::run_queue::{FairRunQueue, LentSlice, TIME_SLICE, WorkerQueues};

/// Processor time that a call may use before it takes time slices: as much as other calls may use on
/// their caller's thread.
const FREE: Duration = Duration::from_millis(2);

/// The turns of one call.
struct Turns<'a> {
    queue: &'a FairRunQueue,
    component: ComponentId,
    /// Its component's queues, once it needs them.
    queues: Option<Arc<WorkerQueues>>,
    /// The slice for which the call waits.
    awaited: Option<oneshot::Receiver<LentSlice>>,
    started: Duration,
    /// Processor time that the call may use without another slice.
    allowed: Duration,
}

impl Turns<'_> {
    /// Waits until the call may be polled. Returns the slice that it has meanwhile, if it needs one.
    fn poll(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<LentSlice>> {
        if processor_time().saturating_sub(self.started) < self.allowed {
            return Poll::Ready(None);
        }
        let (queue, component) = (self.queue, self.component);
        let queues = self.queues.get_or_insert_with(|| queue.queues(component));
        let awaited = self.awaited.get_or_insert_with(|| queues.lend());
        let slice = ready!(pin!(awaited).poll(cx));
        self.awaited = None;
        self.allowed += TIME_SLICE;
        // Where the runtime has ended, so has the call.
        Poll::Ready(slice.ok())
    }
}

/// Polls a call on this thread, which polls nothing else. From `ends` on, it needs no time slices: it is to
/// report that its time is up.
pub async fn in_turns<F: Future>(
    call: F,
    queue: &FairRunQueue,
    component: ComponentId,
    ends: Option<Instant>,
) -> F::Output {
    let mut call = pin!(call);
    let mut turns = Turns {
        queue,
        component,
        queues: None,
        awaited: None,
        started: processor_time(),
        allowed: FREE,
    };
    poll_fn(|cx| {
        let is_late = ends.is_some_and(|ends| Instant::now() >= ends);
        let slice = if is_late {
            None
        } else {
            ready!(turns.poll(cx))
        };
        let polled = call.as_mut().poll(cx);
        drop(slice);
        polled
    })
    .await
}

/// Processor time that this thread has used.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

    use tokio::runtime::{Builder, Handle, Runtime};

    use super::*;

    /// Computes until it is stopped, counts the milliseconds, and yields after each as a guest does.
    async fn spin(slices: Arc<AtomicU64>, stop: Arc<AtomicBool>) {
        poll_fn(|cx| {
            let ends = processor_time() + TIME_SLICE;
            while processor_time() < ends {}
            slices.fetch_add(1, Relaxed);
            cx.waker().wake_by_ref();
            if stop.load(Relaxed) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    fn one_worker() -> (Runtime, FairRunQueue) {
        let runtime = Builder::new_multi_thread().worker_threads(1).build();
        let runtime = runtime.unwrap();
        let queue = FairRunQueue::new(runtime.handle().clone(), 1);
        (runtime, queue)
    }

    #[test]
    fn calls_on_threads_of_their_own_have_no_more_time_than_one_call_of_another_component() {
        const CALLS: u64 = 8;
        let (runtime, queue) = one_worker();
        let stop = Arc::new(AtomicBool::new(false));
        let (many, one) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        for _ in 0..CALLS {
            let (queue, call) = (queue.clone(), spin(Arc::clone(&many), Arc::clone(&stop)));
            runtime.spawn_blocking(move || {
                let call = in_turns(call, &queue, ComponentId(1), None);
                Handle::current().block_on(call);
            });
        }
        while many.load(Relaxed) < CALLS {
            std::thread::yield_now();
        }
        let alone = queue.spawn(ComponentId(2), spin(Arc::clone(&one), Arc::clone(&stop)));
        while one.load(Relaxed) < 100 {
            std::thread::yield_now();
        }
        let (many, one) = (many.load(Relaxed), one.load(Relaxed));
        stop.store(true, Relaxed);
        runtime.block_on(alone);
        // What each may use at once, and may use of a slice beyond its end, does not count.
        let at_once = 4 * CALLS;
        assert!(many <= 2 * one + at_once, "{many} slices beside {one}");
        assert!(many >= one / 4, "{many} slices beside {one}");
    }

    #[test]
    fn a_call_that_hangs_in_its_time_slice_delays_no_other_component() {
        let (runtime, queue) = one_worker();
        let queues = queue.queues(ComponentId(1));
        let slice = runtime.block_on(queues.lend()).unwrap();
        let other = queue.spawn(ComponentId(2), async { 7 });
        assert_eq!(runtime.block_on(other), Some(7));
        drop(slice);
    }

    #[test]
    fn a_call_whose_time_is_up_waits_for_no_time_slice() {
        // Nothing polls the worker queues of this runtime.
        let busy = Builder::new_current_thread().build().unwrap();
        let queue = FairRunQueue::new(busy.handle().clone(), 1);
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        let ends = Instant::now() + Duration::from_millis(50);
        let call = async {
            let spins = spin(Arc::default(), Arc::default());
            let up = tokio::time::sleep_until(ends.into());
            tokio::select! {
                biased;
                () = up => 7,
                () = tokio::task::unconstrained(spins) => 8,
            }
        };
        let done = in_turns(call, &queue, ComponentId(1), Some(ends));
        assert_eq!(runtime.block_on(done), 7);
    }
}
