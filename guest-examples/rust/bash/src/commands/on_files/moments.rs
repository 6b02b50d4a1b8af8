//! Times of files as `ls`, `stat` and `find` write them, in UTC.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

const DAY: i64 = 86_400;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];

/// Seconds since 1970 and nanoseconds.
pub(super) fn parts(time: SystemTime) -> (i64, u32) {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (
            i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
            after.subsec_nanos(),
        ),
        Err(before) => {
            let before = before.duration();
            let seconds = -i64::try_from(before.as_secs()).unwrap_or(i64::MAX);
            match before.subsec_nanos() {
                0 => (seconds, 0),
                nanos => (seconds - 1, 1_000_000_000 - nanos),
            }
        }
    }
}

pub(super) fn moment(seconds: i64, nanos: u32) -> Option<SystemTime> {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let time = if seconds < 0 {
        SystemTime::UNIX_EPOCH.checked_sub(whole)
    } else {
        SystemTime::UNIX_EPOCH.checked_add(whole)
    };
    time?.checked_add(Duration::from_nanos(u64::from(nanos)))
}

/// Seconds since 1970 of a moment of the calendar; `None` if there is no such day or time.
pub(super) fn seconds_of(
    date: (i64, i64, i64),
    (hour, minute, second): (i64, i64, i64),
) -> Option<i64> {
    let (_, month, day) = date;
    let is_valid = (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hour)
        && (0..60).contains(&minute)
        && (0..=60).contains(&second);
    let days = days_of(date);
    if !is_valid || date_of(days) != date {
        return None;
    }
    Some(days * DAY + hour * 3600 + minute * 60 + second)
}

/// Days since 1970-01-01 of a date of the Gregorian calendar.
fn days_of((year, month, day): (i64, i64, i64)) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let years = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * years + years / 4 - years / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (years + era * 400 + i64::from(month <= 2), month, day)
}

/// Writes a time by a format of `date`.
pub(super) fn format(time: SystemTime, format: &str) -> String {
    let mut text = String::new();
    let mut chars = format.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            text.push(char);
            continue;
        }
        match chars.next() {
            Some(directive) => write_directive(time, directive, &mut text),
            None => text.push('%'),
        }
    }
    text
}

fn write_directive(time: SystemTime, directive: char, text: &mut String) {
    let (seconds, nanos) = parts(time);
    let (days, of_day) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let weekday = (days + 4).rem_euclid(7);
    let of_year = days - days_of((year, 1, 1));
    let twelve = if hour % 12 == 0 { 12 } else { hour % 12 };
    let named = |names: &[&'static str], at: i64| {
        usize::try_from(at)
            .ok()
            .and_then(|at| names.get(at))
            .copied()
            .unwrap_or_default()
    };
    let month_name = named(&MONTHS, month - 1);
    let day_name = named(&DAYS, weekday);
    let short = |name: &'static str| name.get(..3).unwrap_or(name);
    let nested = |pattern| format(time, pattern);
    let _ = match directive {
        'Y' => write!(text, "{year}"),
        'C' => write!(text, "{:02}", year / 100),
        'y' => write!(text, "{:02}", year.rem_euclid(100)),
        'm' => write!(text, "{month:02}"),
        'd' => write!(text, "{day:02}"),
        'e' => write!(text, "{day:2}"),
        'H' => write!(text, "{hour:02}"),
        'k' => write!(text, "{hour:2}"),
        'I' => write!(text, "{twelve:02}"),
        'l' => write!(text, "{twelve:2}"),
        'M' => write!(text, "{minute:02}"),
        'S' => write!(text, "{second:02}"),
        'N' => write!(text, "{nanos:09}"),
        's' => write!(text, "{seconds}"),
        'j' => write!(text, "{:03}", of_year + 1),
        'u' => write!(text, "{}", if weekday == 0 { 7 } else { weekday }),
        'w' => write!(text, "{weekday}"),
        'U' => write!(text, "{:02}", (of_year + 7 - weekday) / 7),
        'W' => write!(text, "{:02}", (of_year + 7 - (weekday + 6) % 7) / 7),
        'a' => write!(text, "{}", short(day_name)),
        'A' => write!(text, "{day_name}"),
        'b' | 'h' => write!(text, "{}", short(month_name)),
        'B' => write!(text, "{month_name}"),
        'p' => write!(text, "{}", if hour < 12 { "AM" } else { "PM" }),
        'P' => write!(text, "{}", if hour < 12 { "am" } else { "pm" }),
        'z' => write!(text, "+0000"),
        'Z' => write!(text, "UTC"),
        'F' => write!(text, "{year}-{month:02}-{day:02}"),
        'T' | 'X' => write!(text, "{hour:02}:{minute:02}:{second:02}"),
        'R' => write!(text, "{hour:02}:{minute:02}"),
        'D' | 'x' => write!(text, "{month:02}/{day:02}/{:02}", year.rem_euclid(100)),
        'c' => write!(text, "{}", nested("%a %b %e %H:%M:%S %Y")),
        'r' => write!(text, "{}", nested("%I:%M:%S %p")),
        'n' => writeln!(text),
        't' => write!(text, "\t"),
        '%' => write!(text, "%"),
        other => write!(text, "%{other}"),
    };
}
