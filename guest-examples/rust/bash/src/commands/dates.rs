//! Moments, time zones, and texts of both: `date`, `touch -d`, `find -newermt`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

mod format;
mod read;
mod words;
mod zone;

pub(crate) use format::format;
pub(crate) use read::read;
pub(crate) use zone::Zone;

/// Seconds since 1970 in UTC, and nanoseconds after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    pub(crate) seconds: i64,
    pub(crate) nanos: u32,
}

impl Moment {
    pub(crate) fn now() -> Self {
        SystemTime::now().into()
    }
}

impl From<SystemTime> for Moment {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self {
                seconds: i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
                nanos: after.subsec_nanos(),
            },
            Err(error) => {
                let before = error.duration();
                let seconds = -i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
                match before.subsec_nanos() {
                    0 => Self { seconds, nanos: 0 },
                    nanos => Self {
                        seconds: seconds - 1,
                        nanos: 1_000_000_000 - nanos,
                    },
                }
            }
        }
    }
}

impl From<Moment> for SystemTime {
    fn from(moment: Moment) -> Self {
        let seconds = Duration::from_secs(moment.seconds.unsigned_abs());
        let whole = if moment.seconds < 0 {
            UNIX_EPOCH.checked_sub(seconds)
        } else {
            UNIX_EPOCH.checked_add(seconds)
        };
        let time = whole.unwrap_or(UNIX_EPOCH);
        time + Duration::from_nanos(u64::from(moment.nanos))
    }
}

/// A date and a time of day on the clocks of some zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Civil {
    pub(crate) year: i64,
    /// 1 to 12.
    pub(crate) month: i64,
    /// 1 to 31.
    pub(crate) day: i64,
    pub(crate) hour: i64,
    pub(crate) minute: i64,
    pub(crate) second: i64,
}

const DAY: i64 = 86_400;

impl Civil {
    /// The date and time of seconds since 1970 on the same clocks.
    pub(crate) fn of(seconds: i64) -> Self {
        let (days, rest) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
        // Years that begin in March end with the day of leap years.
        let days = days + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month + 2) / 5 + 1;
        let month = if month < 10 { month + 3 } else { month - 9 };
        Self {
            year: year_of_era + era * 400 + i64::from(month <= 2),
            month,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
        }
    }

    /// Seconds since 1970; parts beyond their range carry over.
    pub(crate) fn seconds(&self) -> i64 {
        let months = self.month - 1;
        let (year, month) = (self.year + months.div_euclid(12), months.rem_euclid(12) + 1);
        let year = if month <= 2 { year - 1 } else { year };
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let shifted = if month > 2 { month - 3 } else { month + 9 };
        let day_of_year = (153 * shifted + 2) / 5;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = era * 146_097 + day_of_era - 719_468 + self.day - 1;
        days * DAY + self.hour * 3600 + self.minute * 60 + self.second
    }

    /// 0 is Sunday.
    pub(crate) fn weekday(&self) -> i64 {
        (self.seconds().div_euclid(DAY) + 4).rem_euclid(7)
    }

    /// 0 to 365.
    pub(crate) fn day_of_year(&self) -> i64 {
        let first = Self {
            month: 1,
            day: 1,
            ..*self
        };
        (self.seconds() - first.seconds()) / DAY
    }
}
