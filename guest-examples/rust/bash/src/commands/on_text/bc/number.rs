//! Numbers with a count of decimals, as POSIX has them for `bc`: results are cut off, never rounded.

use std::cmp::Ordering;

use num_bigint::{BigInt, Sign};

/// `units` × 10^-`scale`
#[derive(Clone, Debug)]
pub(super) struct Number {
    pub(super) units: BigInt,
    pub(super) scale: usize,
}

pub(super) fn ten(power: usize) -> BigInt {
    BigInt::from(10).pow(u32::try_from(power).unwrap_or(u32::MAX))
}

impl Number {
    pub(super) fn of(value: i64) -> Self {
        Self {
            units: BigInt::from(value),
            scale: 0,
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.units.sign() == Sign::NoSign
    }

    /// The same number with more decimals, or with fewer, cut off.
    pub(super) fn at(&self, scale: usize) -> BigInt {
        if scale >= self.scale {
            &self.units * ten(scale - self.scale)
        } else {
            &self.units / ten(self.scale - scale)
        }
    }

    pub(super) fn cut(&self, scale: usize) -> Self {
        if scale >= self.scale {
            self.clone()
        } else {
            Self {
                units: self.at(scale),
                scale,
            }
        }
    }

    pub(super) fn whole(&self) -> BigInt {
        self.at(0)
    }

    pub(super) fn to_i64(&self) -> Option<i64> {
        self.whole().try_into().ok()
    }

    pub(super) fn add(&self, other: &Self) -> Self {
        let scale = self.scale.max(other.scale);
        Self {
            units: self.at(scale) + other.at(scale),
            scale,
        }
    }

    pub(super) fn negated(&self) -> Self {
        Self {
            units: -&self.units,
            scale: self.scale,
        }
    }

    pub(super) fn multiply(&self, other: &Self, scale: usize) -> Self {
        let full = self.scale + other.scale;
        let product = Self {
            units: &self.units * &other.units,
            scale: full,
        };
        product.cut(full.min(scale.max(self.scale).max(other.scale)))
    }

    pub(super) fn divide(&self, other: &Self, scale: usize) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let units = self.at(self.scale.max(scale + other.scale));
        let from = self.scale.max(scale + other.scale);
        let quotient = Self {
            units: units / &other.units,
            scale: from - other.scale,
        };
        Some(quotient.cut(scale))
    }

    pub(super) fn remainder(&self, other: &Self, scale: usize) -> Option<Self> {
        let quotient = self.divide(other, scale)?;
        let full = Self {
            units: &quotient.units * &other.units,
            scale: quotient.scale + other.scale,
        };
        let rest = self.add(&full.negated());
        let scale = self.scale.max(scale + other.scale);
        Some(Self {
            units: rest.at(scale),
            scale,
        })
    }

    pub(super) fn power(&self, exponent: i64, scale: usize) -> Option<Self> {
        let times = u32::try_from(exponent.unsigned_abs()).ok()?;
        let full = self.scale.checked_mul(usize::try_from(times).ok()?)?;
        // A number of millions of digits takes all of the call's time.
        if self.units.bits().checked_mul(times.into())? > 40_000_000 {
            return None;
        }
        let power = Self {
            units: self.units.pow(times),
            scale: full,
        };
        if exponent < 0 {
            return Self::of(1).divide(&power, scale);
        }
        Some(power.cut(full.min(scale.max(self.scale))))
    }

    pub(super) fn root(&self, scale: usize) -> Option<Self> {
        if self.units.sign() == Sign::Minus {
            return None;
        }
        let scale = scale.max(self.scale);
        Some(Self {
            units: self.at(2 * scale).sqrt(),
            scale,
        })
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let scale = self.scale.max(other.scale);
        self.at(scale).cmp(&other.at(scale))
    }

    /// How many digits are significant.
    pub(super) fn length(&self) -> usize {
        let digits = self.units.magnitude().to_string();
        let digits = if self.is_zero() { 0 } else { digits.len() };
        digits.max(self.scale).max(1)
    }

    /// Reads digits of a base.
    pub(super) fn read(text: &str, base: u32) -> Self {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if base == 10
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'.')
        {
            let units = format!("0{whole}{fraction}").parse().unwrap_or_default();
            return Self {
                units,
                scale: fraction.len(),
            };
        }
        let single = whole.len() + fraction.len() == 1;
        let value = |char: char| {
            let digit = char.to_digit(36).unwrap_or(0);
            BigInt::from(if single { digit } else { digit.min(base - 1) })
        };
        let mut units = BigInt::ZERO;
        for char in whole.chars() {
            units = units * base + value(char);
        }
        if fraction.is_empty() {
            return Self { units, scale: 0 };
        }
        let (mut part, mut divisor) = (BigInt::ZERO, BigInt::from(1));
        for char in fraction.chars() {
            part = part * base + value(char);
            divisor *= base;
        }
        let scale = fraction.len();
        Self {
            units: units * ten(scale) + part * ten(scale) / divisor,
            scale,
        }
    }

    pub(super) fn shown(&self, base: u32) -> String {
        if self.is_zero() {
            return "0".to_owned();
        }
        let sign = if self.units.sign() == Sign::Minus {
            "-"
        } else {
            ""
        };
        let magnitude = BigInt::from(self.units.magnitude().clone());
        let (whole, fraction) = (&magnitude / ten(self.scale), &magnitude % ten(self.scale));
        if base == 10 {
            let whole = if whole.sign() == Sign::NoSign {
                String::new()
            } else {
                whole.to_string()
            };
            if self.scale == 0 {
                return format!("{sign}{whole}");
            }
            let width = self.scale;
            return format!(
                "{sign}{whole}.{fraction:0>width$}",
                fraction = fraction.to_string()
            );
        }
        let digit = |value: u32| -> String {
            if base <= 16 {
                return char::from_digit(value, 16)
                    .unwrap_or('?')
                    .to_ascii_uppercase()
                    .to_string();
            }
            let width = (base - 1).to_string().len();
            format!(" {value:0>width$}")
        };
        let mut digits = Vec::new();
        let mut rest = whole;
        while rest.sign() != Sign::NoSign {
            let value: u32 = (&rest % base).try_into().unwrap_or(0);
            digits.push(digit(value));
            rest /= base;
        }
        digits.reverse();
        let mut text = format!("{sign}{}", digits.concat());
        if self.scale > 0 {
            text.push('.');
            let (mut rest, mut written) = (fraction, BigInt::from(1));
            let unit = ten(self.scale);
            // As many digits as hold the decimals.
            while written < unit {
                rest *= base;
                let value: u32 = (&rest / &unit).try_into().unwrap_or(0);
                rest %= &unit;
                text.push_str(&digit(value));
                written *= base;
            }
        }
        text
    }
}

