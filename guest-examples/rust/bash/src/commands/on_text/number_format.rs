//! Floating-point numbers as C's `printf` writes them: `%5.2f`, `%g`, `%e`.

pub(super) struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    zero: bool,
    alternate: bool,
    width: usize,
    precision: Option<usize>,
    kind: char,
}

impl Spec {
    /// Reads what follows `%`, and returns what follows the directive.
    pub(super) fn read(text: &str) -> Option<(Self, &str)> {
        let mut spec = Self {
            left: false,
            plus: false,
            space: false,
            zero: false,
            alternate: false,
            width: 0,
            precision: None,
            kind: 'g',
        };
        let mut chars = text.chars().peekable();
        loop {
            match chars.peek() {
                Some('-') => spec.left = true,
                Some('+') => spec.plus = true,
                Some(' ') => spec.space = true,
                Some('0') => spec.zero = true,
                Some('#') => spec.alternate = true,
                Some('\'') => {}
                _ => break,
            }
            chars.next();
        }
        let mut number = || {
            let mut number = 0;
            while let Some(digit) = chars.peek().and_then(|char| char.to_digit(10)) {
                number = (number * 10 + digit as usize).min(4096);
                chars.next();
            }
            (number, chars.peek() == Some(&'.') && chars.next().is_some())
        };
        let (width, has_precision) = number();
        spec.width = width;
        if has_precision {
            spec.precision = Some(number().0);
        }
        if chars.peek() == Some(&'L') {
            chars.next();
        }
        spec.kind = chars.next().filter(|kind| "aefgEFG".contains(*kind))?;
        let used = text.len() - chars.map(char::len_utf8).sum::<usize>();
        text.get(used..).map(|rest| (spec, rest))
    }

    pub(super) fn format(&self, value: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let magnitude = value.abs();
        let text = match self.kind {
            _ if !value.is_finite() => if value.is_nan() { "nan" } else { "inf" }.to_owned(),
            'f' | 'F' => format!("{magnitude:.precision$}"),
            'e' | 'E' => exponential(magnitude, precision),
            _ => self.general(magnitude, precision.max(1)),
        };
        let text = if self.kind.is_uppercase() {
            text.to_uppercase()
        } else {
            text
        };
        let sign = match value.is_sign_negative() {
            true => "-",
            false if self.plus => "+",
            false if self.space => " ",
            false => "",
        };
        let room = self.width.saturating_sub(sign.len());
        if self.left {
            return format!("{:<width$}", format!("{sign}{text}"), width = self.width);
        }
        if self.zero && value.is_finite() {
            return format!("{sign}{text:0>room$}");
        }
        format!("{:>width$}", format!("{sign}{text}"), width = self.width)
    }

    fn general(&self, magnitude: f64, precision: usize) -> String {
        let exponential = exponential(magnitude, precision - 1);
        let exponent: i32 = exponential
            .split_once('e')
            .and_then(|(_, exponent)| exponent.parse().ok())
            .unwrap_or(0);
        let places = i32::try_from(precision).unwrap_or(i32::MAX);
        let fixed = exponent >= -4 && exponent < places;
        let text = if fixed {
            let decimals = usize::try_from(places - 1 - exponent).unwrap_or(0);
            format!("{magnitude:.decimals$}")
        } else {
            exponential
        };
        if self.alternate || !text.contains('.') {
            return text;
        }
        let (mantissa, exponent) = match text.split_once('e') {
            Some((mantissa, exponent)) => (mantissa, format!("e{exponent}")),
            None => (&*text, String::new()),
        };
        let mantissa = mantissa.trim_end_matches('0').trim_end_matches('.');
        format!("{mantissa}{exponent}")
    }
}

/// `1.5e+10`
fn exponential(magnitude: f64, precision: usize) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}
