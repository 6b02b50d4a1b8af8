//! The limits and times of an orchestrator.

use std::time::{Duration, SystemTime};

/// Which instances an agent may speak to in its turns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Those of its own key, and of keys that begin with it and a slash: `user-1` reaches `user-1` and
    /// `user-1/research`, and nobody else's conversation.
    #[default]
    OwnKey,
    /// All.
    Any,
}

/// What an orchestrator allows. Every field has a default.
#[derive(Debug, Clone)]
pub struct OrchestratorConfig {
    /// Events that may wait for one instance. Default: 1,000.
    pub mailbox_capacity: usize,
    /// Bytes of JSON that the events may have that wait for one instance; one may wait in any case.
    /// Default: 64 MiB.
    pub mailbox_bytes: usize,
    /// Instances that may run. Default: 1,000.
    pub instances_max: usize,
    /// Deliveries of one event, each after a crash, before it is given up. Default: 3.
    pub attempts_max: u32,
    /// Pause before the first restart of a crashed instance; each further one takes twice as long.
    /// Default: 100 ms.
    pub backoff_first: Duration,
    /// Longest pause before a restart. Default: 30 s.
    pub backoff_max: Duration,
    /// Idle time after which an instance is ended. Default: 5 min.
    pub idle_after: Duration,
    /// Time that an idle process has to end when it is asked to. Default: 5 s.
    pub end_grace: Duration,
    /// Longest turn; a longer one fails and is not tried again. Default: 1 h.
    pub turn_deadline: Duration,
    /// Which instances an agent may speak to in its turns; a runtime's own
    /// [`client`](super::Orchestrator::client) reaches all. Default: those of its own key.
    pub reach: Reach,
    /// Requests in one chain of agents that wait; 1,000 at most. Default: 64.
    pub chain_depth_max: usize,
    /// Ids of handled events that are remembered, over all agents. Default: 10,000.
    pub handled_max: u32,
    /// Responses to async requests that are kept for one instance, or on their way to it. Default: 1,000.
    pub responses_max: usize,
    /// Bytes of JSON that the responses may have which are kept for one instance, before it may ask for
    /// more. Default: 64 MiB.
    pub responses_bytes: usize,
    /// How long a response is kept that nobody takes. Default: 7 days.
    pub responses_kept_for: Duration,
    /// How often events are looked for whose process died while this one lived, and responses that are
    /// too old are removed. Default: 10 s.
    pub adopt_every: Duration,
    /// What time it is. Default: the system's clock.
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
            adopt_every: Duration::from_secs(10),
            clock: SystemTime::now,
        }
    }
}
