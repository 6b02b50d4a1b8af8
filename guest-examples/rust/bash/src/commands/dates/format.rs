//! A moment as a text: `+%Y-%m-%d`.

use std::fmt::Write as _;

use super::{Civil, Moment, Zone};

const DAYS: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
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

/// How a directive is padded: `%_d`, `%-H`, `%^a`.
#[derive(Default, Clone, Copy)]
struct Flags {
    pad: Option<char>,
    upper: bool,
    swap: bool,
    width: Option<usize>,
    colons: usize,
}

/// Returns the text of a moment in a zone.
pub(crate) fn format(format: &str, moment: Moment, zone: &Zone) -> String {
    let mut out = String::new();
    let civil = zone.civil(moment.seconds);
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let directive = &rest[at..];
        let mut chars = directive.chars();
        chars.next();
        let mut flags = Flags::default();
        let kind = loop {
            match chars.next() {
                Some(pad @ ('_' | '-' | '+')) => flags.pad = Some(pad),
                Some('0') if flags.width.is_none() => flags.pad = Some('0'),
                Some('^') => flags.upper = true,
                Some('#') => flags.swap = true,
                Some(':') => flags.colons += 1,
                Some('E' | 'O') => {}
                Some(digit) if digit.is_ascii_digit() => {
                    let width = flags.width.unwrap_or(0) * 10;
                    flags.width = Some((width + digit as usize - '0' as usize).min(4096));
                }
                other => break other,
            }
        };
        let used = directive.len() - chars.as_str().len();
        rest = &directive[used..];
        match kind.and_then(|kind| self::directive(kind, flags, moment, &civil, zone)) {
            Some(text) => out.push_str(&text),
            None => out.push_str(&directive[..used]),
        }
    }
    out.push_str(rest);
    out
}

fn directive(
    kind: char,
    flags: Flags,
    moment: Moment,
    civil: &Civil,
    zone: &Zone,
) -> Option<String> {
    let number = |value: i64, width: usize, pad: char| Some(padded(value, width, pad, flags));
    let text = |value: &str| Some(cased(value, flags));
    let whole = |text: &str| Some(cased(&format(text, moment, zone), flags));
    let weekday = civil.weekday();
    let hour = if civil.hour % 12 == 0 {
        12
    } else {
        civil.hour % 12
    };
    let name = |names: &[&'static str], index: i64| {
        usize::try_from(index)
            .ok()
            .and_then(|index| names.get(index).copied())
            .unwrap_or("?")
    };
    let day = name(&DAYS, weekday);
    let month = name(&MONTHS, civil.month - 1);
    match kind {
        '%' => text("%"),
        'n' => text("\n"),
        't' => text("\t"),
        'a' => text(day.get(..3)?),
        'A' => text(day),
        'b' | 'h' => text(month.get(..3)?),
        'B' => text(month),
        'c' => whole("%a %b %e %H:%M:%S %Y"),
        'C' => number(civil.year.div_euclid(100), 2, '0'),
        'd' => number(civil.day, 2, '0'),
        'D' | 'x' => whole("%m/%d/%y"),
        'e' => number(civil.day, 2, '_'),
        'F' => whole("%Y-%m-%d"),
        'g' => number(iso_week(civil).0.rem_euclid(100), 2, '0'),
        'G' => number(iso_week(civil).0, 4, '0'),
        'H' => number(civil.hour, 2, '0'),
        'I' => number(hour, 2, '0'),
        'j' => number(civil.day_of_year() + 1, 3, '0'),
        'k' => number(civil.hour, 2, '_'),
        'l' => number(hour, 2, '_'),
        'm' => number(civil.month, 2, '0'),
        'M' => number(civil.minute, 2, '0'),
        'N' => {
            let nanos = std::format!("{:09}", moment.nanos);
            match (flags.pad, flags.width) {
                (Some('_'), None) => Some(std::format!("{:<9}", nanos.trim_end_matches('0'))),
                (_, Some(width)) => Some(nanos.chars().chain(['0'; 64]).take(width).collect()),
                (_, None) => Some(nanos),
            }
        }
        'p' => Some(if flags.swap {
            half(civil).to_lowercase()
        } else {
            half(civil).to_owned()
        }),
        'P' => text(&half(civil).to_lowercase()),
        'q' => number((civil.month - 1) / 3 + 1, 1, '0'),
        'r' => whole("%I:%M:%S %p"),
        'R' => whole("%H:%M"),
        's' => number(moment.seconds, 1, '0'),
        'S' => number(civil.second, 2, '0'),
        'T' | 'X' => whole("%H:%M:%S"),
        'u' => number(if weekday == 0 { 7 } else { weekday }, 1, '0'),
        'U' => number((civil.day_of_year() + 7 - weekday) / 7, 2, '0'),
        'V' => number(iso_week(civil).1, 2, '0'),
        'w' => number(weekday, 1, '0'),
        'W' => number((civil.day_of_year() + 7 - (weekday + 6) % 7) / 7, 2, '0'),
        'y' => number(civil.year.rem_euclid(100), 2, '0'),
        'Y' => number(civil.year, if civil.year < 0 { 5 } else { 4 }, '0'),
        'z' => Some(offset(zone.kind(moment.seconds).offset, flags.colons)),
        'Z' => {
            let name = &zone.kind(moment.seconds).name;
            Some(if flags.swap {
                name.to_lowercase()
            } else {
                cased(name, flags)
            })
        }
        _ => None,
    }
}

fn half(civil: &Civil) -> &'static str {
    if civil.hour < 12 { "AM" } else { "PM" }
}

fn padded(value: i64, width: usize, pad: char, flags: Flags) -> String {
    let pad = match flags.pad {
        Some('+') | None => pad,
        Some(pad) => pad,
    };
    let width = flags.width.unwrap_or(width);
    match pad {
        '-' => value.to_string(),
        '_' => format!("{value:>width$}"),
        _ => format!("{value:0>width$}", value = value.to_string()),
    }
}

fn cased(value: &str, flags: Flags) -> String {
    let text = if flags.upper || flags.swap {
        value.to_uppercase()
    } else {
        value.to_owned()
    };
    let width = match flags.pad {
        Some('-') => 0,
        _ => flags.width.unwrap_or(0),
    };
    if flags.pad == Some('0') {
        return format!("{text:0>width$}");
    }
    format!("{text:>width$}")
}

/// `+hhmm`, `+hh:mm`, `+hh:mm:ss`, or with no more than needed.
fn offset(offset: i64, colons: usize) -> String {
    let (sign, offset) = (if offset < 0 { '-' } else { '+' }, offset.abs());
    let (hours, minutes, seconds) = (offset / 3600, offset / 60 % 60, offset % 60);
    let mut text = format!("{sign}{hours:02}");
    let _ = match colons {
        0 => write!(text, "{minutes:02}"),
        1 => write!(text, ":{minutes:02}"),
        2 => write!(text, ":{minutes:02}:{seconds:02}"),
        _ if seconds != 0 => write!(text, ":{minutes:02}:{seconds:02}"),
        _ if minutes != 0 => write!(text, ":{minutes:02}"),
        _ => Ok(()),
    };
    text
}

/// Year and week of ISO 8601.
fn iso_week(civil: &Civil) -> (i64, i64) {
    let monday_based = (civil.weekday() + 6) % 7;
    let thursday = Civil::of(civil.seconds() + (3 - monday_based) * 86_400);
    (thursday.year, thursday.day_of_year() / 7 + 1)
}
