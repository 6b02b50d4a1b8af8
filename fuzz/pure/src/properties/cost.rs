//! The CPU time of an input.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Runs a function and asserts its CPU time; other processes do not count.
pub(super) fn within<T>(most: Duration, what: &str, run: impl FnOnce() -> T) -> T {
    let before = on_the_processor();
    let done = run();
    let took = on_the_processor().saturating_sub(before);
    assert!(took <= most, "{what} took {took:?}, at most {most:?}");
    done
}

fn on_the_processor() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(now.tv_nsec).unwrap_or(0);
    Duration::from_secs(seconds) + Duration::from_nanos(nanos)
}
