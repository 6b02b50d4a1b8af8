//! What a guest tried in vain, and whether it did anything after that.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::{Denial, FailedOperation};

/// Most denials that are kept: a guest can cause any number.
const DENIALS_MAX: usize = 32;

/// Stands for an event that has not occurred.
const NEVER: u64 = u64::MAX;

/// What the guest of one call tried in vain. It counts its steps: how often it used its files, the network or other
/// agents. Printing and logging are no steps, as a panic prints, and a handler of errors logs.
#[derive(Debug)]
pub struct Attempts {
    steps: AtomicU64,
    /// The step of the last denial.
    denied_at: AtomicU64,
    /// The step at which memory was last refused.
    memory_refused_at: AtomicU64,
    in_vain: Mutex<InVain>,
}

#[derive(Debug, Default)]
struct InVain {
    denials: BTreeSet<Denial>,
    /// The last operation that failed, and its step.
    failed: Option<(u64, FailedOperation)>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            steps: AtomicU64::new(0),
            denied_at: AtomicU64::new(NEVER),
            memory_refused_at: AtomicU64::new(NEVER),
            in_vain: Mutex::default(),
        }
    }
}

impl Attempts {
    fn in_vain(&self) -> MutexGuard<'_, InVain> {
        self.in_vain.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a step: what was denied or failed before did not end the guest.
    pub fn count_step(&self) {
        self.steps.fetch_add(1, Relaxed);
    }

    /// Takes the last step back: the guest only dropped a handle, as it does when it fails.
    pub fn uncount_step(&self) {
        self.steps.fetch_sub(1, Relaxed);
    }

    fn is_last(&self, step: u64) -> bool {
        step == self.steps.load(Relaxed)
    }

    /// Records that the guest tried something it was not granted.
    pub fn deny(&self, what: Denial) {
        let mut in_vain = self.in_vain();
        if in_vain.denials.len() < DENIALS_MAX {
            in_vain.denials.insert(what);
        }
        drop(in_vain);
        self.denied_at.store(self.steps.load(Relaxed), Relaxed);
    }

    /// What was denied, each once.
    pub fn denials(&self) -> Vec<Denial> {
        self.in_vain().denials.iter().cloned().collect()
    }

    /// Whether the guest did nothing more after it was denied something.
    pub fn was_just_denied(&self) -> bool {
        self.is_last(self.denied_at.load(Relaxed))
    }

    /// Records that the guest was refused memory.
    pub fn refuse_memory(&self) {
        let step = self.steps.load(Relaxed);
        self.memory_refused_at.store(step, Relaxed);
    }

    /// Whether the guest was refused memory during this call, even if it got less afterwards.
    pub fn was_refused_memory(&self) -> bool {
        self.memory_refused_at.load(Relaxed) != NEVER
    }

    /// Whether the guest did nothing more after it was refused memory, even if it got less.
    pub fn was_memory_refused_last(&self) -> bool {
        self.is_last(self.memory_refused_at.load(Relaxed))
    }

    /// Records an operation that failed.
    pub fn fail(&self, operation: FailedOperation) {
        self.in_vain().failed = Some((self.steps.load(Relaxed), operation));
    }

    /// The operation that failed, if the guest did nothing more after it.
    pub fn just_failed(&self) -> Option<FailedOperation> {
        let failed = self.in_vain().failed.clone();
        failed.and_then(|(step, failed)| self.is_last(step).then_some(failed))
    }
}
