//! What the spare instances of all components may take, and when one may be made.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::accounting::quota::Quota;
use crate::config::SandboxConfig;

/// Time for which no spare instance is made after as many calls ran at once as there are cores. Calls that
/// follow each other on all cores overlap far more often, even if other processes take the cores for a
/// while.
const BUSY: Duration = Duration::from_millis(50);

/// What a sandbox shares between the spare instances of all its components.
pub(crate) struct SpareBudget {
    /// Most spare instances of one component.
    pub(super) most: usize,
    /// Bytes that all spare instances hold.
    pub(super) memory: Arc<Quota>,
    cores: usize,
    /// Calls that hold a call slot.
    running: AtomicUsize,
    /// When `running` last reached the number of cores, in microseconds since `origin`; 0 if it never did.
    all_busy: AtomicU64,
    origin: Instant,
    counters: SpareCounters,
}

/// Counts spare instances.
#[derive(Default)]
pub(super) struct SpareCounters {
    pub(super) ready: AtomicU64,
    pub(super) made: AtomicU64,
    pub(super) used: AtomicU64,
    pub(super) refused: AtomicU64,
}

/// The spare instances of a sandbox.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SpareCount {
    /// Spare instances that no call has taken.
    pub ready: u64,
    /// Bytes that they hold, and those that are being made: at most
    /// [`spare_memory_bytes`](SandboxConfig::spare_memory_bytes).
    pub memory_bytes: u64,
    /// Spare instances that were made since the sandbox started.
    pub made: u64,
    /// Spare instances that a call has taken since then.
    pub used: u64,
    /// Components that were found to have no spare instances, as making one calls the host or takes longer
    /// than half a second.
    pub refused: u64,
}

/// A call that holds a call slot, until dropped.
pub(crate) struct RunningCall<'a>(&'a SpareBudget);

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Relaxed);
    }
}

impl SpareBudget {
    /// Returns none where spare instances are turned off.
    pub(crate) fn new(config: &SandboxConfig) -> Option<Arc<Self>> {
        let most = usize::try_from(config.spare_instances).unwrap_or(usize::MAX);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        (most > 0).then(|| {
            Arc::new(Self {
                most,
                memory: Arc::new(Quota::new(config.spare_memory_bytes, config.share_per_free)),
                // With one core, spare instances are made between calls.
                cores: cores.max(2),
                running: AtomicUsize::new(0),
                all_busy: AtomicU64::new(0),
                origin: Instant::now(),
                counters: SpareCounters::default(),
            })
        })
    }

    /// Counts a call that has its call slot.
    pub(crate) fn call_started(&self, now: Instant) -> RunningCall<'_> {
        let running = self.running.fetch_add(1, Relaxed) + 1;
        if running >= self.cores {
            self.all_busy.store(self.micros(now), Relaxed);
        }
        RunningCall(self)
    }

    /// Whether a core has had no call to run for a while.
    pub(super) fn has_idle_core(&self, now: Instant) -> bool {
        if self.running.load(Relaxed) >= self.cores {
            return false;
        }
        let all_busy = self.all_busy.load(Relaxed);
        let since = self.micros(now).saturating_sub(all_busy);
        all_busy == 0 || u128::from(since) >= BUSY.as_micros()
    }

    fn micros(&self, now: Instant) -> u64 {
        let micros = now.saturating_duration_since(self.origin).as_micros();
        u64::try_from(micros).unwrap_or(u64::MAX).max(1)
    }

    pub(super) fn counters(&self) -> &SpareCounters {
        &self.counters
    }

    pub(crate) fn count(&self) -> SpareCount {
        SpareCount {
            ready: self.counters.ready.load(Relaxed),
            memory_bytes: self.memory.held(),
            made: self.counters.made.load(Relaxed),
            used: self.counters.used.load(Relaxed),
            refused: self.counters.refused.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_core_is_idle_while_and_shortly_after_calls_run_on_all_of_them() {
        let config = SandboxConfig {
            spare_instances: 1,
            ..SandboxConfig::default()
        };
        let mut budget = Arc::into_inner(SpareBudget::new(&config).unwrap()).unwrap();
        budget.cores = 2;
        let now = budget.origin + Duration::from_secs(1);
        let one = budget.call_started(now);
        assert!(budget.has_idle_core(now));
        drop((budget.call_started(now), one));
        assert!(!budget.has_idle_core(now));
        assert!(budget.has_idle_core(now + BUSY));
        let later = now + BUSY;
        let one = budget.call_started(later);
        assert!(budget.has_idle_core(later), "one call runs at a time");
        let other = budget.call_started(later);
        assert!(!budget.has_idle_core(later + 2 * BUSY), "both still run");
        drop((one, other));
        assert!(SpareBudget::new(&SandboxConfig::default()).is_none());
    }
}
