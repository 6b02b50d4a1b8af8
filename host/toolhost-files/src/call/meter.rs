//! Counts what a call does with files.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use toolhost_contract::Attempts;
use toolhost_contract::{DiskLimit, Limits, Usage};
use toolhost_runtime::{ComponentId, Quota, lock};

use crate::accounting::file_changes::FileChangeBook;

/// Counts what one call does with files, against its limits.
#[derive(Debug)]
pub struct FileMeter {
    /// The component of the call.
    pub component: ComponentId,
    pub(super) limits: Limits,
    /// What the guest tried in vain.
    pub attempts: Arc<Attempts>,
    pub(super) bytes_written: AtomicU64,
    pub(super) bytes_read: AtomicU64,
    pub(super) files_made: AtomicU64,
    /// Bytes counted against `disk_bytes`: what was written, and what a file grew by beyond that.
    pub(super) disk_charged: AtomicU64,
    pub(super) names_listed: AtomicU64,
    pub(super) open_files: AtomicU64,
    /// The open files of every call of this sandbox.
    pub(super) all_open_files: Arc<Quota>,
    /// The first limit of the disk that was reached.
    disk_limit: Mutex<Option<DiskLimit>>,
    /// The files that it changes in place.
    pub(super) changes: FileChangeBook,
    /// The meter of the call that made this one.
    outer: Option<Arc<FileMeter>>,
}

/// A counter of a call.
type Counter = fn(&FileMeter) -> &AtomicU64;

impl FileMeter {
    /// Counts for a call of a component. `all_open_files` is the limit of all calls.
    pub fn new(
        component: ComponentId,
        limits: Limits,
        all_open_files: Arc<Quota>,
        attempts: Arc<Attempts>,
    ) -> Self {
        Self {
            component,
            limits,
            attempts,
            bytes_written: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            files_made: AtomicU64::new(0),
            disk_charged: AtomicU64::new(0),
            names_listed: AtomicU64::new(0),
            open_files: AtomicU64::new(0),
            all_open_files,
            disk_limit: Mutex::default(),
            changes: FileChangeBook::default(),
            outer: None,
        }
    }

    /// Counts for the call that made this one, too.
    #[must_use]
    pub fn within(mut self, outer: Option<Arc<Self>>) -> Self {
        self.outer = outer;
        self
    }

    /// Adds to a counter, unless it would exceed the limit of this call or of one around it: then nothing is added.
    pub(super) fn add_within(
        &self,
        counter: Counter,
        limit: fn(&Limits) -> u64,
        more: u64,
    ) -> bool {
        let most = limit(&self.limits);
        let add = |sum: u64| sum.checked_add(more).filter(|sum| *sum <= most);
        if counter(self).fetch_update(Relaxed, Relaxed, add).is_err() {
            return false;
        }
        let outer = self.outer.as_deref();
        let fits = outer.is_none_or(|outer| outer.add_within(counter, limit, more));
        if !fits {
            counter(self).fetch_sub(more, Relaxed);
        }
        fits
    }

    /// Takes back what was added to a counter.
    pub(super) fn take_back(&self, counter: Counter, added: u64) {
        counter(self).fetch_sub(added, Relaxed);
        if let Some(outer) = &self.outer {
            outer.take_back(counter, added);
        }
    }

    /// Adds to a counter without a limit.
    pub(super) fn add(&self, counter: Counter, more: u64) {
        counter(self).fetch_add(more, Relaxed);
        if let Some(outer) = &self.outer {
            outer.add(counter, more);
        }
    }

    /// Records that a limit of the disk was reached.
    pub(super) fn note_disk_limit(&self, limit: DiskLimit) {
        lock(&self.disk_limit).get_or_insert(limit);
    }

    /// The limit of the disk that was reached first.
    pub fn disk_limit(&self) -> Option<DiskLimit> {
        *lock(&self.disk_limit)
    }

    /// Adds what was used so far.
    pub fn add_to(&self, usage: &mut Usage) {
        usage.bytes_written = self.bytes_written.load(Relaxed);
        usage.bytes_read = self.bytes_read.load(Relaxed);
        usage.files_made = self.files_made.load(Relaxed);
        usage.changes = self.changes.list();
    }
}
