//! A bounded queue, and a thread that takes all that is in it at once.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use toolhost_runtime::lock;

/// How long dropping the worker waits until what is queued is done.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the thread lets items gather before it takes them.
const COLLECT_TIME: Duration = Duration::from_millis(20);

/// Who waits until what was queued is done.
type Flushes = Vec<oneshot::Sender<()>>;

/// Items that the thread takes at once, and what is known of those for which there was no room.
pub(super) struct Batch<T, L> {
    pub(super) items: Vec<T>,
    pub(super) lost: L,
}

/// The bounded queue between the callers and the thread.
pub(super) struct Queue<T, L> {
    state: Mutex<State<T, L>>,
    /// Notified when there is work for the thread.
    work: Condvar,
    /// Notified when the thread has ended.
    ended: Condvar,
    length_max: usize,
    bytes_max: usize,
}

struct State<T, L> {
    batch: Batch<T, L>,
    bytes: usize,
    has_lost: bool,
    flushes: Flushes,
    is_closed: bool,
    has_ended: bool,
}

impl<T, L: Default> Default for State<T, L> {
    fn default() -> Self {
        Self {
            batch: Batch {
                items: Vec::new(),
                lost: L::default(),
            },
            bytes: 0,
            has_lost: false,
            flushes: Vec::new(),
            is_closed: false,
            has_ended: false,
        }
    }
}

impl<T, L> State<T, L> {
    fn is_empty(&self) -> bool {
        self.batch.items.is_empty() && !self.has_lost && self.flushes.is_empty()
    }
}

impl<T, L: Default> Queue<T, L> {
    fn lock(&self) -> MutexGuard<'_, State<T, L>> {
        lock(&self.state)
    }

    /// Returns the number of items at which the thread stops collecting.
    fn enough(&self) -> usize {
        self.length_max.div_ceil(2)
    }

    /// Adds an item of some bytes. Never waits. If there is no room, `lose` notes the loss of the item.
    pub(super) fn push(&self, item: T, bytes: usize, lose: impl FnOnce(&mut L, T)) {
        let mut state = self.lock();
        if state.has_ended {
            return;
        }
        let is_full = state.batch.items.len() >= self.length_max
            || state.bytes.saturating_add(bytes) > self.bytes_max;
        if is_full {
            state.has_lost = true;
            return lose(&mut state.batch.lost, item);
        }
        state.bytes += bytes;
        state.batch.items.push(item);
        let length = state.batch.items.len();
        drop(state);
        // The first item wakes the thread, which then collects until the timeout or `enough`.
        if length == 1 || length == self.enough() {
            self.work.notify_one();
        }
    }

    /// Waits for work, and takes it. Returns `None` when the worker is closed and no work is left.
    fn take(&self) -> Option<(Batch<T, L>, Flushes)> {
        let idle = |state: &mut State<T, L>| state.is_empty() && !state.is_closed;
        let collecting = |state: &mut State<T, L>| {
            let is_short = state.batch.items.len() < self.enough();
            is_short && state.flushes.is_empty() && !state.is_closed
        };
        let state = self.work.wait_while(self.lock(), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self
            .work
            .wait_timeout_while(state, COLLECT_TIME, collecting);
        let (mut state, _) = state.unwrap_or_else(PoisonError::into_inner);
        let has_work = !state.is_empty();
        let (is_closed, has_ended) = (state.is_closed, state.has_ended);
        let taken = std::mem::take(&mut *state);
        (state.is_closed, state.has_ended) = (is_closed, has_ended);
        has_work.then_some((taken.batch, taken.flushes))
    }

    /// Works until the worker is closed and the queue is empty.
    fn run(&self, mut work: impl FnMut(Batch<T, L>)) {
        /// Ends the queue, also if this thread panics.
        struct EndOnDrop<'a, T, L: Default>(&'a Queue<T, L>);
        impl<T, L: Default> Drop for EndOnDrop<'_, T, L> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        let _ending = EndOnDrop(self);
        while let Some((batch, flushes)) = self.take() {
            work(batch);
            for flush in flushes {
                // The receiver may be dropped.
                let _ = flush.send(());
            }
        }
    }

    /// Marks the thread as ended and releases all who wait for it.
    fn end(&self) {
        *self.lock() = State {
            has_ended: true,
            ..State::default()
        };
        self.ended.notify_all();
    }
}

/// The thread and its queue. Dropping it waits a second at most until what is queued is done.
pub(super) struct Worker<T, L: Default> {
    queue: Arc<Queue<T, L>>,
    thread: OnceLock<()>,
    name: &'static str,
}

impl<T: Send + 'static, L: Default + Send + 'static> Worker<T, L> {
    /// Creates a worker whose thread has not started. At most so many items, and so many bytes of them, are queued.
    pub(super) fn new(name: &'static str, length_max: usize, bytes_max: usize) -> Self {
        let queue = Queue {
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            length_max: length_max.max(1),
            bytes_max,
        };
        Self {
            queue: Arc::new(queue),
            thread: OnceLock::new(),
            name,
        }
    }

    /// Returns the queue. The first call starts the thread, which runs what `work` returns.
    pub(super) fn started<W>(&self, work: impl FnOnce() -> W) -> &Arc<Queue<T, L>>
    where
        W: FnMut(Batch<T, L>) + Send + 'static,
    {
        self.thread.get_or_init(|| {
            let (queue, work) = (Arc::clone(&self.queue), work());
            let thread = std::thread::Builder::new().name(self.name.to_owned());
            if let Err(error) = thread.spawn(move || queue.run(work)) {
                tracing::error!(target: "toolhost::events", %error, thread = self.name, "a thread cannot be started; nothing is logged");
                self.queue.end();
            }
        });
        &self.queue
    }

    /// Waits until all that is queued is done.
    pub(super) async fn flush(&self) {
        if self.thread.get().is_none() {
            return;
        }
        let (done, written) = oneshot::channel();
        {
            let mut state = self.queue.lock();
            if state.has_ended {
                return;
            }
            state.flushes.push(done);
        }
        self.queue.work.notify_one();
        // The sender is dropped if the thread ends.
        let _ = written.await;
    }
}

impl<T, L: Default> Drop for Worker<T, L> {
    fn drop(&mut self) {
        if self.thread.get().is_none() {
            return;
        }
        let mut state = self.queue.lock();
        state.is_closed = true;
        self.queue.work.notify_one();
        let ended = &self.queue.ended;
        let _ = ended.wait_timeout_while(state, SHUTDOWN_TIMEOUT, |state| !state.has_ended);
    }
}
