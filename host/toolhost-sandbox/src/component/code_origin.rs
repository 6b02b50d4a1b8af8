//! Where the code of prepared components comes from, counted.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Whether the compiled code came from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeOrigin {
    /// Compiled now.
    Compiled,
    /// Mapped from the cache.
    Cached,
    /// That of a component with the same bytes, which was prepared before.
    Reused,
}

/// The components that a sandbox has prepared since it started, by where their code came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PreparedCount {
    /// Components that were compiled.
    pub compiled: u64,
    /// Components that were mapped from the cache.
    pub cached: u64,
    /// Components of a load that an earlier load of the bundle had prepared.
    pub reused: u64,
    /// Components that could not be prepared.
    pub failed: u64,
    /// Time that compiling took, in all, with components that failed to compile.
    pub compile_time: Duration,
}

/// The counters.
#[derive(Debug, Default)]
pub(crate) struct PreparedCounters {
    compiled: AtomicU64,
    cached: AtomicU64,
    reused: AtomicU64,
    failed: AtomicU64,
    compile_micros: AtomicU64,
}

impl PreparedCounters {
    /// Counts a component; without an origin, one that could not be prepared.
    pub(crate) fn add(&self, origin: Option<CodeOrigin>) {
        let counter = match origin {
            Some(CodeOrigin::Compiled) => &self.compiled,
            Some(CodeOrigin::Cached) => &self.cached,
            Some(CodeOrigin::Reused) => &self.reused,
            None => &self.failed,
        };
        counter.fetch_add(1, Relaxed);
    }

    pub(crate) fn add_compile_time(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.compile_micros.fetch_add(micros, Relaxed);
    }

    pub(crate) fn now(&self) -> PreparedCount {
        PreparedCount {
            compiled: self.compiled.load(Relaxed),
            cached: self.cached.load(Relaxed),
            reused: self.reused.load(Relaxed),
            failed: self.failed.load(Relaxed),
            compile_time: Duration::from_micros(self.compile_micros.load(Relaxed)),
        }
    }
}
