//! Writes `events.jsonl` of all instances: a bounded queue and one writer thread.
//!
//! Each line is an event. If events are lost because the queue is full or a write fails, the next line
//! written has their number: `{"type":"log.lost","timestamp":"…","count":12}`.

mod writer;

use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use toolhost_runtime::lock;

use self::writer::{Batch, Lost, Writer};
use super::event::RuntimeEvent;

/// How long dropping the log waits for queued events to be written.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How long the writer collects events before it writes them together.
const COLLECT_TIME: Duration = Duration::from_millis(20);

/// The bounded queue between the callers and the writer thread.
struct Queue {
    state: Mutex<State>,
    /// Notified when there is work for the writer.
    work: Condvar,
    /// Notified when the writer has ended.
    ended: Condvar,
    length_max: usize,
}

#[derive(Default)]
struct State {
    batch: Batch,
    flushes: Vec<oneshot::Sender<()>>,
    is_closed: bool,
    has_ended: bool,
}

impl State {
    fn is_empty(&self) -> bool {
        self.batch.events.is_empty() && self.batch.lost.is_empty() && self.flushes.is_empty()
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Returns the number of queued events at which the writer stops collecting.
    fn enough(&self) -> usize {
        self.length_max.div_ceil(2)
    }

    /// Waits for work. Returns `None` when the log is closed and no work is left.
    fn take(&self) -> Option<(Batch, Vec<oneshot::Sender<()>>)> {
        let idle = |state: &mut State| state.is_empty() && !state.is_closed;
        let collecting = |state: &mut State| {
            let is_short = state.batch.events.len() < self.enough();
            is_short && state.flushes.is_empty() && !state.is_closed
        };
        let state = self.work.wait_while(self.lock(), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self
            .work
            .wait_timeout_while(state, COLLECT_TIME, collecting);
        let (mut state, _) = state.unwrap_or_else(PoisonError::into_inner);
        let work = !state.is_empty();
        let State { batch, flushes, .. } = &mut *state;
        work.then(|| (std::mem::take(batch), std::mem::take(flushes)))
    }

    /// Writes until the log is closed and the queue is empty.
    fn write_all(&self, file_bytes: u64) {
        /// Ends the queue, also if this thread panics.
        struct EndOnDrop<'a>(&'a Queue);
        impl Drop for EndOnDrop<'_> {
            fn drop(&mut self) {
                self.0.end();
            }
        }
        let _ending = EndOnDrop(self);
        let mut writer = Writer::new(file_bytes);
        while let Some((batch, flushes)) = self.take() {
            writer.write(batch);
            for flush in flushes {
                // The receiver may be dropped.
                let _ = flush.send(());
            }
        }
    }

    /// Marks the writer as ended and releases all who wait for it.
    fn end(&self) {
        *self.lock() = State {
            has_ended: true,
            ..State::default()
        };
        self.ended.notify_all();
    }
}

/// The log of all instances. The writer thread starts with the first instance.
pub(super) struct EventLog {
    queue: Arc<Queue>,
    thread: OnceLock<()>,
    file_bytes: u64,
}

/// The log of one instance. Cheap to clone.
#[derive(Clone)]
pub(super) struct InstanceLog {
    queue: Arc<Queue>,
    directory: Arc<Path>,
}

impl EventLog {
    pub(super) fn new(length_max: usize, file_bytes: u64) -> Self {
        let queue = Queue {
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            length_max: length_max.max(1),
        };
        Self {
            queue: Arc::new(queue),
            thread: OnceLock::new(),
            file_bytes,
        }
    }

    pub(super) fn of(&self, directory: &Path) -> InstanceLog {
        self.thread.get_or_init(|| self.start());
        InstanceLog {
            queue: Arc::clone(&self.queue),
            directory: directory.into(),
        }
    }

    fn start(&self) {
        let (queue, file_bytes) = (Arc::clone(&self.queue), self.file_bytes);
        let thread = std::thread::Builder::new().name("toolhost-events".to_owned());
        let started = thread.spawn(move || queue.write_all(file_bytes));
        if let Err(error) = started {
            tracing::error!(target: "toolhost::events", %error, "cannot start the event log's writer thread; no events are logged");
            self.queue.end();
        }
    }

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
        // The sender is dropped if the writer ends.
        let _ = written.await;
    }
}

impl Drop for EventLog {
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

impl InstanceLog {
    /// Queues an event. Never waits for the disk.
    pub(super) fn write(&self, event: &Arc<RuntimeEvent>) {
        let mut state = self.queue.lock();
        if state.has_ended {
            return;
        }
        let batch = &mut state.batch;
        if batch.events.len() >= self.queue.length_max {
            let lost = batch.lost.entry(Arc::clone(&self.directory));
            let lost = lost.or_insert(Lost {
                count: 0,
                at: event.timestamp,
            });
            lost.count += 1;
            lost.at = event.timestamp;
            return;
        }
        batch
            .events
            .push((Arc::clone(&self.directory), Arc::clone(event)));
        let length = batch.events.len();
        drop(state);
        // The first event wakes the writer, which then collects until the timeout or `enough`.
        if length == 1 || length == self.queue.enough() {
            self.queue.work.notify_one();
        }
    }
}
