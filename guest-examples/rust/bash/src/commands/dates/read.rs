//! Texts of moments, as GNU's `parse_datetime` reads them: `yesterday`, `next monday`, `2024-01-31 +3 days`.

use super::words::{Unit, meridian, month, ordinal, twelve, unit, weekday, year, zone_name};
use super::{Civil, Moment, Zone};

/// Returns the moment of a text, or `None` if it is none.
pub(crate) fn read(text: &str, now: Moment, zone: &Zone) -> Option<Moment> {
    let trimmed = text.trim();
    if let Some(inner) = trimmed.strip_prefix("TZ=\"") {
        let (name, rest) = inner.split_once('"')?;
        return read(rest, now, &Zone::of(Some(name)));
    }
    if let Some(number) = trimmed.strip_prefix('@') {
        return of_epoch(number);
    }
    let tokens = tokens(trimmed)?;
    let mut reader = Reader {
        tokens: &tokens,
        at: 0,
        found: Found::default(),
        zone,
    };
    while reader.at < tokens.len() {
        reader.item()?;
    }
    reader.found.moment(now, zone)
}

fn of_epoch(number: &str) -> Option<Moment> {
    let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
    let seconds: i64 = whole.parse().ok()?;
    let nanos = nanos(fraction)?;
    Some(if whole.starts_with('-') && nanos > 0 {
        Moment {
            seconds: seconds - 1,
            nanos: 1_000_000_000 - nanos,
        }
    } else {
        Moment { seconds, nanos }
    })
}

fn nanos(fraction: &str) -> Option<u32> {
    let digits: String = fraction
        .chars()
        .chain("000000000".chars())
        .take(9)
        .collect();
    digits.parse().ok()
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    /// Digits, and what follows a point.
    Number(String, String),
    /// `+3`, `-07`
    Signed(i64, String),
    Word(String),
    Mark(char),
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let chars: Vec<char> = text.to_lowercase().chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    let digits = |at: &mut usize| {
        let rest = chars.get(*at..).unwrap_or_default();
        let digits: String = rest
            .iter()
            .take_while(|char| char.is_ascii_digit())
            .collect();
        *at += digits.len();
        digits
    };
    while let Some(char) = chars.get(at).copied() {
        if char.is_whitespace() || char == ',' {
            at += 1;
        } else if char == '(' {
            while chars.get(at).is_some_and(|char| *char != ')') {
                at += 1;
            }
            at += 1;
        } else if char.is_ascii_digit() {
            let number = digits(&mut at);
            let mut fraction = String::new();
            let is_point = matches!(chars.get(at), Some('.' | ','));
            if is_point && chars.get(at + 1).is_some_and(char::is_ascii_digit) {
                at += 1;
                fraction = digits(&mut at);
            }
            tokens.push(Token::Number(number, fraction));
        } else if matches!(char, '+' | '-') {
            let mut next = at + 1;
            while chars.get(next).is_some_and(|char| char.is_whitespace()) {
                next += 1;
            }
            if chars.get(next).is_some_and(char::is_ascii_digit) {
                at = next;
                let number = digits(&mut at);
                let value: i64 = number.parse().ok()?;
                tokens.push(Token::Signed(
                    if char == '-' { -value } else { value },
                    number,
                ));
            } else {
                tokens.push(Token::Mark(char));
                at += 1;
            }
        } else if char.is_alphabetic() {
            let mut word = String::new();
            while let Some(char) = chars
                .get(at)
                .filter(|char| char.is_alphabetic() || **char == '.')
            {
                if *char != '.' {
                    word.push(*char);
                }
                at += 1;
            }
            tokens.push(Token::Word(word));
        } else if matches!(char, ':' | '/') {
            tokens.push(Token::Mark(char));
            at += 1;
        } else {
            return None;
        }
    }
    Some(tokens)
}

