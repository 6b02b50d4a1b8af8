//! Outcomes of events, and the instances that run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Returns whole milliseconds.
pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The outcome of an event from a user or a connector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It was accepted.
    Accepted,
    /// An event of the same id was accepted before; this one was ignored.
    Duplicate,
}

/// An instance that runs: `{"target", "instanceKey", "state": "idle", "queued": 0}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InstanceInfo {
    /// Its agent.
    pub target: String,
    /// Its key.
    pub instance_key: String,
    /// Whether it takes a turn.
    pub state: InstanceState,
    /// Events in its mailbox.
    pub queued: usize,
}

/// Whether an instance takes a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InstanceState {
    /// It takes no turn.
    Idle,
    /// It takes a turn.
    Running,
}
