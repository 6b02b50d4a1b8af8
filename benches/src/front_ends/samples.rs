//! What a round measured.

use std::time::{Duration, Instant};

use crate::measure::median;

/// The calls of one round.
pub(super) struct Samples {
    latencies: Vec<Duration>,
    took: Duration,
}

/// A round in numbers.
#[derive(Clone, Copy)]
pub(super) struct Summary {
    /// In microseconds.
    pub(super) p50: f64,
    /// In microseconds.
    pub(super) p99: f64,
    pub(super) per_second: f64,
}

impl Samples {
    /// `started` is the begin of the round, which ends now.
    pub(super) fn new(latencies: Vec<Duration>, started: Instant) -> Self {
        Self {
            latencies,
            took: started.elapsed(),
        }
    }

    pub(super) fn summary(mut self) -> Summary {
        self.latencies.sort_unstable();
        let count = self.latencies.len();
        let micros = |percent: usize| self.latencies[count * percent / 100].as_secs_f64() * 1e6;
        Summary {
            p50: micros(50),
            p99: micros(99),
            per_second: count as f64 / self.took.as_secs_f64(),
        }
    }
}

impl Summary {
    /// The median of each number.
    pub(super) fn median(rounds: &[Self]) -> Self {
        let of = |number: fn(&Self) -> f64| median(rounds.iter().map(number).collect());
        Self {
            p50: of(|round| round.p50),
            p99: of(|round| round.p99),
            per_second: of(|round| round.per_second),
        }
    }
}
