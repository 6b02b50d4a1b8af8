//! The deadline of a commit, which ends with its first rename.

use std::time::{Duration, Instant};

use super::error::CommitError;

/// Measures a commit until its first rename. From then on it ends, or is taken back.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommitClock {
    limit: Duration,
    /// None if that is more than the system's clock can show.
    until: Option<Instant>,
}

impl CommitClock {
    pub(crate) fn start(limit: Duration) -> Self {
        let until = Instant::now().checked_add(limit);
        Self { limit, until }
    }

    /// Does not count the time for which the commit waited for another one.
    pub(super) fn leave_out(&mut self, waited: Duration) {
        self.until = self.until.and_then(|until| until.checked_add(waited));
    }

    /// Fails once the time has passed.
    pub(crate) fn check(&self) -> Result<(), CommitError> {
        if self.until.is_none_or(|until| Instant::now() < until) {
            Ok(())
        } else {
            Err(CommitError::Late { limit: self.limit })
        }
    }
}
