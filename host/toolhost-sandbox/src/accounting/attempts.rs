//! What a guest tried in vain, and whether it did anything after that.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use toolhost_contract::Denial;
use toolhost_runtime::lock;

use crate::accounting::failed_operation::FailedOperation;

/// Most denials that are kept: a guest can cause any number.
const DENIALS_MAX: usize = 32;

/// Stands for an event that has not occurred.
const NEVER: u64 = u64::MAX;

/// What the guest of one call tried in vain. It counts its steps: how often it used its files, the network or other
/// agents. Printing and logging are no steps, as a panic prints, and a handler of errors logs.
#[derive(Debug)]
pub(crate) struct Attempts {
    steps: AtomicU64,
    denials: Mutex<BTreeSet<Denial>>,
    /// The step of the last denial.
    denied_at: AtomicU64,
    /// The step at which memory was last refused.
    memory_refused_at: AtomicU64,
    /// The last operation that failed, and its step.
    failed: Mutex<Option<(u64, FailedOperation)>>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            steps: AtomicU64::new(0),
            denials: Mutex::default(),
            denied_at: AtomicU64::new(NEVER),
            memory_refused_at: AtomicU64::new(NEVER),
            failed: Mutex::default(),
        }
    }
}

impl Attempts {
    /// Counts a step: what was denied or failed before did not end the guest.
    pub(crate) fn count_step(&self) {
        self.steps.fetch_add(1, Relaxed);
    }

    /// Takes the last step back: the guest only dropped a handle, as it does when it fails.
    pub(crate) fn uncount_step(&self) {
        self.steps.fetch_sub(1, Relaxed);
    }

    fn is_last(&self, step: u64) -> bool {
        step == self.steps.load(Relaxed)
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

    /// Whether the guest did nothing more after it was denied something.
    pub(crate) fn was_just_denied(&self) -> bool {
        self.is_last(self.denied_at.load(Relaxed))
    }

    /// Records that the guest was refused memory.
    pub(crate) fn refuse_memory(&self) {
        let step = self.steps.load(Relaxed);
        self.memory_refused_at.store(step, Relaxed);
    }

    /// Whether the guest was refused memory during this call, even if it got less afterwards.
    pub(crate) fn was_refused_memory(&self) -> bool {
        self.memory_refused_at.load(Relaxed) != NEVER
    }

    /// Whether the guest did nothing more after it was refused memory, even if it got less.
    pub(crate) fn was_memory_refused_last(&self) -> bool {
        self.is_last(self.memory_refused_at.load(Relaxed))
    }

    /// Records an operation that failed.
    pub(crate) fn fail(&self, operation: FailedOperation) {
        *lock(&self.failed) = Some((self.steps.load(Relaxed), operation));
    }

    /// The operation that failed, if the guest did nothing more after it.
    pub(crate) fn just_failed(&self) -> Option<FailedOperation> {
        let failed = lock(&self.failed).clone();
        failed.and_then(|(step, failed)| self.is_last(step).then_some(failed))
    }
}
