//! Numbers with the letters of powers.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scale {
    None,
    Auto,
    Si,
    Iec,
    IecI,
}

#[derive(Clone, Copy)]
pub(super) enum Rounding {
    Up,
    Down,
    FromZero,
    TowardsZero,
    Nearest,
}

const LETTERS: &str = "KMGTPEZY";
/// The most digits of a number that is written without a letter.
const MAX_DIGITS: usize = 18;

/// The power that a letter stands for.
pub(super) fn power_of(letter: &str) -> Option<i32> {
    let place = LETTERS.find(letter).filter(|_| letter.len() == 1)?;
    i32::try_from(place + 1).ok()
}

impl Scale {
    const fn base(self) -> f64 {
        match self {
            Self::None | Self::Auto | Self::Si => 1000.0,
            Self::Iec | Self::IecI => 1024.0,
        }
    }
}

impl Rounding {
    fn apply(self, value: f64) -> f64 {
        match self {
            Self::Up => value.ceil(),
            Self::Down => value.floor(),
            Self::FromZero if value < 0.0 => value.floor(),
            Self::FromZero => value.ceil(),
            Self::TowardsZero => value.trunc(),
            Self::Nearest => value.round(),
        }
    }
}

pub(super) struct Number {
    pub(super) value: f64,
    /// Digits after the point.
    precision: usize,
}

impl Number {
    /// # Errors
    /// Why a text is no number.
    pub(super) fn read(
        text: &str,
        scale: Scale,
        quoted: &impl Fn(&str) -> String,
    ) -> Result<Self, String> {
        let shown = || quoted(text);
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let end = |text: &str| {
            text.find(|char: char| !char.is_ascii_digit())
                .unwrap_or(text.len())
        };
        let (whole, mut rest) = unsigned.split_at(end(unsigned));
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            (fraction, rest) = after.split_at(end(after));
        }
        if whole.is_empty() && fraction.is_empty() {
            return Err(format!("invalid number: {}", shown()));
        }
        let mut number = Self {
            value: format!("{whole}.{fraction}0").parse().unwrap_or(0.0),
            precision: fraction.len(),
        };
        if unsigned.len() != text.len() {
            number.value = -number.value;
        }
        rest = rest.trim_start_matches([' ', '\t']);
        let Some(letter) = rest.get(..1).filter(|_| !rest.is_empty()) else {
            return if rest.is_empty() {
                Ok(number)
            } else {
                Err(format!("invalid suffix in input: {}", shown()))
            };
        };
        let Some(power) = power_of(letter) else {
            return Err(format!("invalid suffix in input: {}", shown()));
        };
        rest = rest.get(1..).unwrap_or_default();
        let mut base = scale.base();
        match scale {
            Scale::None => {
                return Err(format!(
                    "rejecting suffix in input: {} (consider using --from)",
                    shown()
                ));
            }
            Scale::Auto => {
                if let Some(after) = rest.strip_prefix('i') {
                    (rest, base) = (after, 1024.0);
                }
            }
            Scale::IecI => match rest.strip_prefix('i') {
                Some(after) => rest = after,
                None => {
                    return Err(format!(
                        "missing 'i' suffix in input: {} (e.g Ki/Mi/Gi)",
                        shown()
                    ));
                }
            },
            Scale::Si | Scale::Iec => {}
        }
        if !rest.is_empty() {
            return Err(format!(
                "invalid suffix in input {}: {}",
                shown(),
                quoted(rest)
            ));
        }
        number.value *= base.powi(power);
        number.precision = 0;
        Ok(number)
    }

    /// # Errors
    /// The number has too many digits.
    pub(super) fn write(
        &self,
        scale: Scale,
        rounding: Rounding,
        format: &Format,
    ) -> Result<String, String> {
        let precision = format.precision.unwrap_or(self.precision);
        let round = |value: f64, digits: usize| {
            let factor = 10_f64.powi(i32::try_from(digits).unwrap_or(0));
            rounding.apply(value * factor) / factor
        };
        if scale == Scale::None {
            let digits = format!("{:.0}", self.value.abs().trunc()).len();
            if digits + precision > MAX_DIGITS {
                return Err(format!(
                    "value/precision too large to be printed: '{}/{precision}' (consider using --to)",
                    self.value
                ));
            }
            let value = round(self.value, precision);
            return Ok(format.zeros(&format!("{value:.precision$}")));
        }
        let (mut value, mut power) = (self.value, 0_usize);
        while value.abs() >= scale.base() {
            value /= scale.base();
            power += 1;
        }
        let digits = match format.precision {
            Some(precision) => (power * 3).min(precision),
            None => usize::from(value.abs() < 10.0),
        };
        value = round(value, digits);
        if value.abs() >= scale.base() {
            value /= scale.base();
            power += 1;
        }
        let has_point = value != 0.0 && value.abs() < 10.0 && power > 0;
        let precision = format.precision.unwrap_or(usize::from(has_point));
        let letter = match power.checked_sub(1) {
            None => "",
            Some(at) => LETTERS
                .get(at..=at)
                .ok_or("value too large to be printed (cannot handle values > 999Y)")?,
        };
        let i = if scale == Scale::IecI && power > 0 {
            "i"
        } else {
            ""
        };
        Ok(format.zeros(&format!("{value:.precision$}{letter}{i}")))
    }
}

