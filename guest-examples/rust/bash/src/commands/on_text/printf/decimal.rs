//! Floating-point numbers as C's `long double` has them: 64 bits, and exact decimals of those.

use num_bigint::BigUint;

/// Bits of the mantissa.
const BITS: u64 = 64;

/// Beyond this power of ten, or below its opposite, a number counts as infinite or zero: so its digits stay few.
const MOST_EXPONENT: i64 = 4900;

pub(super) struct Number {
    is_negative: bool,
    value: Value,
}

enum Value {
    /// Mantissa and power of two.
    Finite(BigUint, i64),
    Infinite,
    NotANumber,
}

impl Number {
    /// Reads an argument, and tells whether all of it is a number.
    pub(super) fn read(arg: &str) -> (Self, bool) {
        if let Some(text) = arg.strip_prefix(['\'', '"']) {
            let code = text.chars().next().map_or(0, u32::from);
            return (Self::finite(false, BigUint::from(code), 0), true);
        }
        let text = arg.trim_start();
        let (is_negative, text) = match text.strip_prefix(['-', '+']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        };
        let lower = text.to_ascii_lowercase();
        for (word, is_number) in [("infinity", true), ("inf", true), ("nan", false)] {
            if let Some(rest) = lower.strip_prefix(word) {
                let value = if is_number {
                    Value::Infinite
                } else {
                    Value::NotANumber
                };
                return (Self { is_negative, value }, rest.is_empty());
            }
        }
        if let Some(hex) = lower.strip_prefix("0x")
            && hex.starts_with(|char: char| char.is_ascii_hexdigit() || char == '.')
        {
            return Self::hexadecimal(is_negative, hex);
        }
        let (digits, places, rest) = mantissa(text, 10);
        let (exponent, rest) = exponent(rest, ['e', 'E']);
        let is_whole = rest.is_empty() && (!digits.is_empty() || arg.is_empty());
        let significand = digits.trim_start_matches('0');
        let exponent = exponent.saturating_sub(places);
        let size = exponent.saturating_add(i64::try_from(significand.len()).unwrap_or(i64::MAX));
        if significand.is_empty() || size < -MOST_EXPONENT {
            return (Self::finite(is_negative, BigUint::ZERO, 0), is_whole);
        }
        if size > MOST_EXPONENT {
            let value = Value::Infinite;
            return (Self { is_negative, value }, is_whole);
        }
        let number = significand.parse().unwrap_or_default();
        let (mantissa, power) = binary(number, exponent);
        (Self::finite(is_negative, mantissa, power), is_whole)
    }

    fn hexadecimal(is_negative: bool, text: &str) -> (Self, bool) {
        let (digits, places, rest) = mantissa(text, 16);
        let (exponent, rest) = exponent(rest, ['p', 'P']);
        let number = BigUint::parse_bytes(digits.as_bytes(), 16).unwrap_or_default();
        let power = exponent
            .clamp(-16_000, 16_000)
            .saturating_sub(places.saturating_mul(4));
        let (mantissa, power) = rounded(number, power, false);
        (Self::finite(is_negative, mantissa, power), rest.is_empty())
    }

    fn finite(is_negative: bool, mantissa: BigUint, power: i64) -> Self {
        let value = Value::Finite(mantissa, power);
        Self { is_negative, value }
    }

    pub(super) fn is_negative(&self) -> bool {
        self.is_negative
    }

    pub(super) fn is_finite(&self) -> bool {
        matches!(self.value, Value::Finite(..))
    }

    /// The text without a sign.
    pub(super) fn format(&self, kind: char, precision: Option<usize>, alternate: bool) -> String {
        let text = match &self.value {
            Value::Infinite => "inf".to_owned(),
            Value::NotANumber => "nan".to_owned(),
            Value::Finite(mantissa, power) => {
                if matches!(kind, 'a' | 'A') {
                    hexadecimal(mantissa, *power, precision, alternate)
                } else {
                    let decimal = Decimal::of(mantissa, *power);
                    decimal.format(kind.to_ascii_lowercase(), precision.unwrap_or(6), alternate)
                }
            }
        };
        if kind.is_ascii_uppercase() {
            text.to_ascii_uppercase()
        } else {
            text
        }
    }
}

