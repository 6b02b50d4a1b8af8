//! `events.jsonl` of the instances: a bounded queue, and one thread that writes.
//!
//! A line is one event. Where events were lost because the queue was full or the disk refused, a line
//! says how many, when it next can: `{"type":"log.lost","timestamp":"…","count":12}`.

mod line;
mod writer;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::event::RuntimeEvent;
use toolhost_contract::Timestamp;

/// How long events are gathered before they are written: one wake-up and one write for many.
const GATHER: Duration = Duration::from_millis(20);

/// How long the last owner waits for what is still to be written.
const FAREWELL: Duration = Duration::from_secs(1);

/// The files of all instances. Its thread starts with the first of them.
pub(super) struct EventLog {
    shared: Arc<Shared>,
    thread: OnceLock<()>,
    file_bytes: u64,
}

/// The file of one instance. Cheap to clone.
#[derive(Clone)]
pub(super) struct InstanceLog {
    shared: Arc<Shared>,
    directory: Arc<Path>,
}

struct Shared {
    state: Mutex<State>,
    /// Work for the writer.
    work: Condvar,
    /// The writer has ended.
    ended: Condvar,
    queue_max: usize,
}

#[derive(Default)]
struct State {
    waiting: Batch,
    is_closed: bool,
    has_ended: bool,
}

/// What the writer takes at once.
#[derive(Default)]
struct Batch {
    events: Vec<(Arc<Path>, Arc<RuntimeEvent>)>,
    /// Events there was no room for.
    lost: HashMap<Arc<Path>, Lost>,
    flushes: Vec<oneshot::Sender<()>>,
}

struct Lost {
    count: u64,
    /// When the last of them happened.
    at: Timestamp,
}

impl EventLog {
    pub(super) fn new(queue_max: usize, file_bytes: u64) -> Self {
        let shared = Shared {
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            queue_max: queue_max.max(1),
        };
        Self {
            shared: Arc::new(shared),
            thread: OnceLock::new(),
            file_bytes,
        }
    }

    pub(super) fn of(&self, directory: &Path) -> InstanceLog {
        self.thread.get_or_init(|| self.start());
        InstanceLog {
            shared: Arc::clone(&self.shared),
            directory: directory.into(),
        }
    }

    fn start(&self) {
        let (shared, file_bytes) = (Arc::clone(&self.shared), self.file_bytes);
        let thread = std::thread::Builder::new().name("toolhost-events".to_owned());
        let started = thread.spawn(move || writer::run(&shared, file_bytes));
        if let Err(error) = started {
            tracing::error!(target: "toolhost::events", %error, "no events are written");
            self.shared.end();
        }
    }

    pub(super) async fn flush(&self) {
        if self.thread.get().is_none() {
            return;
        }
        let (done, written) = oneshot::channel();
        {
            let mut state = self.shared.lock();
            if state.has_ended {
                return;
            }
            state.waiting.flushes.push(done);
        }
        self.shared.work.notify_one();
        // It is dropped unanswered only where there is no writer.
        let _ = written.await;
    }
}

impl Drop for EventLog {
    fn drop(&mut self) {
        if self.thread.get().is_none() {
            return;
        }
        let mut state = self.shared.lock();
        state.is_closed = true;
        self.shared.work.notify_one();
        let ended = &self.shared.ended;
        let _ = ended.wait_timeout_while(state, FAREWELL, |state| !state.has_ended);
    }
}

impl InstanceLog {
    /// Gives an event to the writer. Never waits for the disk.
    pub(super) fn write(&self, event: &Arc<RuntimeEvent>) {
        let mut state = self.shared.lock();
        if state.has_ended {
            return;
        }
        let waiting = &mut state.waiting;
        if waiting.events.len() >= self.shared.queue_max {
            let lost = waiting.lost.entry(Arc::clone(&self.directory));
            let lost = lost.or_insert(Lost {
                count: 0,
                at: event.timestamp,
            });
            lost.count += 1;
            lost.at = event.timestamp;
            return;
        }
        waiting
            .events
            .push((Arc::clone(&self.directory), Arc::clone(event)));
        let length = waiting.events.len();
        drop(state);
        // The first wakes the writer, which gathers then; later ones need not.
        if length == 1 || length == self.shared.enough() {
            self.shared.work.notify_one();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// So many events are not gathered any longer.
    fn enough(&self) -> usize {
        self.queue_max.div_ceil(2)
    }

    /// Waits for work; none when there is none left and the log is closed.
    fn take(&self) -> Option<Batch> {
        let idle = |state: &mut State| state.waiting.is_empty() && !state.is_closed;
        let gathers = |state: &mut State| {
            let waiting = &state.waiting;
            !state.is_closed && waiting.flushes.is_empty() && waiting.events.len() < self.enough()
        };
        let state = self.work.wait_while(self.lock(), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self.work.wait_timeout_while(state, GATHER, gathers);
        let (mut state, _) = state.unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut state.waiting);
        (!batch.is_empty()).then_some(batch)
    }

    /// There is no writer any more: nobody waits for it.
    fn end(&self) {
        let mut state = self.lock();
        state.has_ended = true;
        state.waiting = Batch::default();
        self.ended.notify_all();
    }
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.lost.is_empty() && self.flushes.is_empty()
    }
}
