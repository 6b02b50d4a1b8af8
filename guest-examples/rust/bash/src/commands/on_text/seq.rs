//! `seq`: numbers in a row.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Numbers, Spec, flag, value};

const SPEC: Spec = Spec::new(&[
    flag('w', "equal-width"),
    value('f', "format"),
    value('s', "separator"),
])
.numbers(Numbers::Operands)
.ends_at_operand();

pub(super) const SEQ: Command = Command::new("seq", SPEC, seq);

/// The most bytes that are printed: a command ends before the next one reads.
const MOST_BYTES: usize = 48 << 20;

/// A number with a fixed count of decimals: `units` × 10^-`decimals`.
#[derive(Clone, Copy)]
struct Decimal {
    units: i128,
    decimals: u32,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let text = text.trim_start();
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
            None => (text, 0),
        };
        let (negative, digits) = match mantissa.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, mantissa.strip_prefix('+').unwrap_or(mantissa)),
        };
        if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
            let units = i128::from_str_radix(hex, 16).ok()?;
            return Some(Self {
                units: if negative { -units } else { units },
                decimals: 0,
            });
        }
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let units: i128 = all.parse().ok()?;
        let units = if negative { -units } else { units };
        let decimals = i32::try_from(fraction.len()).ok()? - exponent;
        if decimals >= 0 {
            return Some(Self {
                units,
                decimals: u32::try_from(decimals).ok()?,
            });
        }
        let units = units.checked_mul(10_i128.checked_pow(decimals.unsigned_abs())?)?;
        Some(Self { units, decimals: 0 })
    }

    fn scaled(self, decimals: u32) -> Option<i128> {
        self.units
            .checked_mul(10_i128.checked_pow(decimals - self.decimals)?)
    }
}

fn shown(units: i128, decimals: u32, out: &mut String) {
    use std::fmt::Write as _;
    if decimals == 0 {
        let _ = write!(out, "{units}");
        return;
    }
    let power = 10_u128.pow(decimals);
    let (sign, units) = (if units < 0 { "-" } else { "" }, units.unsigned_abs());
    let width = decimals as usize;
    let _ = write!(out, "{sign}{}.{:0>width$}", units / power, units % power);
}

fn seq(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let try_help = "\nTry 'seq --help' for more information.";
    if line.operands.is_empty() {
        return Err(Failure::new(1, format!("missing operand{try_help}")));
    }
    if let Some(extra) = line.operands.get(3) {
        return Err(Failure::new(
            1,
            format!("extra operand {}{try_help}", call.quoted(extra)),
        ));
    }
    let mut numbers = Vec::new();
    for text in &line.operands {
        numbers.push(Decimal::read(text).ok_or_else(|| {
            let text = call.quoted(text);
            Failure::new(
                1,
                format!("invalid floating point argument: {text}{try_help}"),
            )
        })?);
    }
    let one = Decimal {
        units: 1,
        decimals: 0,
    };
    let (first, step, last) = match &*numbers {
        [last] => (one, one, *last),
        [first, last] => (*first, one, *last),
        [first, step, last, ..] => (*first, *step, *last),
        [] => (one, one, one),
    };
    if step.units == 0 {
        let text = line.operands.get(1).map_or("0", String::as_str);
        let text = format!(
            "invalid Zero increment value: {}{try_help}",
            call.quoted(text)
        );
        return Err(Failure::new(1, text));
    }
    let format = line
        .value("format")
        .map(|text| Format::read(call, text))
        .transpose()?;
    if format.is_some() && line.has("equal-width") {
        let text = "format string may not be specified when printing equal width strings";
        return Err(Failure::new(1, format!("{text}{try_help}")));
    }
    let printed = first.decimals.max(step.decimals);
    let decimals = printed.max(last.decimals);
    let too_large = || Failure::usage("a number is too large here");
    let scale = |number: Decimal| number.scaled(decimals).ok_or_else(too_large);
    let (mut value, step, last) = (scale(first)?, scale(step)?, scale(last)?);
    let drop = 10_i128
        .checked_pow(decimals - printed)
        .ok_or_else(too_large)?;
    let width = if line.has("equal-width") {
        let width = |units: i128| {
            let mut text = String::new();
            shown(units / drop, printed, &mut text);
            text.len()
        };
        width(value).max(width(last))
    } else {
        0
    };
    let separator = line.value("separator").unwrap_or("\n");
    let (mut out, mut text) = (Vec::new(), String::new());
    while if step > 0 {
        value <= last
    } else {
        value >= last
    } {
        if !out.is_empty() {
            out.extend_from_slice(separator.as_bytes());
        }
        text.clear();
        match &format {
            Some(format) => text.push_str(&format.of(value, decimals)),
            None => shown(value / drop, printed, &mut text),
        }
        if text.len() < width {
            let (sign, digits) = match text.strip_prefix('-') {
                Some(digits) => ("-", digits),
                None => ("", &*text),
            };
            let width = width - sign.len();
            out.extend_from_slice(format!("{sign}{digits:0>width$}").as_bytes());
        } else {
            out.extend_from_slice(text.as_bytes());
        }
        if out.len() > MOST_BYTES {
            let text = "the output would be larger than 48 MiB: commands run one after another here, so print fewer numbers";
            return Err(Failure::usage(text));
        }
        value = value.checked_add(step).ok_or_else(too_large)?;
    }
    if !out.is_empty() {
        out.push(b'\n');
    }
    call.print(out);
    Ok(0)
}

/// A format of `printf` with one number.
struct Format {
    before: String,
    spec: super::number_format::Spec,
    after: String,
}

impl Format {
    fn read(call: &Call, text: &str) -> Result<Self, Failure> {
        let quoted = call.quoted(text);
        let mut parts = [String::new(), String::new()];
        let mut spec = None;
        let mut rest = text;
        while let Some(at) = rest.find('%') {
            let part = usize::from(spec.is_some());
            let push = |parts: &mut [String; 2], text: &str| {
                if let Some(part) = parts.get_mut(part) {
                    part.push_str(text);
                }
            };
            push(&mut parts, rest.get(..at).unwrap_or_default());
            let directive = rest.get(at + 1..).unwrap_or_default();
            if let Some(after) = directive.strip_prefix('%') {
                push(&mut parts, "%");
                rest = after;
                continue;
            }
            if spec.is_some() {
                return Err(Failure::new(
                    1,
                    format!("format {quoted} has too many % directives"),
                ));
            }
            let Some((read, after)) = super::number_format::Spec::read(directive) else {
                let kind = directive
                    .chars()
                    .find(|char| !"0123456789.+- #'".contains(*char));
                let text = match kind {
                    Some(kind) => format!("format {quoted} has unknown %{kind} directive"),
                    None => format!("format {quoted} ends in %"),
                };
                return Err(Failure::new(1, text));
            };
            spec = Some(read);
            rest = after;
        }
        let part = usize::from(spec.is_some());
        if let Some(part) = parts.get_mut(part) {
            part.push_str(rest);
        }
        let [before, after] = parts;
        let none = || Failure::new(1, format!("format {quoted} has no % directive"));
        Ok(Self {
            before,
            spec: spec.ok_or_else(none)?,
            after,
        })
    }

    fn of(&self, units: i128, decimals: u32) -> String {
        let mut text = String::new();
        shown(units, decimals, &mut text);
        let number = self.spec.format(text.parse().unwrap_or(f64::NAN));
        format!("{}{number}{}", self.before, self.after)
    }
}
