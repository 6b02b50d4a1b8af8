//! The delays between attempts to connect.

use std::time::Duration;

use crate::limits::McpLimits;

/// Doubles a delay with each failure.
#[derive(Debug)]
pub(crate) struct Backoff {
    min: Duration,
    max: Duration,
    attempts: u32,
    failures: u32,
}

impl Backoff {
    pub(crate) fn new(limits: &McpLimits) -> Self {
        Self {
            min: limits.backoff_min,
            max: limits.backoff_max.max(limits.backoff_min),
            attempts: limits.attempts,
            failures: 0,
        }
    }

    /// Starts again from the shortest delay.
    pub(crate) fn reset(&mut self) {
        self.failures = 0;
    }

    /// Counts a failure and returns the delay before the next attempt, varied by up to a quarter, so that
    /// servers that failed together do not start together.
    pub(crate) fn next(&mut self) -> Duration {
        let factor = 1_u32.checked_shl(self.failures).unwrap_or(u32::MAX);
        self.failures = self.failures.saturating_add(1);
        let delay = self.min.saturating_mul(factor).min(self.max);
        let mut random = [0; 1];
        // Without randomness the delay is as good.
        let _ = getrandom::fill(&mut random);
        let [random] = random;
        delay.mul_f64(0.75 + f64::from(random) / 510.0)
    }

    /// Whether the next attempt should wait until it is needed.
    pub(crate) fn is_exhausted(&self) -> bool {
        self.failures >= self.attempts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_up_to_its_maximum_and_is_varied_by_a_quarter() {
        let limits = McpLimits {
            backoff_min: Duration::from_millis(100),
            backoff_max: Duration::from_millis(1000),
            attempts: 6,
            ..McpLimits::default()
        };
        let mut backoff = Backoff::new(&limits);
        for expected in [100.0, 200.0, 400.0, 800.0, 1000.0] {
            assert!(!backoff.is_exhausted());
            let factor = backoff.next().as_secs_f64() * 1000.0 / expected;
            assert!((0.749..=1.251).contains(&factor), "{expected}: {factor}");
        }
        backoff.next();
        assert!(backoff.is_exhausted());
        for _ in 0..100 {
            assert!(backoff.next() <= Duration::from_millis(1251));
        }
        backoff.reset();
        assert!(!backoff.is_exhausted() && backoff.next() <= Duration::from_millis(126));
    }
}