/// The digits of `12.34`, how many are after the point, and what follows them.
fn mantissa(text: &str, radix: u32) -> (String, i64, &str) {
    let mut digits = String::new();
    let mut places = 0;
    let mut has_point = false;
    let mut end = 0;
    for char in text.chars() {
        if char.is_digit(radix) {
            digits.push(char);
            places += i64::from(has_point);
        } else if char == '.' && !has_point {
            has_point = true;
        } else {
            break;
        }
        end += 1;
    }
    if digits.is_empty() {
        end = 0;
    }
    (digits, places, text.get(end..).unwrap_or_default())
}

/// The value of `e-5`, and what follows it.
fn exponent(text: &str, marks: [char; 2]) -> (i64, &str) {
    let Some(exponent) = text.strip_prefix(marks) else {
        return (0, text);
    };
    let (sign, digits) = match exponent.strip_prefix(['-', '+']) {
        Some(digits) if exponent.starts_with('-') => (-1, digits),
        Some(digits) => (1, digits),
        None => (1, exponent),
    };
    let end = digits.find(|char: char| !char.is_ascii_digit());
    let (digits, rest) = digits.split_at(end.unwrap_or(digits.len()));
    if digits.is_empty() {
        return (0, text);
    }
    (sign * digits.parse().unwrap_or(i64::from(i32::MAX)), rest)
}

/// `number · 10^exponent` as a mantissa and a power of two.
fn binary(number: BigUint, exponent: i64) -> (BigUint, i64) {
    let ten = |power: i64| BigUint::from(10_u8).pow(u32::try_from(power).unwrap_or(0));
    if exponent >= 0 {
        return rounded(number * ten(exponent), 0, false);
    }
    let divisor = ten(-exponent);
    let shift = (divisor.bits() + BITS + 2).saturating_sub(number.bits());
    let shifted = number << shift;
    let (quotient, remainder) = (&shifted / &divisor, &shifted % &divisor);
    let power = -i64::try_from(shift).unwrap_or(0);
    rounded(quotient, power, remainder != BigUint::ZERO)
}

/// A mantissa of at most [`BITS`], rounded to the nearest and then to even. `has_more` tells of bits beyond the number.
fn rounded(number: BigUint, power: i64, has_more: bool) -> (BigUint, i64) {
    let surplus = number.bits().saturating_sub(BITS);
    if surplus == 0 {
        return (number, power);
    }
    let mut mantissa = &number >> surplus;
    let rest = &number - (&mantissa << surplus);
    let half = BigUint::from(1_u8) << (surplus - 1);
    let is_up = rest > half || (rest == half && (has_more || mantissa.bit(0)));
    if is_up {
        mantissa += 1_u8;
    }
    (mantissa, power + i64::try_from(surplus).unwrap_or(0))
}

/// Digits, of which some are after the point.
struct Decimal {
    digits: Vec<u8>,
    places: usize,
}

impl Decimal {
    fn of(mantissa: &BigUint, power: i64) -> Self {
        let shift = power.unsigned_abs();
        let (number, places) = if power >= 0 {
            (mantissa << shift, 0)
        } else {
            let places = u32::try_from(shift).unwrap_or(0);
            (mantissa * BigUint::from(5_u8).pow(places), places)
        };
        let digits = number.to_string().into_bytes();
        let places = places as usize;
        // At least one digit before the point.
        let missing = (places + 1).saturating_sub(digits.len());
        let mut all = vec![b'0'; missing];
        all.extend(digits);
        Self {
            digits: all,
            places,
        }
    }

    /// Rounds to a number of digits after the point: to the nearest, and then to even.
    fn fixed(&self, places: usize) -> String {
        let whole = self.digits.len() - self.places;
        let kept = whole + places;
        let mut digits = self.digits.clone();
        if kept < digits.len() {
            let rest = digits.split_off(kept);
            round_up(&mut digits, &rest);
        } else {
            digits.resize(kept, b'0');
        }
        let point = digits.len() - places;
        let text = String::from_utf8(digits).unwrap_or_default();
        let (whole, fraction) = text.split_at(point);
        if places == 0 {
            whole.to_owned()
        } else {
            format!("{whole}.{fraction}")
        }
    }

