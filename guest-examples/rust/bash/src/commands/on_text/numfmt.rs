//! `numfmt`: numbers with units, in and out.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Numbers, Spec, flag, optional, value};

mod number;

use number::{Format, Number, Rounding, Scale};

const SPEC: Spec = Spec::new(&[
    flag('\0', "debug"),
    value('d', "delimiter"),
    value('\0', "field"),
    value('\0', "format"),
    value('\0', "from"),
    value('\0', "from-unit"),
    flag('\0', "grouping"),
    optional('\0', "header"),
    value('\0', "invalid"),
    value('\0', "padding"),
    value('\0', "round"),
    value('\0', "suffix"),
    value('\0', "to"),
    value('\0', "to-unit"),
    flag('z', "zero-terminated"),
])
.numbers(Numbers::Operands);

pub(super) const NUMFMT: Command = Command::new("numfmt", SPEC, numfmt);

/// Exit code of a number that cannot be converted.
const NOT_CONVERTED: i32 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Invalid {
    Abort,
    Fail,
    Warn,
    Ignore,
}

struct Run<'a> {
    from: Scale,
    to: Scale,
    from_unit: f64,
    to_unit: f64,
    rounding: Rounding,
    format: Format,
    suffix: &'a str,
    delimiter: Option<char>,
    /// Ranges of fields, from 1.
    fields: Vec<(usize, usize)>,
    invalid: Invalid,
}

fn choice<T: Copy>(
    call: &Call,
    line: &Line,
    option: &str,
    usual: T,
    choices: &[(&str, T)],
) -> Result<T, Failure> {
    let Some(text) = line.value(option) else {
        return Ok(usual);
    };
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let list = choices
            .iter()
            .map(|(name, _)| format!("\n  - {}", call.quoted(name)));
        let list: String = list.collect();
        call.misuse(format_args!(
            "invalid argument {} for {}\nValid arguments are:{list}",
            call.quoted(text),
            call.quoted(&format!("--{option}"))
        ))
    })
}

fn unit(call: &Call, line: &Line, option: &str) -> Result<f64, Failure> {
    let Some(text) = line.value(option) else {
        return Ok(1.0);
    };
    let digits = text
        .find(|char: char| !char.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let number: Option<f64> = if number.is_empty() {
        Some(1.0)
    } else {
        number.parse().ok()
    };
    let base = if suffix.ends_with('i') {
        1024.0
    } else {
        1000.0
    };
    let power = match suffix.trim_end_matches('i') {
        "" => Some(0),
        letter => number::power_of(letter),
    };
    match (number, power) {
        (Some(number), Some(power)) if number > 0.0 && !text.is_empty() => {
            Ok(number * f64::powi(base, power))
        }
        _ => Err(Failure::new(
            1,
            format!("invalid unit size: {}", call.quoted(text)),
        )),
    }
}

fn fields(call: &Call, text: &str) -> Result<Vec<(usize, usize)>, Failure> {
    let wrong = || call.misuse(format_args!("invalid field value {}", call.quoted(text)));
    let number = |text: &str| match text.parse::<usize>() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(wrong()),
    };
    let mut fields = Vec::new();
    for part in text.split([',', ' ']) {
        fields.push(match part.split_once('-') {
            Some(("", "")) => (1, usize::MAX),
            Some(("", last)) => (1, number(last)?),
            Some((first, "")) => (number(first)?, usize::MAX),
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(part)?, number(part)?),
        });
    }
    Ok(fields)
}

