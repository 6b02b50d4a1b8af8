//! Numbers: doubles, and the literals of documents with more digits than a double has.

use std::cmp::Ordering;
use std::rc::Rc;

use crate::value::Val;

/// A number as it was written.
#[derive(Debug)]
pub struct Literal {
    /// As jq prints it.
    text: Box<str>,
    value: f64,
}

impl Literal {
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn value(&self) -> f64 {
        self.value
    }

    /// Compares all digits.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        if let (Some(a), Some(b)) = (Decimal::parse(&self.text), Decimal::parse(&other.text)) {
            return a.compare(&b);
        }
        self.value
            .partial_cmp(&other.value)
            .unwrap_or(Ordering::Less)
    }
}

/// Sign, digits without leading zeros, and the exponent of the last digit.
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

/// The largest exponent that jq keeps; beyond it a number is infinite, or zero.
const MAX_EXPONENT: i64 = 999_999_999;

impl Decimal {
    fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, text.get(1..)?),
            b'+' => (false, text.get(1..)?),
            _ => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, Some(exponent)),
            None => (rest, None),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !all_digits(whole) || !all_digits(fraction) {
            return None;
        }
        let exponent = exponent.map_or(Some(0), parse_exponent)?;
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        Some(Self {
            negative,
            digits: if significant.is_empty() {
                "0"
            } else {
                significant
            }
            .to_owned(),
            exponent: exponent - fraction.len() as i64,
        })
    }

    fn is_zero(&self) -> bool {
        self.digits == "0"
    }

    /// The exponent of the first digit.
    fn magnitude(&self) -> i64 {
        self.exponent + self.digits.len() as i64 - 1
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => return Ordering::Equal,
            (true, false) => {
                return if other.negative {
                    Ordering::Greater
                } else {
                    Ordering::Less
                };
            }
            (false, true) => {
                return if self.negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                };
            }
            (false, false) => {}
        }
        if self.negative != other.negative {
            return other.negative.cmp(&self.negative);
        }
        let trim = |decimal: &Self| decimal.digits.trim_end_matches('0').to_owned();
        let order = self
            .magnitude()
            .cmp(&other.magnitude())
            .then_with(|| trim(self).cmp(&trim(other)));
        if self.negative {
            order.reverse()
        } else {
            order
        }
    }

    /// Plain digits where that is short, else with an exponent.
    fn print(&self) -> String {
        let magnitude = self.magnitude();
        let sign = if self.negative { "-" } else { "" };
        if self.exponent <= 0 && magnitude >= -6 {
            let digits = with_point(&self.digits, self.digits.len() as i64 + self.exponent);
            return format!("{sign}{digits}");
        }
        let (first, rest) = self
            .digits
            .split_at_checked(1)
            .unwrap_or((&self.digits, ""));
        let point = if rest.is_empty() { "" } else { "." };
        let plus = if magnitude < 0 { "" } else { "+" };
        format!("{sign}{first}{point}{rest}E{plus}{magnitude}")
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent = digits.parse().unwrap_or(i64::MAX).min(10 * MAX_EXPONENT);
    Some(if text.starts_with('-') {
        -exponent
    } else {
        exponent
    })
}

/// Digits with a point before the one at `place`, and the zeros that this needs.
fn with_point(digits: &str, place: i64) -> String {
    if place <= 0 {
        return format!("0.{}{digits}", "0".repeat(place.unsigned_abs() as usize));
    }
    let place = place as usize;
    match digits.split_at_checked(place) {
        Some((whole, "")) => whole.to_owned(),
        Some((whole, fraction)) => format!("{whole}.{fraction}"),
        None => format!("{digits}{}", "0".repeat(place - digits.len())),
    }
}

/// Digits that a double always gives back.
const EXACT_DIGITS: usize = 15;

/// Parses a number as jq reads it: as of JSON, and `nan`, `infinity`, `+1`, `.5`, `5.`, `007`.
#[must_use]
pub fn parse(text: &str) -> Option<Val> {
    if let Some(number) = parse_short(text.as_bytes()) {
        return Some(Val::Num(number));
    }
    let Some(decimal) = Decimal::parse(text) else {
        return parse_special(text);
    };
    if decimal.magnitude() > MAX_EXPONENT && !decimal.is_zero() {
        return Some(Val::Num(if decimal.negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }));
    }
    let value: f64 = text.parse().ok()?;
    let printed = decimal.print();
    // Beyond these, several literals are one double.
    if decimal.digits.len() <= EXACT_DIGITS && printed == print(value) {
        return Some(Val::Num(value));
    }
    Some(Val::Lit(Rc::new(Literal {
        text: printed.into(),
        value,
    })))
}

/// Parses an integer of at most 15 digits, which are also what it prints.
fn parse_short(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || digits.len() > 15 || (digits.len() > 1 && digits.first() == Some(&b'0'))
    {
        return None;
    }
    let mut number = 0_i64;
    for digit in digits {
        number = number * 10 + i64::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    Some(if negative {
        -(number as f64)
    } else {
        number as f64
    })
}

fn parse_special(text: &str) -> Option<Val> {
    let (negative, rest) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let lower = rest.to_ascii_lowercase();
    if lower == "inf" || lower == "infinity" {
        return Some(Val::Num(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        }));
    }
    let payload = lower
        .strip_prefix("snan")
        .or_else(|| lower.strip_prefix("nan"))?;
    payload
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(Val::Num(f64::NAN))
}

/// Prints a double with the fewest digits that give it back. NaN is `null`, the infinities are the largest numbers.
pub(crate) fn print(number: f64) -> String {
    if number.is_nan() {
        return "null".to_owned();
    }
    if number.fract() == 0.0 && number.abs() < 1e15 {
        let sign = if number == 0.0 && number.is_sign_negative() {
            "-"
        } else {
            ""
        };
        return format!("{sign}{}", number as i64);
    }
    let number = number.clamp(-f64::MAX, f64::MAX);
    let short = format!("{number:e}");
    let (mantissa, exponent) = short.split_once('e').unwrap_or((&short, "0"));
    let exponent: i64 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    let place = exponent + 1;
    if place <= -4 || place > digits.len() as i64 + 15 {
        let exponent_sign = if exponent < 0 { '-' } else { '+' };
        return format!("{sign}{mantissa}e{exponent_sign}{:02}", exponent.abs());
    }
    format!("{sign}{}", with_point(&digits, place))
}