/// The functions of `-l`, on numbers with `scale` decimals.
pub(super) mod functions {
    use super::{BigInt, Number, Sign, ten};

    /// More digits than are asked for: the last ones are not exact.
    const MORE: usize = 16;

    pub(in super::super) fn exponential(x: &Number, scale: usize) -> Number {
        let size = x.whole().magnitude().to_string().len();
        let whole: f64 = x.whole().to_string().parse().unwrap_or(0.0);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "digits of a result that fits memory"
        )]
        let digits = if whole > 0.0 {
            (whole * 0.44) as usize + 2
        } else {
            0
        };
        let precision = scale + MORE + digits.min(100_000) + size;
        let unit = ten(precision);
        let mut halvings = 0;
        let mut small = x.at(precision);
        while small.magnitude() > unit.magnitude() {
            small /= 2;
            halvings += 1;
        }
        let (mut sum, mut term, mut n) = (unit.clone(), unit.clone(), 1_u32);
        while term.sign() != Sign::NoSign {
            term = term * &small / &unit / n;
            sum += &term;
            n += 1;
        }
        for _ in 0..halvings {
            sum = &sum * &sum / &unit;
        }
        Number {
            units: sum,
            scale: precision,
        }
        .cut(scale)
    }

    pub(in super::super) fn logarithm(x: &Number, scale: usize) -> Number {
        if x.units.sign() != Sign::Plus {
            // As GNU's: the least number that it has.
            let units = BigInt::from(1) - ten(scale) * ten(scale);
            return Number { units, scale };
        }
        let precision = scale + MORE + x.length();
        let unit = ten(precision);
        let mut small = x.at(precision);
        let mut factor = BigInt::from(2);
        let (low, high) = (&unit / 2, &unit * 2);
        while small > high || small < low {
            small = (small * &unit).sqrt();
            factor *= 2;
        }
        let ratio = (&small - &unit) * &unit / (&small + &unit);
        let square = &ratio * &ratio / &unit;
        let (mut sum, mut power, mut n) = (ratio.clone(), ratio, 3_u32);
        loop {
            power = power * &square / &unit;
            let term: BigInt = &power / n;
            if term.sign() == Sign::NoSign {
                break;
            }
            sum += term;
            n += 2;
        }
        Number {
            units: sum * factor,
            scale: precision,
        }
        .cut(scale)
    }

    fn arctangent_units(x: &BigInt, unit: &BigInt) -> BigInt {
        let mut small = x.clone();
        let mut factor = BigInt::from(1);
        // tan(a/2) = t / (1 + √(1 + t²))
        while small.magnitude() * 4_u32 > *unit.magnitude() {
            let root = (unit * unit + &small * &small).sqrt();
            small = small * unit / (unit + root);
            factor *= 2;
        }
        let square = &small * &small / unit;
        let (mut sum, mut power, mut n) = (small.clone(), small, 3_u32);
        loop {
            power = -(power * &square / unit);
            let term: BigInt = &power / n;
            if term.sign() == Sign::NoSign {
                return sum * factor;
            }
            sum += term;
            n += 2;
        }
    }

    pub(in super::super) fn arctangent(x: &Number, scale: usize) -> Number {
        let precision = scale + MORE + x.length();
        let units = arctangent_units(&x.at(precision), &ten(precision));
        Number {
            units,
            scale: precision,
        }
        .cut(scale)
    }

    pub(in super::super) fn sine(x: &Number, scale: usize) -> Number {
        trigonometric(x, scale, false)
    }

    pub(in super::super) fn cosine(x: &Number, scale: usize) -> Number {
        trigonometric(x, scale, true)
    }

    fn trigonometric(x: &Number, scale: usize, cosine: bool) -> Number {
        let precision = scale + MORE + x.length();
        let unit = ten(precision);
        let turn = arctangent_units(&unit, &unit) * 8;
        let angle = x.at(precision) % &turn;
        let square = &angle * &angle / &unit;
        let (mut term, mut n) = if cosine {
            (unit.clone(), 1_u32)
        } else {
            (angle, 2)
        };
        let mut sum = term.clone();
        while term.sign() != Sign::NoSign {
            term = -(term * &square / &unit / (n * (n + 1)));
            sum += &term;
            n += 2;
        }
        Number {
            units: sum,
            scale: precision,
        }
        .cut(scale)
    }
}
