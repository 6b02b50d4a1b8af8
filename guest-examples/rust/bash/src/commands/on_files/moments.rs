//! Times of files as `ls`, `stat` and `find` write them, in UTC.

use std::time::{Duration, SystemTime};

use crate::commands::dates::{self, Civil, Moment, Zone};

/// Seconds since 1970 and nanoseconds.
pub(super) fn parts(time: SystemTime) -> (i64, u32) {
    let Moment { seconds, nanos } = time.into();
    (seconds, nanos)
}

/// The time of a moment; `None` if it is beyond what a time can be.
pub(super) fn moment(seconds: i64, nanos: u32) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    time?.checked_add(Duration::from_nanos(u64::from(nanos)))
}

/// Seconds since 1970 of a date and a time of day; `None` if the calendar has no such date, or a day no such time.
pub(super) fn seconds_of(
    (year, month, day): (i64, i64, i64),
    (hour, minute, second): (i64, i64, i64),
) -> Option<i64> {
    let midnight = Civil {
        year,
        month,
        day,
        hour: 0,
        minute: 0,
        second: 0,
    };
    let is_valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        // A leap second.
        && (0..=60).contains(&second);
    if !is_valid || Civil::of(midnight.seconds()) != midnight {
        return None;
    }
    Some(midnight.seconds() + hour * 3600 + minute * 60 + second)
}

/// Writes a time by a format of `date`.
pub(super) fn format(time: SystemTime, format: &str) -> String {
    dates::format(format, time.into(), &Zone::utc())
}
