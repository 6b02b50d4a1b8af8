//! Timestamps, from the guest's types to the system's and back.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{Timespec, Timestamps, UTIME_NOW, UTIME_OMIT};

use super::code::{FsError, FsResult};
use crate::host::bindings::filesystem::types::{Datetime, ErrorCode, NewTimestamp};

fn timespec(time: NewTimestamp) -> FsResult<Timespec> {
    let special = |tv_nsec| Timespec { tv_sec: 0, tv_nsec };
    match time {
        NewTimestamp::NoChange => Ok(special(UTIME_OMIT)),
        NewTimestamp::Now => Ok(special(UTIME_NOW)),
        NewTimestamp::Timestamp(Datetime {
            seconds,
            nanoseconds,
        }) => {
            if nanoseconds >= 1_000_000_000 {
                return Err(FsError::Code(ErrorCode::Invalid));
            }
            let tv_sec = i64::try_from(seconds).map_err(|_| ErrorCode::Overflow)?;
            Ok(Timespec {
                tv_sec,
                tv_nsec: nanoseconds.into(),
            })
        }
    }
}

/// The two times a guest sets, as the system takes them.
///
/// # Errors
/// `overflow` beyond what the system can hold, `invalid` for a second or more of nanoseconds.
pub(crate) fn timestamps(accessed: NewTimestamp, modified: NewTimestamp) -> FsResult<Timestamps> {
    Ok(Timestamps {
        last_access: timespec(accessed)?,
        last_modification: timespec(modified)?,
    })
}

/// A system time as WASI tells it; none before 1970, which WASI cannot tell.
pub(crate) fn datetime(time: SystemTime) -> Option<Datetime> {
    let since: Duration = time.duration_since(UNIX_EPOCH).ok()?;
    Some(Datetime {
        seconds: since.as_secs(),
        nanoseconds: since.subsec_nanos(),
    })
}
