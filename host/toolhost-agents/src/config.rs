//! The limits and times of an orchestrator.

use std::time::{Duration, SystemTime};

/// Which instances an agent may send events to in its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Those of its own key, and of keys that begin with it and a slash: `user-1` reaches `user-1` and
    /// `user-1/research`.
    #[default]
    OwnKey,
    /// All.
    Any,
}

/// The limits and intervals of an orchestrator.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct OrchestratorConfig {
    /// Events that may wait for one instance. Default: 1,000.
    pub mailbox_capacity: usize,
    /// Bytes of JSON of the events that wait for one instance. One event is accepted whatever its size.
    /// Default: 64 MiB.
    pub mailbox_bytes: usize,
    /// Instances that may run. Default: 1,000.
    pub instances_max: usize,
    /// Deliveries of one event, repeated after crashes, before it fails. Default: 3.
    pub attempts_max: u32,
    /// Pause before the first restart of a crashed instance; it doubles with each restart.
    /// Default: 100 ms.
    pub backoff_first: Duration,
    /// Longest pause before a restart. Default: 30 s.
    pub backoff_max: Duration,
    /// Idle time after which an instance is ended. Default: 5 min.
    pub idle_after: Duration,
    /// Time that an idle process has to end after `shutdown`. Default: 5 s.
    pub end_grace: Duration,
    /// Longest turn; a longer one fails and is not repeated. Default: 1 h.
    pub turn_deadline: Duration,
    /// Which instances an agent may send events to in its turns. A client of
    /// [`Orchestrator::client`](super::Orchestrator::client) reaches all. Default: those of its own key.
    pub reach: Reach,
    /// Requests in one chain of waiting agents; at most 1,000. Default: 64.
    pub chain_depth_max: usize,
    /// Ids of handled events that are stored to detect repeated ones, over all agents. Default: 10,000.
    pub handled_max: u32,
    /// Responses to async requests, stored or expected, for one instance. Default: 1,000.
    pub responses_max: usize,
    /// Bytes of JSON of the stored responses for one instance, beyond which its async requests fail.
    /// Default: 64 MiB.
    pub responses_bytes: usize,
    /// How long a response is stored that nobody takes. Default: 7 days.
    pub responses_kept_for: Duration,
    /// How often events of processes that died are recovered, and old responses removed. Default: 10 s.
    pub recovery_interval: Duration,
    /// The wall clock. Default: the system's.
    pub clock: fn() -> SystemTime,
}

impl Default for OrchestratorConfig {
    fn default() -> Self {
        Self {
            mailbox_capacity: 1000,
            mailbox_bytes: 64 << 20,
            instances_max: 1000,
            attempts_max: 3,
            backoff_first: Duration::from_millis(100),
            backoff_max: Duration::from_secs(30),
            idle_after: Duration::from_secs(5 * 60),
            end_grace: Duration::from_secs(5),
            turn_deadline: Duration::from_secs(60 * 60),
            reach: Reach::default(),
            chain_depth_max: 64,
            handled_max: 10_000,
            responses_max: 1000,
            responses_bytes: 64 << 20,
            responses_kept_for: Duration::from_secs(7 * 24 * 60 * 60),
            recovery_interval: Duration::from_secs(10),
            clock: SystemTime::now,
        }
    }
}

impl OrchestratorConfig {
    /// Returns the pause before a restart, after this many restarts without a turn that ended.
    pub(super) fn backoff(&self, restarts: u32) -> Duration {
        let factor = 2_u32.saturating_pow(restarts);
        self.backoff_first
            .saturating_mul(factor)
            .min(self.backoff_max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backoff_doubles_up_to_the_longest_pause() {
        let config = OrchestratorConfig::default();
        let pauses: Vec<_> = (0..11).map(|n| config.backoff(n).as_millis()).collect();
        assert_eq!(
            pauses,
            [
                100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000
            ]
        );
        assert_eq!(config.backoff(u32::MAX).as_millis(), 30_000);
    }
}
