//! Times of files.

use std::fs::FileTimes;
use std::time::{Duration, SystemTime};

use super::handle::open_for_times;
use crate::windows::fd::AsFd;
use crate::windows::io::{Errno, Result};

/// In the place of nanoseconds: the time of the call.
pub const UTIME_NOW: i64 = 0x3fff_ffff;

/// In the place of nanoseconds: the time stays.
pub const UTIME_OMIT: i64 = 0x3fff_fffe;

/// A time since 1970, or of a clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timespec {
    /// Seconds.
    pub tv_sec: i64,
    /// Nanoseconds, [`UTIME_NOW`] or [`UTIME_OMIT`].
    pub tv_nsec: i64,
}

impl Timespec {
    /// Returns the time to set. None: it stays.
    fn to_set(self) -> Result<Option<SystemTime>> {
        match self.tv_nsec {
            UTIME_OMIT => return Ok(None),
            UTIME_NOW => return Ok(Some(SystemTime::now())),
            _ => {}
        }
        let nanoseconds = u32::try_from(self.tv_nsec).map_err(|_| Errno::INVAL)?;
        let seconds = Duration::from_secs(self.tv_sec.unsigned_abs());
        let whole = if self.tv_sec < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(seconds)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(seconds)
        };
        let time =
            whole.and_then(|time| time.checked_add(Duration::from_nanos(nanoseconds.into())));
        Ok(Some(time.ok_or(Errno::OVERFLOW)?))
    }
}

impl TryFrom<Timespec> for Duration {
    type Error = Errno;

    fn try_from(time: Timespec) -> Result<Self> {
        let seconds = u64::try_from(time.tv_sec).map_err(|_| Errno::OVERFLOW)?;
        let nanoseconds = u64::try_from(time.tv_nsec).map_err(|_| Errno::OVERFLOW)?;
        let nanoseconds = Self::from_nanos(nanoseconds);
        let sum = Self::from_secs(seconds).checked_add(nanoseconds);
        sum.ok_or(Errno::OVERFLOW)
    }
}

/// The times that a call sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timestamps {
    /// When the file was last read.
    pub last_access: Timespec,
    /// When its content was last changed.
    pub last_modification: Timespec,
}

/// Sets the times of what a handle is open for, whatever the handle's access.
///
/// # Errors
/// `AGAIN` if another file has its path by now, and errors of the system.
pub fn futimens(handle: impl AsFd, times: &Timestamps) -> Result<()> {
    let mut set = FileTimes::new();
    if let Some(time) = times.last_access.to_set()? {
        set = set.set_accessed(time);
    }
    if let Some(time) = times.last_modification.to_set()? {
        set = set.set_modified(time);
    }
    Ok(open_for_times(handle)?.set_times(set)?)
}
