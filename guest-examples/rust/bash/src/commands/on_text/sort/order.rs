//! How two keys are compared.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::commands::call::Failure;
use crate::commands::on_text::versions;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Text,
    Numeric,
    General,
    Human,
    Month,
    Version,
    Random,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Order {
    kind: Kind,
    /// The letters of kinds that exclude each other.
    conflict: bool,
    reversed: bool,
    folds: bool,
    dictionary: bool,
    printing: bool,
    pub(super) skips_blanks: bool,
}

impl Order {
    /// Takes an option's letter, or returns `false` if there is none of that name.
    pub(super) fn set(&mut self, letter: char) -> bool {
        let kind = match letter {
            'n' => Kind::Numeric,
            'g' => Kind::General,
            'h' => Kind::Human,
            'M' => Kind::Month,
            'V' => Kind::Version,
            'R' => Kind::Random,
            _ => {
                match letter {
                    'b' => self.skips_blanks = true,
                    'd' => self.dictionary = true,
                    'f' => self.folds = true,
                    'i' => self.printing = true,
                    'r' => self.reversed = true,
                    _ => return false,
                }
                return true;
            }
        };
        self.conflict |= self.kind != Kind::Text && self.kind != kind;
        self.kind = kind;
        true
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.conflict {
            return Err(Failure::usage(
                "options of different orders are incompatible",
            ));
        }
        Ok(())
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }

    pub(super) fn is_reversed(&self) -> bool {
        self.reversed
    }

    /// Whether bytes are compared as they are, or all of them reversed.
    pub(super) fn is_plain(&self) -> bool {
        let reversed = self.reversed;
        *self
            == Self {
                reversed,
                ..Self::default()
            }
    }

    pub(super) fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        let order = match self.kind {
            Kind::Text if self.folds || self.dictionary || self.printing => {
                self.text(one).cmp(self.text(other))
            }
            Kind::Text => one.cmp(other),
            Kind::Numeric => Number::read(one).compare(&Number::read(other)),
            Kind::General => general(one)
                .partial_cmp(&general(other))
                .unwrap_or(Ordering::Equal),
            Kind::Human => human(one, other),
            Kind::Month => month(one).cmp(&month(other)),
            Kind::Version => versions::compare(one, other),
            Kind::Random => random(one).cmp(&random(other)),
        };
        if self.reversed {
            order.reverse()
        } else {
            order
        }
    }

    fn text<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = u8> + 'a {
        let Self {
            folds,
            dictionary,
            printing,
            ..
        } = *self;
        let kept = bytes.iter().copied().filter(move |byte| {
            (!dictionary || byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'\t'))
                && (!printing || (0x20..0x7F).contains(byte))
        });
        kept.map(move |byte| {
            if folds {
                byte.to_ascii_uppercase()
            } else {
                byte
            }
        })
    }
}

/// A number of any length, as `-n` reads it.
struct Number<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    rest: &'a [u8],
}

impl<'a> Number<'a> {
    fn read(text: &'a [u8]) -> Self {
        let text = text.trim_ascii_start();
        let (negative, text) = match text.strip_prefix(b"-") {
            Some(text) => (true, text),
            None => (false, text),
        };
        let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (whole, rest) = text.split_at(digits(text));
        let (fraction, rest) = match rest.strip_prefix(b".") {
            Some(rest) => rest.split_at(digits(rest)),
            None => (&[] as &[u8], rest),
        };
        let zeros = whole.iter().take_while(|byte| **byte == b'0').count();
        let ending = fraction
            .iter()
            .rev()
            .take_while(|byte| **byte == b'0')
            .count();
        let whole = whole.get(zeros..).unwrap_or_default();
        let fraction = fraction.get(..fraction.len() - ending).unwrap_or_default();
        Self {
            negative: negative && !(whole.is_empty() && fraction.is_empty()),
            whole,
            fraction,
            rest,
        }
    }

    fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    fn compare(&self, other: &Self) -> Ordering {
        if self.negative != other.negative {
            return if self.negative {
                Ordering::Less
            } else {
                Ordering::Greater
            };
        }
        let sizes = self.whole.len().cmp(&other.whole.len());
        let order = sizes
            .then_with(|| self.whole.cmp(other.whole))
            .then_with(|| self.fraction.cmp(other.fraction));
        if self.negative {
            order.reverse()
        } else {
            order
        }
    }
}

fn human(one: &[u8], other: &[u8]) -> Ordering {
    let (one, other) = (Number::read(one), Number::read(other));
    let rank = |number: &Number| {
        let suffix = number.rest.first().copied().unwrap_or(0);
        let order = b"KMGTPEZYRQ".iter().position(|unit| *unit == suffix);
        let order = order.or_else(|| (suffix == b'k').then_some(0));
        let order = order.map_or(0, |order| i32::try_from(order).unwrap_or(0) + 1);
        let order = if number.is_zero() { 0 } else { order };
        if number.negative { -order } else { order }
    };
    match (one.negative, other.negative) {
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        _ => rank(&one)
            .cmp(&rank(&other))
            .then_with(|| one.compare(&other)),
    }
}

/// Texts that are no number come first, then those that are not comparable.
fn general(text: &[u8]) -> (u8, f64) {
    let text = text.trim_ascii_start();
    let text = String::from_utf8_lossy(text);
    let lower = text.to_ascii_lowercase();
    let unsigned = lower.trim_start_matches(['+', '-']);
    if unsigned.starts_with("nan") {
        return (1, 0.0);
    }
    if unsigned.starts_with("inf") {
        let infinity = if lower.starts_with('-') {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        };
        return (2, infinity);
    }
    if let Some(digits) = unsigned.strip_prefix("0x") {
        let end = digits
            .find(|char: char| !char.is_ascii_hexdigit())
            .unwrap_or(digits.len());
        let value = digits
            .get(..end)
            .and_then(|digits| u64::from_str_radix(digits, 16).ok());
        #[expect(
            clippy::cast_precision_loss,
            reason = "the order of large numbers is that of the nearest"
        )]
        let value = value.unwrap_or(0) as f64;
        return (
            2,
            if lower.starts_with('-') {
                -value
            } else {
                value
            },
        );
    }
    let mut end = 0;
    let mut best = None;
    for (at, char) in lower.char_indices() {
        if !(char.is_ascii_digit() || matches!(char, '+' | '-' | '.' | 'e')) {
            break;
        }
        end = at + 1;
        if let Some(value) = lower.get(..end).and_then(|text| text.parse::<f64>().ok()) {
            best = Some(value);
        }
    }
    let _ = end;
    best.map_or((0, 0.0), |value| (2, value))
}

fn month(text: &[u8]) -> usize {
    let names = [
        b"JAN", b"FEB", b"MAR", b"APR", b"MAY", b"JUN", b"JUL", b"AUG", b"SEP", b"OCT", b"NOV",
        b"DEC",
    ];
    let text = text.trim_ascii_start();
    let start = text.get(..3).unwrap_or_default().to_ascii_uppercase();
    names
        .iter()
        .position(|name| name.as_slice() == start)
        .map_or(0, |index| index + 1)
}

fn random(text: &[u8]) -> u64 {
    static STATE: OnceLock<RandomState> = OnceLock::new();
    STATE.get_or_init(RandomState::new).hash_one(text)
}
