//! Pauses between restarts.

use std::time::Duration;

use super::OrchestratorConfig;

/// Doubles from the first pause to the longest; starts again after a turn that ended.
#[derive(Debug)]
pub(super) struct Backoff {
    first: Duration,
    max: Duration,
    next: Duration,
}

impl Backoff {
    pub(super) fn new(config: &OrchestratorConfig) -> Self {
        Self {
            first: config.backoff_first,
            max: config.backoff_max,
            next: config.backoff_first,
        }
    }

    pub(super) fn pause(&mut self) -> Duration {
        let pause = self.next.min(self.max);
        self.next = pause.saturating_mul(2);
        pause
    }

    pub(super) fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_longest_and_starts_again() {
        let mut backoff = Backoff::new(&OrchestratorConfig::default());
        let pauses: Vec<_> = (0..11).map(|_| backoff.pause().as_millis()).collect();
        assert_eq!(
            pauses,
            [
                100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000
            ]
        );
        backoff.reset();
        assert_eq!(backoff.pause().as_millis(), 100);
    }
}