fn numfmt(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut scales = vec![
        ("none", Scale::None),
        ("si", Scale::Si),
        ("iec", Scale::Iec),
        ("iec-i", Scale::IecI),
    ];
    let to = choice(call, line, "to", Scale::None, &scales)?;
    scales.insert(1, ("auto", Scale::Auto));
    let from = choice(call, line, "from", Scale::None, &scales)?;
    let roundings = [
        ("up", Rounding::Up),
        ("down", Rounding::Down),
        ("from-zero", Rounding::FromZero),
        ("towards-zero", Rounding::TowardsZero),
        ("nearest", Rounding::Nearest),
    ];
    let invalids = [
        ("abort", Invalid::Abort),
        ("fail", Invalid::Fail),
        ("warn", Invalid::Warn),
        ("ignore", Invalid::Ignore),
    ];
    let mut format = match line.value("format") {
        Some(text) => Format::read(text)
            .map_err(|why| Failure::new(1, why.replace("FORMAT", &call.quoted(text))))?,
        None => Format::default(),
    };
    if let Some(text) = line.value("padding") {
        let number = text.parse::<i64>().ok().filter(|number| *number != 0);
        let number = number.ok_or_else(|| {
            Failure::new(1, format!("invalid padding value {}", call.quoted(text)))
        })?;
        format.width = usize::try_from(number.unsigned_abs())
            .unwrap_or(0)
            .min(4096);
        format.is_left = number < 0;
    }
    let delimiter = match line.value("delimiter") {
        Some(text) => {
            let mut chars = text.chars();
            match (chars.next(), chars.next()) {
                (Some(char), None) => Some(char),
                _ => {
                    return Err(Failure::new(1, "the delimiter must be a single character"));
                }
            }
        }
        None => None,
    };
    let run = Run {
        from,
        to,
        from_unit: unit(call, line, "from-unit")?,
        to_unit: unit(call, line, "to-unit")?,
        rounding: choice(call, line, "round", Rounding::FromZero, &roundings)?,
        format,
        suffix: line.value("suffix").unwrap_or_default(),
        delimiter,
        fields: fields(call, line.value("field").unwrap_or("1"))?,
        invalid: choice(call, line, "invalid", Invalid::Abort, &invalids)?,
    };
    let header = if line.has("header") {
        let text = line.value("header").unwrap_or("1");
        text.parse()
            .map_err(|_| Failure::new(1, format!("invalid header value {}", call.quoted(text))))?
    } else {
        0_usize
    };
    let end = if line.has("zero-terminated") {
        '\0'
    } else {
        '\n'
    };
    let mut exit_code = 0;
    if line.operands.is_empty() {
        let text = String::from_utf8_lossy(call.stdin).into_owned();
        let body = text.strip_suffix(end).unwrap_or(&text);
        let lines = body.split(end).enumerate().filter(|_| !text.is_empty());
        for (number, line) in lines {
            if number < header {
                call.print(format!("{line}{end}"));
                continue;
            }
            let is_right = run.line(call, line)?;
            call.print([end as u8]);
            exit_code = exit_code.max(if is_right { 0 } else { NOT_CONVERTED });
        }
    } else {
        for operand in &line.operands {
            let is_right = run.line(call, operand)?;
            call.print([end as u8]);
            exit_code = exit_code.max(if is_right { 0 } else { NOT_CONVERTED });
        }
    }
    Ok(exit_code)
}

impl Run<'_> {
    /// Writes a line with its numbers converted, without an end. Says whether all could be.
    fn line(&self, call: &mut Call, line: &str) -> Result<bool, Failure> {
        let mut all = true;
        let (mut rest, mut at) = (line, 1);
        loop {
            let (field, after) = self.field(rest);
            let is_chosen = self
                .fields
                .iter()
                .any(|(first, last)| (*first..=*last).contains(&at));
            if is_chosen {
                all &= self.number(call, field)?;
            } else {
                call.print(field);
            }
            let Some(after) = after else { break };
            match self.delimiter {
                Some(delimiter) => call.print(delimiter.to_string()),
                None => call.print(" "),
            }
            (rest, at) = (after, at + 1);
        }
        Ok(all)
    }

    /// The first field with the blanks before it, and what follows its separator.
    fn field<'t>(&self, text: &'t str) -> (&'t str, Option<&'t str>) {
        if let Some(delimiter) = self.delimiter {
            return match text.split_once(delimiter) {
                Some((field, after)) => (field, Some(after)),
                None => (text, None),
            };
        }
        let is_blank = |char: char| matches!(char, ' ' | '\t' | '\n');
        let blanks = text.len() - text.trim_start_matches(is_blank).len();
        let word = text.get(blanks..).unwrap_or_default();
        match word.find(is_blank) {
            Some(end) => {
                let (field, after) = text.split_at(blanks + end);
                (field, after.get(1..))
            }
            None => (text, None),
        }
    }

    fn number(&self, call: &mut Call, field: &str) -> Result<bool, Failure> {
        let text = field.trim_start_matches([' ', '\t']);
        let blanks = field.len() - text.len();
        let number = text.strip_suffix(self.suffix).unwrap_or(text);
        let written =
            Number::read(number, self.from, &|text| call.quoted(text)).and_then(|mut number| {
                if self.from_unit != 1.0 || self.to_unit != 1.0 {
                    number.value = number.value * self.from_unit / self.to_unit;
                }
                number.write(self.to, self.rounding, &self.format)
            });
        match written {
            Ok(number) => {
                let number = format!("{number}{}", self.suffix);
                let mut format = self.format.clone();
                // A number keeps the columns of the blanks before it.
                if format.width == 0 && blanks > 0 && self.delimiter.is_none() {
                    format.width = field.len();
                }
                call.print(format.around(&number));
                Ok(true)
            }
            Err(why) if self.invalid == Invalid::Abort => Err(Failure::new(NOT_CONVERTED, why)),
            Err(why) => {
                if self.invalid != Invalid::Ignore {
                    call.complain(why);
                }
                call.print(field);
                Ok(self.invalid != Invalid::Fail)
            }
        }
    }
}
