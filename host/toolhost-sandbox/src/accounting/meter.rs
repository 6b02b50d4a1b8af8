//! The counters of one call. They live outside the store, so that the usage is known after a trap, a
//! timeout or a dropped future.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolhost_contract::{Denial, Usage};

use crate::accounting::output::{HeadTail, LiveLog, LogBook, LogSink};
use crate::accounting::quota::Quota;
use crate::component_id::ComponentId;
use crate::sync::lock;
use crate::{DiskLimit, Limits};

/// Most denials that are kept: a guest can cause any number.
const DENIALS_MAX: usize = 32;

/// Counts what one call uses, against its limits.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) limits: Limits,
    pub(crate) component: ComponentId,
    pub(crate) memory_peak: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) files_made: AtomicU64,
    /// Bytes counted against `disk_bytes`: what was written, and what a file grew by beyond that.
    pub(crate) disk_charged: AtomicU64,
    pub(crate) names_listed: AtomicU64,
    pub(crate) open_files: AtomicU64,
    pub(crate) output_bytes: AtomicU64,
    pub(crate) http_requests: AtomicU64,
    pub(crate) http_sent: AtomicU64,
    pub(crate) http_received: AtomicU64,
    pub(crate) memory_refused: AtomicBool,
    pub(crate) pool_refused: AtomicBool,
    pub(crate) table_refused: AtomicBool,
    /// The first limit of the disk that was reached.
    disk_limit: Mutex<Option<DiskLimit>>,
    /// The open files of every call of this sandbox.
    pub(crate) host_files: Arc<Quota>,
    pub(crate) stdout: Mutex<HeadTail>,
    pub(crate) stderr: Mutex<HeadTail>,
    pub(crate) log: Mutex<LogBook>,
    /// Forwards the log while the call runs; none if nobody listens.
    pub(crate) live_log: Option<Box<LiveLog>>,
    denials: Mutex<BTreeSet<Denial>>,
    /// Whether the guest did nothing since the last denial.
    just_denied: AtomicBool,
}

impl Meter {
    pub(crate) fn new(limits: Limits, component: ComponentId, host_files: Arc<Quota>) -> Self {
        Self {
            component,
            memory_peak: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            files_made: AtomicU64::new(0),
            disk_charged: AtomicU64::new(0),
            names_listed: AtomicU64::new(0),
            open_files: AtomicU64::new(0),
            output_bytes: AtomicU64::new(0),
            http_requests: AtomicU64::new(0),
            http_sent: AtomicU64::new(0),
            http_received: AtomicU64::new(0),
            memory_refused: AtomicBool::new(false),
            pool_refused: AtomicBool::new(false),
            table_refused: AtomicBool::new(false),
            disk_limit: Mutex::new(None),
            host_files,
            stdout: Mutex::new(HeadTail::new(limits.stdio_bytes)),
            stderr: Mutex::new(HeadTail::new(limits.stdio_bytes)),
            log: Mutex::new(LogBook::new(limits.log_records, limits.log_record_bytes)),
            live_log: None,
            denials: Mutex::new(BTreeSet::new()),
            just_denied: AtomicBool::new(false),
            limits,
        }
    }

    /// Forwards the log to a sink.
    pub(crate) fn with_log_sink(mut self, sink: Option<LogSink>) -> Self {
        self.live_log = sink.map(|sink| Box::new(LiveLog::new(sink, &self.limits)));
        self
    }

    /// Records that the guest tried something it was not granted.
    pub(crate) fn deny(&self, what: Denial) {
        let mut denials = lock(&self.denials);
        if denials.len() < DENIALS_MAX {
            denials.insert(what);
        }
        drop(denials);
        self.just_denied.store(true, Relaxed);
    }

    /// What was denied, each once.
    pub(crate) fn denials(&self) -> Vec<Denial> {
        lock(&self.denials).iter().cloned().collect()
    }

    /// Records that the guest used its files, its log, the network or other agents, so that a denial
    /// before did not end it. Printing does not count, as a panic prints.
    pub(crate) fn goes_on(&self) {
        self.just_denied.store(false, Relaxed);
    }

    /// Whether the guest did nothing more after it was denied something.
    pub(crate) fn was_just_denied(&self) -> bool {
        self.just_denied.load(Relaxed)
    }

    /// Records that a limit of the disk was met.
    pub(crate) fn meet(&self, limit: DiskLimit) {
        lock(&self.disk_limit).get_or_insert(limit);
    }

    /// The limit of the disk that was met first.
    pub(crate) fn disk_limit(&self) -> Option<DiskLimit> {
        *lock(&self.disk_limit)
    }

    /// The usage so far.
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
        usage.http_requests = self.http_requests.load(Relaxed);
        usage.http_sent = self.http_sent.load(Relaxed);
        usage.http_received = self.http_received.load(Relaxed);
        usage.denials = self.denials();
        usage
    }
}