/// `prefix%-10.2fsuffix`
#[derive(Clone, Default)]
pub(super) struct Format {
    prefix: String,
    suffix: String,
    pub(super) width: usize,
    pub(super) is_left: bool,
    has_zeros: bool,
    precision: Option<usize>,
}

impl Format {
    /// # Errors
    /// What is wrong; `FORMAT` stands for the text.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut format = Self::default();
        let mut rest = text;
        loop {
            let Some(at) = rest.find('%') else {
                return Err("format FORMAT has no % directive".to_owned());
            };
            let (before, after) = rest.split_at(at);
            format.prefix.push_str(before);
            rest = after.get(1..).unwrap_or_default();
            match rest.strip_prefix('%') {
                Some(after) => {
                    format.prefix.push('%');
                    rest = after;
                }
                None => break,
            }
        }
        loop {
            match rest.chars().next() {
                Some('0') => format.has_zeros = true,
                // The locale has no separator of groups.
                Some('\'' | ' ') => {}
                Some('-') => format.is_left = true,
                _ => break,
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        let end = |text: &str| {
            text.find(|char: char| !char.is_ascii_digit())
                .unwrap_or(text.len())
        };
        let (width, after) = rest.split_at(end(rest));
        format.width = width.parse().unwrap_or(0).min(4096);
        rest = after;
        if let Some(after) = rest.strip_prefix('.') {
            let (digits, after) = after.split_at(end(after));
            format.precision = Some(digits.parse().unwrap_or(0).min(100));
            rest = after;
        }
        let Some(after) = rest.strip_prefix('f') else {
            return Err("invalid format FORMAT, directive must be %[0]['][-][N][.][N]f".to_owned());
        };
        format.suffix = after.replace("%%", "%");
        if after.replace("%%", "").contains('%') {
            return Err("format FORMAT has too many % directives".to_owned());
        }
        Ok(format)
    }

    fn zeros(&self, number: &str) -> String {
        if !self.has_zeros || self.is_left {
            return number.to_owned();
        }
        let (sign, digits) = match number.strip_prefix('-') {
            Some(digits) => ("-", digits),
            None => ("", number),
        };
        let width = self.width.saturating_sub(sign.len());
        format!("{sign}{digits:0>width$}")
    }

    /// The number in its columns, with the texts around it.
    pub(super) fn around(&self, number: &str) -> String {
        let width = self.width;
        let padded = if self.is_left {
            format!("{number:<width$}")
        } else {
            format!("{number:>width$}")
        };
        format!("{}{padded}{}", self.prefix, self.suffix)
    }
}
