//! Times of entries.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use super::entry::Entry;
use super::expression::Time;
use crate::commands::call::Call;

pub(super) const SECOND: i128 = 1_000_000_000;

impl Time {
    /// Reads the letter of `-newerXY`.
    pub(super) const fn of_letter(letter: char) -> Option<Self> {
        match letter {
            'a' => Some(Self::Accessed),
            'c' => Some(Self::Changed),
            'm' => Some(Self::Modified),
            _ => None,
        }
    }

    pub(super) fn of(self, entry: &Entry, call: &Call) -> io::Result<SystemTime> {
        Ok(match self {
            Self::Accessed => entry.status(call)?.accessed,
            Self::Changed => entry.status(call)?.changed,
            Self::Modified => entry.metadata(call)?.modified,
        })
    }
}

/// Nanoseconds since 1970.
pub(super) fn nanos(time: SystemTime) -> i128 {
    let nanos = |duration: std::time::Duration| i128::try_from(duration.as_nanos()).unwrap_or(0);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => nanos(after),
        Err(error) => -nanos(error.duration()),
    }
}