/// What the items of a text say.
#[derive(Default)]
struct Found {
    date: Option<(Option<i64>, i64, i64)>,
    time: Option<(i64, i64, i64, u32)>,
    /// Seconds east of Greenwich.
    zone: Option<i64>,
    /// Ordinal and day of the week.
    day: Option<(i64, i64)>,
    is_relative: bool,
    years: i64,
    months: i64,
    days: i64,
    seconds: i64,
}

impl Found {
    fn moment(self, now: Moment, zone: &Zone) -> Option<Moment> {
        let fixed = self.zone.map(|offset| Zone::fixed(offset, ""));
        let zone = fixed.as_ref().unwrap_or(zone);
        let today = zone.civil(now.seconds);
        let mut nanos = now.nanos;
        let mut civil = today;
        if let Some((year, month, day)) = self.date {
            (civil.year, civil.month, civil.day) = (year.unwrap_or(today.year), month, day);
        }
        if let Some((hour, minute, second, fraction)) = self.time {
            (civil.hour, civil.minute, civil.second) = (hour, minute, second);
            nanos = fraction;
        } else if self.date.is_some() || self.day.is_some() || !self.is_relative {
            (civil.hour, civil.minute, civil.second, nanos) = (0, 0, 0, 0);
        }
        // February has no 30th.
        if Civil::of(civil.seconds()) != civil {
            return None;
        }
        if let (Some((ordinal, weekday)), None) = (self.day, self.date) {
            let today = civil.weekday();
            let weeks = ordinal - i64::from(ordinal > 0 && today != weekday);
            civil.day += (weekday - today + 7) % 7 + 7 * weeks;
        }
        civil.year += self.years;
        civil.month += self.months;
        civil.day += self.days;
        let civil = Civil::of(civil.seconds());
        let seconds = zone.seconds(&civil);
        // No clock shows an hour that summer time skips.
        if zone.civil(seconds) != civil {
            return None;
        }
        let seconds = seconds.checked_add(self.seconds)?;
        Some(Moment { seconds, nanos })
    }
}

