//! Dates. The time zone is UTC.

use super::arrays::arg;
use super::{Native, native};
use crate::eval::error;
use crate::value::Val;

pub(super) const TABLE: &[Native] = &[
    native("gmtime", 0, |input, _| {
        broken_down(&input, "gmtime() requires numeric inputs")
    }),
    native("localtime", 0, |input, _| {
        broken_down(&input, "localtime() requires numeric inputs")
    }),
    native("mktime", 0, |input, _| {
        let Val::Arr(items) = &input else {
            return Err(error("mktime requires array inputs"));
        };
        let time = Time::from_array(items)
            .ok_or_else(|| error("mktime requires parsed datetime inputs"))?;
        match time.seconds() {
            -1 => Err(error("invalid gmtime representation")),
            seconds => Ok(Val::Num(seconds as f64)),
        }
    }),
    native("strftime", 1, |input, args| {
        format(&input, arg(args, 0), "strftime/1")
    }),
    native("_strflocaltime", 1, |input, args| {
        format(&input, arg(args, 0), "strflocaltime/1")
    }),
    native("strptime", 1, |input, args| match (&input, arg(args, 0)) {
        (Val::Str(text), Val::Str(format)) => parse(text, format),
        _ => Err(error("strptime/1 requires string inputs and arguments")),
    }),
];

/// A date and time, in the units of C's `struct tm`, but for the year.
#[derive(Clone, Copy, Default)]
struct Time {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    weekday: i64,
    year_day: i64,
}

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

/// Days from 1970-01-01; months from 1. Computed in years that begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

impl Time {
    /// # Errors
    /// The year does not fit.
    fn from_seconds(seconds: i64) -> Option<Self> {
        // Years beyond these have more than ten digits.
        if seconds.unsigned_abs() > 60_000_000_000_000_000 {
            return None;
        }
        let (day_number, rest) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let shifted = day_number + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
        let month = if shifted_month < 10 {
            shifted_month + 3
        } else {
            shifted_month - 9
        };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        Some(Self {
            year,
            month: month - 1,
            day,
            hour: rest / 3600,
            minute: rest / 60 % 60,
            second: rest % 60,
            weekday: (day_number + 4).rem_euclid(7),
            year_day: day_number - days(year, 1, 1),
        })
    }

    fn from_array(items: &[Val]) -> Option<Self> {
        let field = |at: usize| Some(items.get(at)?.number()?.trunc() as i64);
        Some(Self {
            year: field(0)?,
            month: field(1)?,
            day: field(2)?,
            hour: field(3)?,
            minute: field(4)?,
            second: field(5)?,
            weekday: field(6)?,
            year_day: field(7)?,
        })
    }

    /// Seconds since 1970; fields beyond their ranges carry over.
    fn seconds(&self) -> i64 {
        let year = self
            .year
            .saturating_add(self.month.div_euclid(12))
            .clamp(-1 << 40, 1 << 40);
        let month = self.month.rem_euclid(12) + 1;
        let day_number = days(year, month, 1).saturating_add(self.day - 1);
        let minutes = day_number
            .saturating_mul(1440)
            .saturating_add(self.hour.saturating_mul(60));
        minutes
            .saturating_add(self.minute)
            .saturating_mul(60)
            .saturating_add(self.second)
    }

    fn array(&self, second: f64) -> Vec<Val> {
        let number = |value: i64| Val::Num(value as f64);
        vec![
            number(self.year),
            number(self.month),
            number(self.day),
            number(self.hour),
            number(self.minute),
            Val::Num(second),
            number(self.weekday),
            number(self.year_day),
        ]
    }

    /// Sets the weekday and the day of the year from the date.
    fn complete(&mut self) {
        let number = days(self.year, self.month + 1, self.day);
        self.weekday = (number + 4).rem_euclid(7);
        self.year_day = number - days(self.year, 1, 1);
    }
}

fn broken_down(input: &Val, refusal: &str) -> Result<Val, Val> {
    let seconds = input.number().ok_or_else(|| error(refusal))?;
    let failed = || error("error converting number of seconds since epoch to datetime");
    let time = Time::from_seconds(seconds as i64).ok_or_else(failed)?;
    Ok(time
        .array(time.second as f64 + (seconds - seconds.floor()))
        .into())
}