    /// Digits with one before the point, rounded, and their power of ten.
    fn scientific(&self, places: usize) -> (String, i64) {
        let zeros = self
            .digits
            .iter()
            .take_while(|digit| **digit == b'0')
            .count();
        let significant = self.digits.get(zeros..).unwrap_or_default();
        if significant.is_empty() {
            return ("0".repeat(places + 1), 0);
        }
        let of = |size: usize| i64::try_from(size).unwrap_or(0);
        let mut exponent = of(significant.len()) - 1 - of(self.places);
        let mut digits = significant.to_vec();
        if places + 1 < digits.len() {
            let rest = digits.split_off(places + 1);
            round_up(&mut digits, &rest);
            if digits.len() > places + 1 {
                exponent += 1;
            }
        }
        digits.resize(places + 1, b'0');
        (String::from_utf8(digits).unwrap_or_default(), exponent)
    }

    fn format(&self, kind: char, precision: usize, alternate: bool) -> String {
        let with_point = |mut text: String| {
            if alternate && !text.contains('.') {
                text.push('.');
            }
            text
        };
        match kind {
            'f' => with_point(self.fixed(precision)),
            'e' => {
                let (digits, exponent) = self.scientific(precision);
                format!("{}{}", with_point(pointed(&digits)), power(exponent))
            }
            _ => {
                let precision = precision.max(1);
                let (digits, exponent) = self.scientific(precision - 1);
                let limit = i64::try_from(precision).unwrap_or(i64::MAX);
                let is_fixed = exponent >= -4 && exponent < limit;
                let text = if is_fixed {
                    self.fixed(usize::try_from(limit - 1 - exponent).unwrap_or(0))
                } else {
                    pointed(&digits)
                };
                let text = if alternate {
                    with_point(text)
                } else if text.contains('.') {
                    text.trim_end_matches('0').trim_end_matches('.').to_owned()
                } else {
                    text
                };
                if is_fixed {
                    text
                } else {
                    format!("{text}{}", power(exponent))
                }
            }
        }
    }
}

/// `123` as `1.23`.
fn pointed(digits: &str) -> String {
    match digits.split_at_checked(1) {
        Some((first, rest)) if !rest.is_empty() => format!("{first}.{rest}"),
        _ => digits.to_owned(),
    }
}

fn power(exponent: i64) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

/// Adds one to the last digit if the rest is more than a half of it, or a half and the digit is odd.
fn round_up(digits: &mut Vec<u8>, rest: &[u8]) {
    let is_odd = digits.last().is_some_and(|digit| digit % 2 == 1);
    let is_up = match rest.split_first() {
        Some((b'5', more)) => is_odd || more.iter().any(|digit| *digit != b'0'),
        Some((digit, _)) => *digit > b'5',
        None => false,
    };
    if !is_up {
        return;
    }
    for digit in digits.iter_mut().rev() {
        if *digit < b'9' {
            *digit += 1;
            return;
        }
        *digit = b'0';
    }
    digits.insert(0, b'1');
}

/// `%a`, with a digit of four bits before the point.
fn hexadecimal(
    mantissa: &BigUint,
    power: i64,
    precision: Option<usize>,
    alternate: bool,
) -> String {
    let bits = mantissa.bits();
    if bits == 0 {
        let places = "0".repeat(precision.unwrap_or(0));
        let point = if places.is_empty() && !alternate {
            ""
        } else {
            "."
        };
        return format!("0x0{point}{places}p+0");
    }
    let mut number = mantissa << (BITS - bits.min(BITS));
    let mut power = power - i64::try_from(BITS - bits.min(BITS)).unwrap_or(0);
    if let Some(places) = precision.filter(|places| *places < 15) {
        let dropped = 60 - 4 * places as u64;
        let half = BigUint::from(1_u8) << (dropped - 1);
        let kept = &number >> dropped;
        let rest = &number - (&kept << dropped);
        let is_up = rest > half || (rest == half && kept.bit(0));
        number = (kept + u8::from(is_up)) << dropped;
        if number.bits() > BITS {
            number >>= 4_u8;
            power += 4;
        }
    }
    let digits = format!("{number:016x}");
    let exponent = power + 60;
    let (first, rest) = digits.split_at(1);
    let rest = match precision {
        Some(places) => {
            let shown = rest.get(..places.min(rest.len())).unwrap_or(rest);
            format!("{shown:0<places$}")
        }
        None => rest.trim_end_matches('0').to_owned(),
    };
    let point = if rest.is_empty() && !alternate {
        ""
    } else {
        "."
    };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("0x{first}{point}{rest}p{sign}{}", exponent.unsigned_abs())
}
