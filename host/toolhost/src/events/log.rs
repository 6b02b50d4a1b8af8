//! Writes `events.jsonl` of all instances: a bounded queue and one writer thread.
//!
//! Each line is an event. If events are lost because the queue is full or a write fails, the next line
//! written has their number: `{"type":"log.lost","timestamp":"…","count":12}`.

mod queue;
mod writer;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::oneshot;

use self::queue::{Lost, Shared};
use super::event::RuntimeEvent;

/// How long dropping the log waits for queued events to be written.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// The log of all instances. The writer thread starts with the first instance.
pub(super) struct EventLog {
    shared: Arc<Shared>,
    thread: OnceLock<()>,
    file_bytes: u64,
}

/// The log of one instance. Cheap to clone.
#[derive(Clone)]
pub(super) struct InstanceLog {
    shared: Arc<Shared>,
    directory: Arc<Path>,
}

impl EventLog {
    pub(super) fn new(queue_max: usize, file_bytes: u64) -> Self {
        Self {
            shared: Arc::new(Shared::new(queue_max)),
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
            tracing::error!(target: "toolhost::events", %error, "cannot start the event log's writer thread; no events are logged");
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
        // The sender is dropped if the writer ends.
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
        let _ = ended.wait_timeout_while(state, SHUTDOWN_TIMEOUT, |state| !state.has_ended);
    }
}

impl InstanceLog {
    /// Queues an event. Never waits for the disk.
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
        // The first event wakes the writer, which then collects until the timeout or `enough`.
        if length == 1 || length == self.shared.enough() {
            self.shared.work.notify_one();
        }
    }
}
