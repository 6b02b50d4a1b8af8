//! Clocks.

use std::sync::OnceLock;
use std::time::Instant;

use super::fs::Timespec;

/// A clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockId {
    /// The processor time of this thread. Windows counts it in steps of 15 ms, which is too coarse: time passes on
    /// this clock while the thread waits, too.
    ThreadCPUTime,
}

/// Returns the time of a clock.
#[must_use]
pub fn clock_gettime(clock: ClockId) -> Timespec {
    static START: OnceLock<Instant> = OnceLock::new();
    match clock {
        ClockId::ThreadCPUTime => {
            let passed = START.get_or_init(Instant::now).elapsed();
            Timespec {
                tv_sec: i64::try_from(passed.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: passed.subsec_nanos().into(),
            }
        }
    }
}
