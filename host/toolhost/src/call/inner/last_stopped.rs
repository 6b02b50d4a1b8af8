//! The inner call that was stopped last.

use std::fmt;
use std::time::{Duration, Instant};

/// A call that was stopped.
pub(super) struct LastStopped {
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) wall: Duration,
    pub(super) at: Instant,
}

impl LastStopped {
    /// Whether it still ran at this time.
    pub(super) fn ran_at(&self, time: Instant) -> bool {
        self.at >= time
    }
}

/// Such as `its call 'call_1/2' of tool 'wait__seconds' had run for 1980 ms`.
impl fmt::Display for LastStopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, tool, wall, .. } = self;
        let ms = wall.as_millis();
        write!(f, "its call '{id}' of tool '{tool}' had run for {ms} ms")
    }
}
