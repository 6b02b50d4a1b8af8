//! Futures that take turns: each is polled in the order in which it was woken.

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use futures_util::task::AtomicWaker;

use crate::sync::lock;

/// A future that is polled with others.
pub(crate) type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Futures that take turns. `FuturesUnordered` does not serve here: it ends a pass at the second future
/// that wakes itself, so that of an even number of futures which all compute, each second one may never
/// be polled at the beginning of a time slice.
#[derive(Default)]
pub(crate) struct RoundRobin {
    jobs: HashMap<u64, (Job, Arc<JobWaker>)>,
    last_id: u64,
    ready: Arc<Ready>,
}

/// The futures that have been woken.
#[derive(Default)]
struct Ready {
    ids: Mutex<VecDeque<u64>>,
    /// The task that polls the futures.
    task: AtomicWaker,
}

struct JobWaker {
    id: u64,
    is_ready: AtomicBool,
    ready: Arc<Ready>,
}

impl Wake for JobWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.is_ready.swap(true, SeqCst) {
            lock(&self.ready.ids).push_back(self.id);
            self.ready.task.wake();
        }
    }
}

impl RoundRobin {
    pub(crate) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Adds a future behind those that have been woken.
    pub(crate) fn push(&mut self, job: Job) {
        self.last_id += 1;
        let waker = Arc::new(JobWaker {
            id: self.last_id,
            is_ready: AtomicBool::new(false),
            ready: Arc::clone(&self.ready),
        });
        waker.wake_by_ref();
        self.jobs.insert(self.last_id, (job, waker));
    }

    /// Polls futures for a time slice, or until none is woken. Pending if none was.
    pub(crate) fn poll_slice(&mut self, cx: &Context<'_>, slice: Duration) -> Poll<()> {
        self.ready.task.register(cx.waker());
        let began = Instant::now();
        let mut has_polled = false;
        while let Some(id) = self.next_ready() {
            has_polled = true;
            self.poll(id);
            if began.elapsed() >= slice {
                break;
            }
        }
        if has_polled {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    fn next_ready(&self) -> Option<u64> {
        lock(&self.ready.ids).pop_front()
    }

    fn poll(&mut self, id: u64) {
        // A waker of a future that has ended may have been called.
        let Some((job, waker)) = self.jobs.get_mut(&id) else {
            return;
        };
        // Before the poll: a future that is woken while it is polled has another turn.
        waker.is_ready.store(false, SeqCst);
        let waker = Waker::from(Arc::clone(waker));
        if job
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
        {
            self.jobs.remove(&id);
        }
    }
}
