//! `strptime`.

use super::calendar::{DAYS, MONTHS, Time, days, short};
use crate::fault::error;
use crate::value::Val;

pub(super) fn parse(text: &str, pattern: &str) -> Result<Val, Val> {
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
