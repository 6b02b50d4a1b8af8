//! Writes `events.jsonl` of all instances, on one thread.
//!
//! Each line is an event. If events are lost because the queue is full or a write fails, the next line
//! written has their number: `{"type":"log.lost","timestamp":"…","count":12}`.

mod writer;

use std::path::Path;
use std::sync::Arc;

use self::writer::{LogBatch, LogEvent, Lost, LostEvents, Writer};
use super::event::RuntimeEvent;
use super::worker::{Queue, Worker};

/// The log of all instances. The writer thread starts with the first instance.
pub(super) struct EventLog {
    worker: Worker<LogEvent, LostEvents>,
    file_bytes: u64,
}

/// The log of one instance. Cheap to clone.
#[derive(Clone)]
pub(super) struct InstanceLog {
    queue: Arc<Queue<LogEvent, LostEvents>>,
    directory: Arc<Path>,
}

impl EventLog {
    pub(super) fn new(length_max: usize, file_bytes: u64) -> Self {
        Self {
            worker: Worker::new("toolhost-events", length_max, usize::MAX),
            file_bytes,
        }
    }

    pub(super) fn of(&self, directory: &Path) -> InstanceLog {
        let queue = self.worker.started(|| {
            let mut writer = Writer::new(self.file_bytes);
            move |batch: LogBatch| writer.write(batch)
        });
        InstanceLog {
            queue: Arc::clone(queue),
            directory: directory.into(),
        }
    }

    pub(super) async fn flush(&self) {
        self.worker.flush().await;
    }
}

impl InstanceLog {
    /// Queues an event. Never waits for the disk.
    pub(super) fn write(&self, event: &Arc<RuntimeEvent>) {
        let item = (Arc::clone(&self.directory), Arc::clone(event));
        self.queue.push(item, 0, |lost, (directory, event)| {
            let at = event.timestamp;
            let lost = lost.entry(directory).or_insert(Lost { count: 0, at });
            lost.count += 1;
            lost.at = at;
        });
    }
}
