//! Statements with PostgreSQL's names of parameters: `?3` and `:name` become `$1`, `$2`, in the order of their places.

use super::value::Param;
use crate::sql::{Bindings, Error, Result};

/// A parameter of the SQL that owners write.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Slot {
    /// From 1.
    Number(usize),
    /// With its colon.
    Name(String),
}

/// A statement for PostgreSQL.
#[derive(Debug)]
pub(super) struct Translated {
    pub(super) text: String,
    slots: Vec<Slot>,
}

impl Translated {
    pub(super) fn new(sql: &str) -> Self {
        let (mut text, mut slots) = (String::with_capacity(sql.len() + 8), Vec::new());
        let mut rest = sql;
        while let Some(at) = rest.find(['?', ':', '\'', '-']) {
            let (before, from) = rest.split_at(at);
            text.push_str(before);
            let (taken, slot) = token(from);
            let (token, after) = from.split_at(taken);
            if let Some(slot) = slot {
                let known = slots.iter().position(|it| *it == slot);
                let number = known.unwrap_or_else(|| {
                    slots.push(slot);
                    slots.len() - 1
                });
                text.push_str(&format!("${}", number + 1));
            } else {
                text.push_str(token);
            }
            rest = after;
        }
        text.push_str(rest);
        Self { text, slots }
    }

    /// Returns the values in the order of PostgreSQL's numbers.
    pub(super) fn params<'a>(&self, values: Bindings<'a>) -> Result<Vec<Param<'a>>> {
        let missing = |slot: &Slot| Error::Unstorable(format!("{slot:?} has no value").into());
        let value = |slot: &Slot| match (values, slot) {
            (Bindings::Positional(values), Slot::Number(number)) => {
                values.get(number.checked_sub(1)?).copied()
            }
            (Bindings::Named(values), Slot::Name(name)) => {
                let mut values = values.iter();
                values.find(|(it, _)| it == name).map(|(_, value)| *value)
            }
            (Bindings::Positional(_), Slot::Name(_)) | (Bindings::Named(_), Slot::Number(_)) => {
                None
            }
        };
        let params = self.slots.iter();
        params
            .map(|slot| value(slot).map(Param).ok_or_else(|| missing(slot)))
            .collect()
    }
}

/// Returns the bytes of the token at the beginning of a text, and the parameter that it is.
fn token(text: &str) -> (usize, Option<Slot>) {
    let count = |of: fn(char) -> bool| {
        let after = text.get(1..).unwrap_or_default();
        after.len() - after.trim_start_matches(of).len()
    };
    let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.starts_with('?') {
        let digits = count(|c| c.is_ascii_digit());
        let number = text.get(1..=digits).and_then(|digits| digits.parse().ok());
        return (1 + digits, number.map(Slot::Number));
    }
    if text.starts_with("::") {
        return (2, None);
    }
    if text.starts_with(':') {
        let letters = count(name);
        let is_name = letters > 0;
        let slot = is_name.then(|| text.get(..=letters).map(|it| Slot::Name(it.to_owned())));
        return (1 + letters, slot.flatten());
    }
    if text.starts_with("--") {
        return (text.find('\n').unwrap_or(text.len()), None);
    }
    if text.starts_with('\'') {
        let end = text.get(1..).and_then(|after| after.find('\''));
        return (end.map_or(text.len(), |end| end + 2), None);
    }
    (1, None)
}
