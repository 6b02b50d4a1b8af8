//! The counters of one call. They live outside the store, so that the usage is known after a trap, a
//! timeout or a dropped future.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolhost_contract::http::Origin;
use toolhost_contract::{Denial, Usage};
use toolhost_runtime::{ComponentId, Quota, lock};

use crate::accounting::failed_operation::FailedOperation;
use crate::accounting::file_changes::FileChangeBook;
use crate::accounting::output::{HeadTail, LiveLog, LogBook, LogSink};
use crate::{DiskLimit, Limits};

/// Most denials that are kept: a guest can cause any number.
const DENIALS_MAX: usize = 32;

/// Stands for an event that has not occurred.
const NEVER: u64 = u64::MAX;

/// Counts what one call uses, against its limits.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) limits: Limits,
    pub(crate) component: ComponentId,
    pub(crate) memory_peak: AtomicU64,
    /// Bytes of the instance's memories, and of its HTTP handles.
    pub(crate) guest_memory: AtomicU64,
    /// Bytes of what its transaction holds.
    pub(crate) host_memory: AtomicU64,
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
    /// The files that it changes in place.
    pub(crate) file_changes: FileChangeBook,
    denials: Mutex<BTreeSet<Denial>>,
    /// The origins that answered 401 to a request with a credential of the host.
    unauthorized: Mutex<Vec<Origin>>,
    /// How often the guest used its files, the network or other agents.
    steps: AtomicU64,
    /// The step of the last denial.
    denied_at: AtomicU64,
    /// The step at which memory was last refused.
    memory_refused_at: AtomicU64,
    /// The last operation that failed, and its step.
    failed: Mutex<Option<(u64, FailedOperation)>>,
}

impl Meter {
    pub(crate) fn new(limits: Limits, component: ComponentId, host_files: Arc<Quota>) -> Self {
        Self {
            component,
            memory_peak: AtomicU64::new(0),
            guest_memory: AtomicU64::new(0),
            host_memory: AtomicU64::new(0),
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
            file_changes: FileChangeBook::default(),
            denials: Mutex::new(BTreeSet::new()),
            unauthorized: Mutex::default(),
            steps: AtomicU64::new(0),
            denied_at: AtomicU64::new(NEVER),
            memory_refused_at: AtomicU64::new(NEVER),
            failed: Mutex::new(None),
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
        self.denied_at.store(self.steps.load(Relaxed), Relaxed);
    }

    /// What was denied, each once.
    pub(crate) fn denials(&self) -> Vec<Denial> {
        lock(&self.denials).iter().cloned().collect()
    }

    /// Records that an origin answered 401 to a request with a credential of the host. The grants of a call name
    /// few origins that have one.
    pub(crate) fn note_unauthorized(&self, origin: &Origin) {
        let mut unauthorized = lock(&self.unauthorized);
        if !unauthorized.contains(origin) {
            unauthorized.push(origin.clone());
        }
    }

    /// Returns the origins that answered 401 to a request with a credential of the host.
    pub(crate) fn take_unauthorized(&self) -> Vec<Origin> {
        std::mem::take(&mut *lock(&self.unauthorized))
    }

    /// Records that the guest used its files, the network or other agents, so that a denial before did not
    /// end it. Printing and logging do not count, as a panic prints, and a handler of errors logs.
    pub(crate) fn goes_on(&self) {
        self.steps.fetch_add(1, Relaxed);
    }

    /// Takes the last step back: the guest only dropped a handle, as it does when it fails.
    pub(crate) fn only_dropped(&self) {
        self.steps.fetch_sub(1, Relaxed);
    }

    fn is_last(&self, step: u64) -> bool {
        step == self.steps.load(Relaxed)
    }

    /// Whether the guest did nothing more after it was denied something.
    pub(crate) fn was_just_denied(&self) -> bool {
        self.is_last(self.denied_at.load(Relaxed))
    }

    /// Records that the guest needs more memory than the limit of the call.
    pub(crate) fn refuse_memory(&self) {
        self.memory_refused.store(true, Relaxed);
        self.note_refused_memory();
    }

    /// Records that the guest needs more memory than all calls have left.
    pub(crate) fn refuse_memory_of_pool(&self) {
        self.pool_refused.store(true, Relaxed);
        self.note_refused_memory();
    }

    fn note_refused_memory(&self) {
        let step = self.steps.load(Relaxed);
        self.memory_refused_at.store(step, Relaxed);
    }

    /// Whether the guest was refused memory during this call, even if it got less afterwards.
    pub(crate) fn was_refused_memory(&self) -> bool {
        self.memory_refused_at.load(Relaxed) != NEVER
    }

    /// Whether the guest did nothing more after it was refused memory, and got no other memory.
    pub(crate) fn was_just_refused_memory(&self) -> bool {
        let refused = [&self.memory_refused, &self.pool_refused];
        let is_refused = refused.iter().any(|refused| refused.load(Relaxed));
        is_refused && self.was_memory_refused_last()
    }

    /// Whether the guest did nothing more after it was refused memory, even if it got less.
    pub(crate) fn was_memory_refused_last(&self) -> bool {
        self.is_last(self.memory_refused_at.load(Relaxed))
    }

    /// Records an operation that failed.
    pub(crate) fn failed(&self, operation: FailedOperation) {
        *lock(&self.failed) = Some((self.steps.load(Relaxed), operation));
    }

    /// The operation that failed, if the guest did nothing more after it.
    pub(crate) fn just_failed(&self) -> Option<FailedOperation> {
        let failed = lock(&self.failed).clone();
        failed.and_then(|(step, failed)| self.is_last(step).then_some(failed))
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
        usage.changes = self.file_changes.list();
        usage
    }
}
