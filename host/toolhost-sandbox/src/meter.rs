//! The counters of one call. They live outside the store, so that the receipt survives a trap, a
//! timeout and a dropped future.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use toolhost_contract::Usage;

use crate::Limits;
use crate::output::{HeadTail, LogBook};

/// Files that guests hold open, over all calls: at most half of what this process may open, so that
/// the embedder's own files and connections are never refused for theirs.
#[derive(Debug)]
pub(crate) struct HostFiles {
    pub(crate) open: AtomicU64,
    pub(crate) most: u64,
}

impl HostFiles {
    pub(crate) fn of_this_process() -> Self {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
        Self {
            open: AtomicU64::new(0),
            most: limit.current.unwrap_or(u64::MAX) / 2,
        }
    }
}

/// Counts what one call uses, against its limits.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) limits: Limits,
    pub(crate) memory_peak: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) files_made: AtomicU64,
    /// Bytes counted against `disk_bytes`: what was written, and what a file grew by beyond that.
    pub(crate) disk_charged: AtomicU64,
    pub(crate) names_listed: AtomicU64,
    pub(crate) open_files: AtomicU64,
    pub(crate) output_bytes: AtomicU64,
    pub(crate) memory_refused: AtomicBool,
    pub(crate) pool_refused: AtomicBool,
    pub(crate) disk_refused: AtomicBool,
    /// The open files of every call of this process.
    pub(crate) host_files: Arc<HostFiles>,
    pub(crate) stdout: Mutex<HeadTail>,
    pub(crate) stderr: Mutex<HeadTail>,
    pub(crate) log: Mutex<LogBook>,
    denials: Mutex<BTreeSet<&'static str>>,
}

/// Takes a lock; a panic elsewhere never makes the counters unreadable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Meter {
    pub(crate) fn new(limits: Limits, host_files: Arc<HostFiles>) -> Self {
        Self {
            memory_peak: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            files_made: AtomicU64::new(0),
            disk_charged: AtomicU64::new(0),
            names_listed: AtomicU64::new(0),
            open_files: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            memory_refused: AtomicBool::new(false),
            pool_refused: AtomicBool::new(false),
            disk_refused: AtomicBool::new(false),
            host_files,
            stdout: Mutex::new(HeadTail::new(limits.stdio_bytes)),
            stderr: Mutex::new(HeadTail::new(limits.stdio_bytes)),
            log: Mutex::new(LogBook::new(limits.log_records, limits.log_record_bytes)),
            denials: Mutex::new(BTreeSet::new()),
            limits,
        }
    }

    /// Records that the guest tried something it was not granted.
    pub(crate) fn deny(&self, what: &'static str) {
        lock(&self.denials).insert(what);
    }

    /// The receipt as it stands.
    pub(crate) fn usage(&self, queued: Duration, wall: Duration) -> Usage {
        let mut usage = Usage::default();
        usage.wall = wall;
        usage.queued = queued;
        usage.memory_peak = self.memory_peak.load(Relaxed);
        usage.bytes_written = self.bytes_written.load(Relaxed);
        usage.bytes_read = self.bytes_read.load(Relaxed);
        usage.files_made = self.files_made.load(Relaxed);
        usage.stdout_bytes = lock(&self.stdout).total();
        usage.stderr_bytes = lock(&self.stderr).total();
        (usage.log_records, usage.log_dropped) = lock(&self.log).counts();
        usage.output_bytes = self.output_bytes.load(Relaxed);
        usage.denials = lock(&self.denials)
            .iter()
            .map(ToString::to_string)
            .collect();
        usage
    }
}
