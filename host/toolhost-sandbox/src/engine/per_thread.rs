//! A stock of things that are best used again by the thread that used them last.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use toolhost_runtime::lock;

/// Parts of a stock. Threads beyond this number share them.
const PARTS: usize = 8;

/// Things that any thread may take. A thread first gets what it put back last: that is in its core's cache.
#[derive(Debug)]
pub(super) struct PerThread<T> {
    parts: [Mutex<Vec<T>>; PARTS],
}

impl<T> Default for PerThread<T> {
    fn default() -> Self {
        Self {
            parts: std::array::from_fn(|_| Mutex::default()),
        }
    }
}

impl<T> PerThread<T> {
    /// Takes what this thread put back last, or else what another did.
    pub(super) fn take(&self) -> Option<T> {
        let parts = self.parts.iter().cycle().skip(part()).take(PARTS);
        parts.filter_map(|part| lock(part).pop()).next()
    }

    pub(super) fn put(&self, item: T) {
        if let Some(part) = self.parts.get(part()) {
            lock(part).push(item);
        }
    }

    /// Takes all.
    pub(super) fn take_all(&self) -> Vec<T> {
        let take = |part: &Mutex<Vec<T>>| std::mem::take(&mut *lock(part));
        self.parts.iter().flat_map(take).collect()
    }
}

/// The part that belongs to this thread.
fn part() -> usize {
    static THREADS: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static PART: Cell<usize> = Cell::new(THREADS.fetch_add(1, Relaxed) % PARTS);
    }
    PART.get()
}