struct Reader<'a> {
    tokens: &'a [Token],
    at: usize,
    found: Found,
    zone: &'a Zone,
}

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    fn is_mark(&self, ahead: usize, mark: char) -> bool {
        self.peek(ahead) == Some(&Token::Mark(mark))
    }

    fn number(&self, ahead: usize) -> Option<i64> {
        match self.peek(ahead)? {
            Token::Number(digits, _) => digits.parse().ok(),
            _ => None,
        }
    }

    fn word(&self, ahead: usize) -> Option<&str> {
        match self.peek(ahead)? {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn item(&mut self) -> Option<()> {
        match self.peek(0)?.clone() {
            Token::Number(digits, fraction) => self.of_number(&digits, &fraction),
            Token::Signed(value, _) => {
                self.at += 1;
                self.relative(value)
            }
            Token::Word(word) => self.of_word(&word),
            // A dash between a date and something else means nothing.
            Token::Mark('-') => {
                self.at += 1;
                Some(())
            }
            Token::Mark(_) => None,
        }
    }

    fn of_number(&mut self, digits: &str, fraction: &str) -> Option<()> {
        let value: i64 = digits.parse().ok()?;
        if self.is_mark(1, ':') {
            return self.of_time(value);
        }
        if self.is_mark(1, '/') {
            return self.of_slashes(value, digits.len());
        }
        if let Some(pm) = self.word(1).and_then(meridian) {
            self.at += 2;
            return self.set_time(twelve(value, pm)?, 0, 0, 0);
        }
        // 2024-01-31
        if let (Some(Token::Signed(month, _)), Some(Token::Signed(day, text))) =
            (self.peek(1), self.peek(2))
            && *month <= 0
            && *day <= 0
        {
            // 31-01-2024 is none.
            if text.len() > 2 {
                return None;
            }
            let (month, day) = (-month, -day);
            self.at += 3;
            self.set_date(Some(year(value, digits.len())), month, day)?;
            if self.word(0) == Some("t") {
                self.at += 1;
            }
            return Some(());
        }
        // 31 Jan 2024, 31-Jan-2024
        let dash = usize::from(self.is_mark(1, '-'));
        if let Some(month) = self.word(1 + dash).and_then(month) {
            self.at += 2 + dash;
            let year = self.year_here();
            return self.set_date(year, month, value);
        }
        if !fraction.is_empty() {
            self.at += 1;
            return self.relative(value);
        }
        if let Some(word) = self.word(1)
            && unit(word).is_some()
        {
            self.at += 1;
            return self.relative(value);
        }
        self.at += 1;
        if digits.len() == 4
            && self.found.date.is_some_and(|(year, ..)| year.is_none())
            && self.found.time.is_some()
        {
            let (_, month, day) = self.found.date.take()?;
            return self.set_date(Some(value), month, day);
        }
        if digits.len() > 4 {
            let (year_digits, rest) = digits.split_at(digits.len() - 4);
            let (month, day) = rest.split_at(2);
            let year = year(year_digits.parse().ok()?, year_digits.len());
            self.set_date(Some(year), month.parse().ok()?, day.parse().ok()?)?;
            if self.word(0) == Some("t") {
                self.at += 1;
            }
            return Some(());
        }
        let (hour, minute) = if digits.len() <= 2 {
            (value, 0)
        } else {
            (value / 100, value % 100)
        };
        self.set_time(hour, minute, 0, 0)?;
        self.zone_here()
    }

    fn year_here(&mut self) -> Option<i64> {
        let (value, length) = match self.peek(0)? {
            Token::Number(digits, _) if !self.is_mark(1, ':') => {
                (digits.parse().ok()?, digits.len())
            }
            Token::Signed(value, digits) if *value < 0 => (-value, digits.len()),
            _ => return None,
        };
        let followed = self
            .word(1)
            .is_some_and(|word| unit(word).is_some() || meridian(word).is_some());
        if followed || length < 2 {
            return None;
        }
        self.at += 1;
        Some(year(value, length))
    }

    fn of_time(&mut self, hour: i64) -> Option<()> {
        let minute = self.number(2)?;
        self.at += 3;
        let (mut second, mut nanos) = (0, 0);
        if self.is_mark(0, ':') {
            let Token::Number(digits, fraction) = self.peek(1)? else {
                return None;
            };
            second = digits.parse().ok()?;
            nanos = self::nanos(fraction)?;
            self.at += 2;
        }
        let hour = match self.word(0).and_then(meridian) {
            Some(pm) => {
                self.at += 1;
                twelve(hour, pm)?
            }
            None => hour,
        };
        self.set_time(hour, minute, second, nanos)?;
        self.zone_here()
    }

    /// Reads `+09:00` after a time.
    fn zone_here(&mut self) -> Option<()> {
        let Some(Token::Signed(value, digits)) = self.peek(0) else {
            return Some(());
        };
        let (sign, value, length) = (value.signum(), value.abs(), digits.len());
        let negative = matches!(self.peek(0), Some(Token::Signed(value, _)) if *value < 0);
        let sign = if negative { -1 } else { sign.abs() };
        self.at += 1;
        let (hours, minutes) = if self.is_mark(0, ':') {
            let minutes = self.number(1)?;
            self.at += 2;
            (value, minutes)
        } else if length <= 2 {
            (value, 0)
        } else {
            (value / 100, value % 100)
        };
        if hours > 24 || minutes > 59 {
            return None;
        }
        self.set_zone(sign * (hours * 3600 + minutes * 60))
    }

    fn of_slashes(&mut self, first: i64, length: usize) -> Option<()> {
        let second = self.number(2)?;
        if length >= 4 {
            let third = if self.is_mark(3, '/') {
                self.number(4)?
            } else {
                return None;
            };
            self.at += 5;
            return self.set_date(Some(first), second, third);
        }
        if self.is_mark(3, '/') {
            let Some(Token::Number(digits, _)) = self.peek(4) else {
                return None;
            };
            let third = year(digits.parse().ok()?, digits.len());
            self.at += 5;
            return self.set_date(Some(third), first, second);
        }
        self.at += 3;
        self.set_date(None, first, second)
    }

    fn of_word(&mut self, word: &str) -> Option<()> {
        self.at += 1;
        match word {
            "now" | "today" => {
                self.found.is_relative = true;
                return Some(());
            }
            "yesterday" | "tomorrow" => {
                self.found.is_relative = true;
                self.found.days += if word == "tomorrow" { 1 } else { -1 };
                return Some(());
            }
            "t" if self.found.date.is_some() => return Some(()),
            _ => {}
        }
        if let Some(month) = month(word) {
            // Jan 31, 2024; Jan-31-2024
            let day = match self.peek(0)? {
                Token::Number(digits, _) if !self.is_mark(1, ':') => digits.parse().ok()?,
                Token::Signed(value, _) if *value < 0 => -value,
                _ => return None,
            };
            self.at += 1;
            let year = self.year_here();
            return self.set_date(year, month, day);
        }
        if let Some(weekday) = weekday(word) {
            return self.set_day(0, weekday);
        }
        if let Some(ordinal) = ordinal(word) {
            let next = self.word(0)?.to_owned();
            if let Some(weekday) = weekday(&next) {
                self.at += 1;
                return self.set_day(ordinal, weekday);
            }
            return self.relative(ordinal);
        }
        if unit(word).is_some() {
            self.at -= 1;
            return self.relative(1);
        }
        let local = |kind: &super::zone::Kind| kind.name.eq_ignore_ascii_case(word);
        let january = self.zone.kind(0);
        let offset = match zone_name(word) {
            _ if local(january) => Some(january.offset),
            offset => offset,
        }?;
        self.set_zone(offset)?;
        if word == "utc" || word == "gmt" {
            if let (Some(Token::Signed(..)), None) = (self.peek(0), self.word(1).and_then(unit)) {
                self.found.zone = None;
                return self.zone_here();
            }
        } else if self.word(0) == Some("dst") {
            self.at += 1;
            self.found.zone = Some(offset + 3600);
        }
        Some(())
    }

    /// Reads a unit, and `ago` after it.
    fn relative(&mut self, amount: i64) -> Option<()> {
        let (kind, times) = unit(self.word(0)?)?;
        self.at += 1;
        let mut amount = amount.checked_mul(times)?;
        if self.word(0) == Some("ago") {
            self.at += 1;
            amount = -amount;
        }
        self.found.is_relative = true;
        let sum = match kind {
            Unit::Year => &mut self.found.years,
            Unit::Month => &mut self.found.months,
            Unit::Day => &mut self.found.days,
            Unit::Second => &mut self.found.seconds,
        };
        *sum = sum.checked_add(amount)?;
        Some(())
    }

    fn set_date(&mut self, year: Option<i64>, month: i64, day: i64) -> Option<()> {
        let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
        (is_date && self.found.date.is_none()).then(|| self.found.date = Some((year, month, day)))
    }

    fn set_time(&mut self, hour: i64, minute: i64, second: i64, nanos: u32) -> Option<()> {
        let is_time = hour <= 23 && minute <= 59 && second <= 60;
        (is_time && self.found.time.is_none())
            .then(|| self.found.time = Some((hour, minute, second, nanos)))
    }

    fn set_zone(&mut self, offset: i64) -> Option<()> {
        self.found
            .zone
            .is_none()
            .then(|| self.found.zone = Some(offset))
    }

    fn set_day(&mut self, ordinal: i64, weekday: i64) -> Option<()> {
        self.found
            .day
            .is_none()
            .then(|| self.found.day = Some((ordinal, weekday)))
    }
}