fn format(input: &Val, pattern: &Val, name: &str) -> Result<Val, Val> {
    let input = match input {
        Val::Num(_) | Val::Lit(_) => broken_down(input, "")?,
        Val::Arr(_) => input.clone(),
        _ => return Err(error(format!("{name} requires parsed datetime inputs"))),
    };
    let Val::Str(pattern) = pattern else {
        return Err(error(format!("{name} requires a string format")));
    };
    let Val::Arr(items) = &input else {
        return Err(error(format!("{name} requires parsed datetime inputs")));
    };
    let time = Time::from_array(items)
        .ok_or_else(|| error(format!("{name} requires parsed datetime inputs")))?;
    let mut text = String::new();
    write(&time, pattern, &mut text);
    if text.is_empty() {
        return Err(error(format!("{name}: unknown system failure")));
    }
    Ok(text.into())
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

fn write(time: &Time, pattern: &str, out: &mut String) {
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

fn name<'n>(names: &[&'n str], at: i64) -> &'n str {
    usize::try_from(at)
        .ok()
        .and_then(|at| names.get(at))
        .copied()
        .unwrap_or("?")
}

fn short(name: &str) -> &str {
    name.get(..3).unwrap_or(name)
}

fn parse(text: &str, pattern: &str) -> Result<Val, Val> {
    let mut parser = Parser {
        rest: text,
        time: Time {
            year: 1900,
            weekday: 8,
            year_day: 367,
            ..Time::default()
        },
        ..Parser::default()
    };
    let failed = || {
        error(format!(
            "date \"{text}\" does not match format \"{pattern}\""
        ))
    };
    parser.pattern(pattern).ok_or_else(failed)?;
    if !parser.rest.is_empty()
        && !parser
            .rest
            .starts_with(|char: char| char.is_ascii_whitespace())
    {
        return Err(failed());
    }
    let mut time = parser.time;
    if let Some(century_year) = parser.year_of_century {
        let century = parser
            .century
            .unwrap_or(if century_year >= 69 { 19 } else { 20 });
        time.year = century * 100 + century_year;
    }
    if let Some(hour) = parser.hour12 {
        time.hour = hour % 12 + if parser.afternoon { 12 } else { 0 };
    }
    let weekday = time.weekday;
    if let (Some(day), false) = (parser.year_day, parser.has_day) {
        time.month = 0;
        time.day = day + 1;
        if let Some(date) = Time::from_seconds(days(time.year, 1, 1 + day) * 86_400) {
            (time.month, time.day) = (date.month, date.day);
        }
        time.complete();
    } else if parser.has_date {
        time.complete();
    }
    if weekday != 8 && !parser.has_date {
        time.weekday = weekday;
    }
    let mut array = time.array(time.second as f64);
    if !parser.rest.is_empty() {
        array.push(parser.rest.into());
    }
    Ok(array.into())
}

#[derive(Default)]
struct Parser<'t> {
    rest: &'t str,
    time: Time,
    century: Option<i64>,
    year_of_century: Option<i64>,
    hour12: Option<i64>,
    afternoon: bool,
    year_day: Option<i64>,
    has_day: bool,
    has_date: bool,
}

