//! Timestamps in RFC 3339 format.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::de::{Deserialize, Deserializer, Error};
use serde::{Serialize, Serializer};

/// The start of the last second of the year 9999, in seconds since 1970.
const LAST_SECOND: u64 = 253_402_300_799;

/// A point in time. Displayed in RFC 3339 in UTC with milliseconds: `2026-11-21T05:00:00.000Z`.
///
/// Times before 1970 are displayed as 1970-01-01, and times after 9999 as its last second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub SystemTime);

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = UNIX_EPOCH + Duration::from_millis(LAST_SECOND * 1000 + 999);
        humantime::format_rfc3339_millis(self.0.clamp(UNIX_EPOCH, last)).fmt(f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = humantime::parse_rfc3339(&text);
        time.map(Self).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_of_range_is_displayed_as_the_nearest_one() {
        let check = |time: SystemTime, expected: &str| {
            assert_eq!(Timestamp(time).to_string(), expected);
        };
        let second = Duration::from_secs(1);
        check(UNIX_EPOCH - second, "1970-01-01T00:00:00.000Z");
        let last = UNIX_EPOCH + Duration::from_secs(LAST_SECOND);
        check(last, "9999-12-31T23:59:59.000Z");
        check(last + second, "9999-12-31T23:59:59.999Z");
    }
}
