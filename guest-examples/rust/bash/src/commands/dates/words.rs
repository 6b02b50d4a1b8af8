//! Words in texts of moments.

/// A year of two digits is one of 1969 to 2068.
pub(super) fn year(value: i64, digits: usize) -> i64 {
    match value {
        0..=68 if digits <= 2 => value + 2000,
        69..=99 if digits <= 2 => value + 1900,
        _ => value,
    }
}

pub(super) fn meridian(word: &str) -> Option<bool> {
    match word {
        "am" => Some(false),
        "pm" => Some(true),
        _ => None,
    }
}

pub(super) fn twelve(hour: i64, pm: bool) -> Option<i64> {
    (1..=12)
        .contains(&hour)
        .then_some(hour % 12 + if pm { 12 } else { 0 })
}

#[derive(Clone, Copy)]
pub(super) enum Unit {
    Year,
    Month,
    Day,
    Second,
}

pub(super) fn unit(word: &str) -> Option<(Unit, i64)> {
    Some(match word.strip_suffix('s').unwrap_or(word) {
        "year" => (Unit::Year, 1),
        "month" => (Unit::Month, 1),
        "fortnight" => (Unit::Day, 14),
        "week" => (Unit::Day, 7),
        "day" => (Unit::Day, 1),
        "hour" => (Unit::Second, 3600),
        "minute" | "min" => (Unit::Second, 60),
        "second" | "sec" => (Unit::Second, 1),
        _ => return None,
    })
}

pub(super) fn ordinal(word: &str) -> Option<i64> {
    Some(match word {
        "last" => -1,
        "this" => 0,
        "next" | "first" => 1,
        "third" => 3,
        "fourth" => 4,
        "fifth" => 5,
        "sixth" => 6,
        "seventh" => 7,
        "eighth" => 8,
        "ninth" => 9,
        "tenth" => 10,
        "eleventh" => 11,
        "twelfth" => 12,
        _ => return None,
    })
}

pub(super) fn month(word: &str) -> Option<i64> {
    let names = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    named(&names, word, "sept").map(|index| index + 1)
}

pub(super) fn weekday(word: &str) -> Option<i64> {
    let names = [
        "sunday",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
    ];
    match word {
        "tues" => Some(2),
        "wednes" => Some(3),
        "thur" | "thurs" => Some(4),
        word => named(&names, word, ""),
    }
}

fn named(names: &[&str], word: &str, also: &str) -> Option<i64> {
    let is = |name: &&str| {
        *name == word
            || name.get(..3) == Some(word)
            || !also.is_empty() && also == word && name.starts_with(also)
    };
    names
        .iter()
        .position(is)
        .and_then(|index| i64::try_from(index).ok())
}

pub(super) fn zone_name(word: &str) -> Option<i64> {
    let half_hours = match word {
        "utc" | "gmt" | "ut" | "wet" | "z" => 0,
        "west" | "bst" | "cet" | "met" => 2,
        "cest" | "mest" | "eet" | "sast" => 4,
        "eest" | "eat" | "msk" => 6,
        "msd" => 8,
        "ist" => 11,
        "sgt" => 16,
        "jst" => 18,
        "nzst" => 24,
        "nzdt" => 26,
        "ndt" => -5,
        "nst" => -7,
        "brt" | "art" | "adt" => -6,
        "ast" | "clt" | "edt" => -8,
        "est" | "cdt" => -10,
        "cst" | "mdt" => -12,
        "mst" | "pdt" => -14,
        "pst" | "akdt" => -16,
        "akst" => -18,
        "hst" => -20,
        _ => return None,
    };
    Some(half_hours * 1800)
}
