//! The bounded queue between the callers and the writer thread.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use toolhost_contract::Timestamp;

use super::super::event::RuntimeEvent;

/// How long the writer collects events before it writes them together.
const COLLECT_TIME: Duration = Duration::from_millis(20);

pub(super) struct Shared {
    state: Mutex<State>,
    /// Notified when there is work for the writer.
    pub(super) work: Condvar,
    /// Notified when the writer has ended.
    pub(super) ended: Condvar,
    pub(super) queue_max: usize,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) waiting: Batch,
    pub(super) is_closed: bool,
    pub(super) has_ended: bool,
}

/// Queued work, which the writer takes at once.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) events: Vec<(Arc<Path>, Arc<RuntimeEvent>)>,
    /// Events that were dropped because the queue was full.
    pub(super) lost: HashMap<Arc<Path>, Lost>,
    pub(super) flushes: Vec<oneshot::Sender<()>>,
}

/// Lost events of one directory.
pub(super) struct Lost {
    pub(super) count: u64,
    /// Time of the last lost event.
    pub(super) at: Timestamp,
}

impl Shared {
    pub(super) fn new(queue_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            work: Condvar::new(),
            ended: Condvar::new(),
            queue_max: queue_max.max(1),
        }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of queued events at which the writer stops collecting.
    pub(super) fn enough(&self) -> usize {
        self.queue_max.div_ceil(2)
    }

    /// Waits for work. Returns `None` when the log is closed and no work is left.
    pub(super) fn take(&self) -> Option<Batch> {
        let idle = |state: &mut State| state.waiting.is_empty() && !state.is_closed;
        let collecting = |state: &mut State| {
            let waiting = &state.waiting;
            !state.is_closed && waiting.flushes.is_empty() && waiting.events.len() < self.enough()
        };
        let state = self.work.wait_while(self.lock(), idle);
        let state = state.unwrap_or_else(PoisonError::into_inner);
        let state = self
            .work
            .wait_timeout_while(state, COLLECT_TIME, collecting);
        let (mut state, _) = state.unwrap_or_else(PoisonError::into_inner);
        let batch = std::mem::take(&mut state.waiting);
        (!batch.is_empty()).then_some(batch)
    }

    /// Marks the writer as ended and releases all who wait for it.
    pub(super) fn end(&self) {
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