impl Parser<'_> {
    fn skip_space(&mut self) {
        self.rest = self
            .rest
            .trim_start_matches(|char: char| char.is_ascii_whitespace());
    }

    fn number(&mut self, least: i64, most: i64, digits: usize) -> Option<i64> {
        self.skip_space();
        let len = self
            .rest
            .bytes()
            .take(digits)
            .take_while(u8::is_ascii_digit)
            .count();
        let number: i64 = self.rest.get(..len)?.parse().ok()?;
        self.rest = self.rest.get(len..)?;
        (least..=most).contains(&number).then_some(number)
    }

    /// A name or its first three letters.
    fn name(&mut self, names: &[&str]) -> Option<i64> {
        self.skip_space();
        let fits = |name: &&str| {
            self.rest
                .get(..name.len())
                .is_some_and(|start| start.eq_ignore_ascii_case(name))
        };
        for (at, name) in names.iter().enumerate() {
            for form in [*name, short(name)] {
                if fits(&form) {
                    self.rest = self.rest.get(form.len()..)?;
                    return Some(at as i64);
                }
            }
        }
        None
    }

    fn pattern(&mut self, pattern: &str) -> Option<()> {
        let mut chars = pattern.chars();
        while let Some(char) = chars.next() {
            if char.is_ascii_whitespace() {
                self.skip_space();
                continue;
            }
            if char != '%' {
                self.rest = self.rest.strip_prefix(char)?;
                continue;
            }
            let letter = chars
                .by_ref()
                .find(|char| !matches!(char, '-' | '_' | '0' | '^' | '#' | 'E' | 'O'))?;
            self.field(letter)?;
        }
        Some(())
    }

    fn field(&mut self, letter: char) -> Option<()> {
        match letter {
            'Y' => {
                let negative = self.rest.starts_with('-');
                if negative {
                    self.rest = self.rest.get(1..)?;
                }
                let year = self.number(0, 9999, 4)?;
                self.time.year = if negative { -year } else { year };
                self.has_date = true;
            }
            'C' => self.century = Some(self.number(0, 99, 2)?),
            'y' => {
                self.year_of_century = Some(self.number(0, 99, 2)?);
                self.has_date = true;
            }
            'm' => {
                self.time.month = self.number(1, 12, 2)? - 1;
                self.has_date = true;
            }
            'b' | 'B' | 'h' => {
                self.time.month = self.name(&MONTHS)?;
                self.has_date = true;
            }
            'd' | 'e' => {
                self.time.day = self.number(1, 31, 2)?;
                (self.has_day, self.has_date) = (true, true);
            }
            'j' => self.year_day = Some(self.number(1, 366, 3)? - 1),
            'a' | 'A' => self.time.weekday = self.name(&DAYS)?,
            'u' => self.time.weekday = self.number(1, 7, 1)? % 7,
            'w' => self.time.weekday = self.number(0, 6, 1)?,
            'H' | 'k' => {
                self.time.hour = self.number(0, 23, 2)?;
                self.hour12 = None;
            }
            'I' | 'l' => self.hour12 = Some(self.number(1, 12, 2)?),
            'p' | 'P' => {
                self.skip_space();
                let half = self.rest.get(..2)?.to_ascii_uppercase();
                self.rest = self.rest.get(2..)?;
                self.afternoon = match half.as_str() {
                    "AM" => false,
                    "PM" => true,
                    _ => return None,
                };
            }
            'M' => self.time.minute = self.number(0, 59, 2)?,
            'S' => self.time.second = self.number(0, 61, 2)?,
            's' => {
                let len = self.rest.bytes().take_while(u8::is_ascii_digit).count();
                let seconds: i64 = self.rest.get(..len)?.parse().ok()?;
                self.rest = self.rest.get(len..)?;
                self.time = Time::from_seconds(seconds)?;
                (self.has_day, self.has_date) = (true, true);
            }
            'U' | 'W' | 'V' | 'g' => {
                self.number(0, 99, 2)?;
            }
            'G' => {
                self.number(0, 9999, 4)?;
            }
            'Z' => {
                self.skip_space();
                self.rest = self
                    .rest
                    .trim_start_matches(|char: char| !char.is_ascii_whitespace());
            }
            'z' => self.zone()?,
            'n' | 't' => self.skip_space(),
            '%' => self.rest = self.rest.strip_prefix('%')?,
            'D' | 'x' => self.pattern("%m/%d/%y")?,
            'F' => self.pattern("%Y-%m-%d")?,
            'T' | 'X' => self.pattern("%H:%M:%S")?,
            'R' => self.pattern("%H:%M")?,
            'r' => self.pattern("%I:%M:%S %p")?,
            'c' => self.pattern("%a %b %e %H:%M:%S %Y")?,
            _ => return None,
        }
        Some(())
    }

    /// `Z`, `+hh`, `+hhmm` or `+hh:mm`; jq does not shift the time by it.
    fn zone(&mut self) -> Option<()> {
        self.skip_space();
        if let Some(rest) = self.rest.strip_prefix('Z') {
            self.rest = rest;
            return Some(());
        }
        self.rest = self.rest.strip_prefix(['+', '-'])?;
        self.number(0, 99, 2)?;
        let minutes = self.rest.strip_prefix(':').unwrap_or(self.rest);
        if minutes.starts_with(|char: char| char.is_ascii_digit()) {
            self.rest = minutes;
            self.number(0, 59, 2)?;
        }
        Some(())
    }
}
