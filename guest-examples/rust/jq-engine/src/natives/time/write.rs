//! `strftime`.

use super::calendar::{DAYS, MONTHS, Time, days, short};

pub(super) fn write(time: &Time, pattern: &str, out: &mut String) {
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        if char != '%' {
            out.push(char);
            continue;
        }
        let spec = chars.as_str();
        let (mut pad, mut upper, mut width) = (None, false, String::new());
        let letter = loop {
            match chars.next() {
                Some(flag @ ('-' | '_' | '0')) if width.is_empty() => pad = Some(flag),
                Some('^') => upper = true,
                Some('E' | 'O') => {}
                Some(digit @ '0'..='9') => width.push(digit),
                other => break other,
            }
        };
        let start = out.len();
        let mut number = |value: i64, digits: usize, default: char| {
            let digits = width.parse().unwrap_or(digits).min(1000);
            let text = match pad.unwrap_or(default) {
                '-' => value.to_string(),
                '_' => format!("{value:digits$}"),
                _ => format!("{value:0digits$}"),
            };
            out.push_str(&text);
        };
        let hour12 = if time.hour.rem_euclid(12) == 0 {
            12
        } else {
            time.hour.rem_euclid(12)
        };
        match letter {
            Some('Y') => number(time.year, 1, '0'),
            Some('C') => number(time.year.div_euclid(100), 2, '0'),
            Some('y') => number(time.year.rem_euclid(100), 2, '0'),
            Some('m') => number(time.month + 1, 2, '0'),
            Some('d') => number(time.day, 2, '0'),
            Some('e') => number(time.day, 2, '_'),
            Some('H') => number(time.hour, 2, '0'),
            Some('k') => number(time.hour, 2, '_'),
            Some('I') => number(hour12, 2, '0'),
            Some('l') => number(hour12, 2, '_'),
            Some('M') => number(time.minute, 2, '0'),
            Some('S') => number(time.second, 2, '0'),
            Some('j') => number(time.year_day + 1, 3, '0'),
            Some('s') => number(time.seconds(), 1, '0'),
            Some('u') => number((time.weekday + 6).rem_euclid(7) + 1, 1, '0'),
            Some('w') => number(time.weekday, 1, '0'),
            Some('U') => number(week(time, 0), 2, '0'),
            Some('W') => number(week(time, 1), 2, '0'),
            Some('V') => number(iso_week(time).1, 2, '0'),
            Some('G') => number(iso_week(time).0, 1, '0'),
            Some('g') => number(iso_week(time).0.rem_euclid(100), 2, '0'),
            Some('a') => out.push_str(short(name(&DAYS, time.weekday))),
            Some('A') => out.push_str(name(&DAYS, time.weekday)),
            Some('b' | 'h') => out.push_str(short(name(&MONTHS, time.month))),
            Some('B') => out.push_str(name(&MONTHS, time.month)),
            Some('p') => out.push_str(if time.hour >= 12 { "PM" } else { "AM" }),
            Some('P') => out.push_str(if time.hour >= 12 { "pm" } else { "am" }),
            Some('Z') => out.push_str("UTC"),
            Some('z') => out.push_str("+0000"),
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('%') => out.push('%'),
            Some('c') => write(time, "%a %b %e %H:%M:%S %Y", out),
            Some('D' | 'x') => write(time, "%m/%d/%y", out),
            Some('F') => write(time, "%Y-%m-%d", out),
            Some('T' | 'X') => write(time, "%H:%M:%S", out),
            Some('R') => write(time, "%H:%M", out),
            Some('r') => write(time, "%I:%M:%S %p", out),
            Some('+') => write(time, "%a %b %e %H:%M:%S %Z %Y", out),
            // As the C library: what is unknown stays.
            _ => {
                let rest = chars.as_str().len();
                out.push('%');
                out.push_str(spec.get(..spec.len() - rest).unwrap_or_default());
            }
        }
        if upper {
            let text = out.get(start..).unwrap_or_default().to_uppercase();
            out.truncate(start);
            out.push_str(&text);
        }
    }
}

/// The week of the year whose first day is this weekday; the days before the first such day are week 0.
fn week(time: &Time, first: i64) -> i64 {
    (time.year_day + 7 - (time.weekday - first).rem_euclid(7)) / 7
}

/// Year and week of ISO 8601.
fn iso_week(time: &Time) -> (i64, i64) {
    let weekday = (time.weekday + 6) % 7;
    let thursday = time.year_day + 3 - weekday;
    let length = |year: i64| days(year + 1, 1, 1) - days(year, 1, 1);
    if thursday < 0 {
        let length = length(time.year - 1);
        return (time.year - 1, (thursday + length) / 7 + 1);
    }
    if thursday >= length(time.year) {
        (time.year + 1, 1)
    } else {
        (time.year, thursday / 7 + 1)
    }
}

fn name<'n>(names: &[&'n str], at: i64) -> &'n str {
    usize::try_from(at)
        .ok()
        .and_then(|at| names.get(at))
        .copied()
        .unwrap_or("?")
}
