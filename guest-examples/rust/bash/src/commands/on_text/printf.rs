//! `printf`, as the one that is built into bash.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::dates::{Moment, Zone, format};
use crate::commands::options::{Line, Spec};

mod decimal;
mod escapes;
mod quote;

use decimal::Number;
use escapes::{Place, push_escape};

pub(super) const PRINTF: Command = Command::new("printf", Spec::raw(), printf);

const USAGE: &str = "printf: usage: printf [-v var] format [arguments]\n";

/// Beyond it, a width or a precision would only fill memory.
const MOST_WIDTH: usize = 1 << 20;

/// What ends a run before its format is at its end.
enum Stop {
    /// `\c` in an argument of `%b`.
    Quietly,
    /// A directive that is none: the text after `printf: `.
    Error(String),
}

fn printf(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut args = line.operands.as_slice();
    let mut variable = None;
    while let [first, rest @ ..] = args {
        let Some(option) = first.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
            break;
        };
        args = rest;
        if option == "-" {
            break;
        }
        match (option.strip_prefix('v'), rest) {
            (Some(""), [name, rest @ ..]) => {
                variable = Some(name.as_str());
                args = rest;
            }
            (Some(""), []) => {
                call.warn("bash: printf: -v: option requires an argument\n");
                call.warn(USAGE);
                return Ok(2);
            }
            (Some(name), _) => variable = Some(name),
            (None, _) => {
                let option: String = option.chars().take(1).collect();
                call.warn(format!("bash: printf: -{option}: invalid option\n"));
                call.warn(USAGE);
                return Ok(2);
            }
        }
    }
    let [text, args @ ..] = args else {
        call.warn(USAGE);
        return Ok(2);
    };
    if let Some(name) = variable.filter(|name| !is_assignable(name)) {
        call.warn(format!("bash: printf: `{name}': not a valid identifier\n"));
        return Ok(2);
    }
    let mut run = Run {
        args,
        has_read: false,
        out: Vec::new(),
        warnings: Vec::new(),
        code: 0,
        zone: call.env.get("TZ").map(String::as_str),
    };
    loop {
        run.has_read = false;
        match run.format(text) {
            Ok(()) => {}
            Err(Stop::Quietly) => break,
            Err(Stop::Error(error)) => {
                run.fail(error);
                break;
            }
        }
        if run.args.is_empty() || !run.has_read {
            break;
        }
    }
    let Run {
        out,
        warnings,
        code,
        ..
    } = run;
    for warning in warnings {
        call.warn(format!("bash: printf: {warning}\n"));
    }
    match variable {
        // A variable holds text without zero bytes.
        Some(name) => {
            let end = out.iter().position(|byte| *byte == 0);
            let out = out.get(..end.unwrap_or(out.len())).unwrap_or_default();
            let value = String::from_utf8_lossy(out).into_owned();
            call.assignments.push((name.to_owned(), value));
        }
        None => call.print(out),
    }
    Ok(code)
}

/// Whether a text is the name of a variable, or of an element of an array.
fn is_assignable(text: &str) -> bool {
    let (name, index) = match text.split_once('[') {
        Some((name, index)) => (name, Some(index)),
        None => (text, None),
    };
    let mut chars = name.chars();
    let first = chars.next();
    first.is_some_and(|char| char.is_ascii_alphabetic() || char == '_')
        && chars.all(|char| char.is_ascii_alphanumeric() || char == '_')
        && index.is_none_or(|index| index.len() > 1 && index.ends_with(']'))
}

struct Run<'a> {
    /// Those that are not used yet.
    args: &'a [String],
    /// Whether the format has read an argument since it began.
    has_read: bool,
    out: Vec<u8>,
    warnings: Vec<String>,
    code: i32,
    zone: Option<&'a str>,
}

#[derive(Default)]
struct Directive {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

impl<'a> Run<'a> {
    fn fail(&mut self, warning: String) {
        self.warnings.push(warning);
        self.code = 1;
    }

    fn next(&mut self) -> Option<&'a str> {
        self.has_read = true;
        let (first, rest) = self.args.split_first()?;
        self.args = rest;
        Some(first)
    }

    fn format(&mut self, text: &str) -> Result<(), Stop> {
        let mut rest = text;
        while let Some(char) = rest.chars().next() {
            let after = rest.get(char.len_utf8()..).unwrap_or_default();
            rest = match char {
                '\\' => push_escape(after, Place::Format, &mut self.out, &mut self.warnings)
                    .ok_or(Stop::Quietly)?,
                '%' if after.starts_with('%') => {
                    self.out.push(b'%');
                    after.get(1..).unwrap_or_default()
                }
                '%' => self.directive(after)?,
                char => {
                    self.out.extend(char.to_string().as_bytes());
                    after
                }
            };
        }
        Ok(())
    }

    /// A width or a precision, and what follows it. A negative one of an argument has its sign.
    fn size<'t>(&mut self, text: &'t str) -> (i64, &'t str) {
        if let Some(rest) = text.strip_prefix('*') {
            let arg = self.next().unwrap_or_default();
            let size = i64::try_from(self.integer(arg)).unwrap_or(0);
            return (size, rest);
        }
        let end = text.find(|char: char| !char.is_ascii_digit());
        let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
        (digits.parse().unwrap_or(0), rest)
    }

    /// Writes a directive, and returns what follows it.
    fn directive<'t>(&mut self, text: &'t str) -> Result<&'t str, Stop> {
        let mut directive = Directive::default();
        let mut rest = text;
        while let Some(flag) = rest.chars().next().filter(|char| "-+ #0'".contains(*char)) {
            match flag {
                '-' => directive.left = true,
                '+' => directive.plus = true,
                ' ' => directive.space = true,
                '#' => directive.alternate = true,
                '0' => directive.zero = true,
                _ => {}
            }
            rest = rest.get(1..).unwrap_or_default();
        }
        let (width, after) = self.size(rest);
        directive.left |= width < 0;
        directive.width = bounded(width.unsigned_abs())?;
        rest = after;
        if let Some(precision) = rest.strip_prefix('.') {
            let (precision, after) = self.size(precision);
            if precision >= 0 {
                directive.precision = Some(bounded(precision.unsigned_abs())?);
            }
            rest = after;
        }
        rest = rest.trim_start_matches(['h', 'l', 'j', 'z', 't', 'L']);
        if let Some((time, after)) = rest
            .strip_prefix('(')
            .and_then(|time| time.split_once(")T"))
        {
            self.time(&directive, time);
            return Ok(after);
        }
        let Some(kind) = rest.chars().next() else {
            return Err(Stop::Error(format!("`%{text}': missing format character")));
        };
        rest = rest.get(kind.len_utf8()..).unwrap_or_default();
        match kind {
            'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
                let arg = self.next().unwrap_or_default();
                let value = self.integer(arg);
                self.print_integer(&directive, kind, value);
            }
            'e' | 'E' | 'f' | 'F' | 'g' | 'G' | 'a' | 'A' => {
                let arg = self.next().unwrap_or_default();
                let (number, is_whole) = Number::read(arg);
                if !is_whole {
                    self.fail(format!("{arg}: invalid number"));
                }
                let text = number.format(kind, directive.precision, directive.alternate);
                let sign = directive.sign(number.is_negative());
                let zero = directive.zero && number.is_finite();
                self.pad_number(&directive, sign, "", &text, zero);
            }
            'c' => {
                let arg = self.next().unwrap_or_default();
                let byte = arg.as_bytes().first().copied().unwrap_or(0);
                self.pad(&directive, &[byte]);
            }
            's' => {
                let arg = self.next().unwrap_or_default().as_bytes();
                self.pad(&directive, directive.cut(arg));
            }
            'b' => {
                let arg = self.next().unwrap_or_default();
                let mut bytes = Vec::new();
                let ended = escapes::expand(arg, &mut bytes, &mut self.warnings);
                self.pad(&directive, directive.cut(&bytes));
                if ended {
                    return Err(Stop::Quietly);
                }
            }
            'q' => {
                let quoted = quote::quoted(self.next().unwrap_or_default());
                self.pad(&directive, directive.cut(quoted.as_bytes()));
            }
            'Q' => {
                let arg = self.next().unwrap_or_default();
                let cut = String::from_utf8_lossy(directive.cut(arg.as_bytes())).into_owned();
                self.pad(&directive, quote::quoted(&cut).as_bytes());
            }
            'n' => {
                self.next();
            }
            kind => {
                return Err(Stop::Error(format!("`{kind}': invalid format character")));
            }
        }
        Ok(rest)
    }

    /// `%(FORMAT)T`: of seconds since 1970, or of now.
    fn time(&mut self, directive: &Directive, text: &str) {
        let arg = self.next();
        let seconds = match arg {
            None | Some("") => None,
            Some(arg) => i64::try_from(self.integer(arg)).ok().filter(|seconds| {
                // The time of the call, and when the shell began.
                !matches!(seconds, -1 | -2)
            }),
        };
        let moment = match seconds {
            Some(seconds) => Moment { seconds, nanos: 0 },
            None => Moment::now(),
        };
        let text = if text.is_empty() { "%X" } else { text };
        let text = format(text, moment, &Zone::of(self.zone));
        self.pad(directive, directive.cut(text.as_bytes()));
    }

    /// The value of an argument, as C's `strtoimax` and `strtoumax` read it.
    fn integer(&mut self, arg: &str) -> i128 {
        if let Some(text) = arg.strip_prefix(['\'', '"']) {
            return text
                .chars()
                .next()
                .map_or(0, |char| i128::from(u32::from(char)));
        }
        let text = arg.trim_start();
        let (is_negative, digits) = match text.strip_prefix(['-', '+']) {
            Some(digits) => (text.starts_with('-'), digits),
            None => (false, text),
        };
        let (radix, digits) = match digits.as_bytes() {
            [b'0', b'x' | b'X', digit, ..] if digit.is_ascii_hexdigit() => {
                (16, digits.get(2..).unwrap_or_default())
            }
            [b'0', ..] => (8, digits),
            _ => (10, digits),
        };
        let end = digits.find(|char: char| !char.is_digit(radix));
        let (number, rest) = digits.split_at(end.unwrap_or(digits.len()));
        if !rest.is_empty() || (number.is_empty() && !arg.is_empty()) {
            self.fail(format!("{arg}: invalid number"));
        }
        let value = if number.is_empty() {
            Ok(0)
        } else {
            i128::from_str_radix(number, radix)
        };
        let value = value.unwrap_or(i128::MAX);
        if is_negative { -value } else { value }
    }

    fn print_integer(&mut self, directive: &Directive, kind: char, value: i128) {
        let is_signed = matches!(kind, 'd' | 'i');
        let range = if is_signed {
            i128::from(i64::MIN)..=i128::from(i64::MAX)
        } else {
            -i128::from(u64::MAX)..=i128::from(u64::MAX)
        };
        let inside = value.clamp(*range.start(), *range.end());
        if inside != value {
            let text = format!("warning: {value}: Numerical result out of range");
            self.warnings.push(text);
        }
        let magnitude = if is_signed {
            u64::try_from(inside.unsigned_abs()).unwrap_or(u64::MAX)
        } else {
            // A negative number is what is left of 2⁶⁴, as in C.
            u64::try_from(inside.rem_euclid(1 << 64)).unwrap_or(u64::MAX)
        };
        let mut digits = match kind {
            'o' => format!("{magnitude:o}"),
            'x' => format!("{magnitude:x}"),
            'X' => format!("{magnitude:X}"),
            _ => magnitude.to_string(),
        };
        if let Some(precision) = directive.precision {
            if precision == 0 && magnitude == 0 {
                digits.clear();
            }
            digits = format!("{digits:0>precision$}");
        }
        let prefix = match kind {
            'o' if directive.alternate && !digits.starts_with('0') => "0",
            'x' if directive.alternate && magnitude != 0 => "0x",
            'X' if directive.alternate && magnitude != 0 => "0X",
            _ => "",
        };
        let sign = if is_signed {
            directive.sign(inside < 0)
        } else {
            ""
        };
        let zero = directive.zero && directive.precision.is_none();
        self.pad_number(directive, sign, prefix, &digits, zero);
    }

    fn pad_number(
        &mut self,
        directive: &Directive,
        sign: &str,
        prefix: &str,
        text: &str,
        zero: bool,
    ) {
        // Of `%a`.
        let (prefix, text) = match text.get(..2) {
            Some("0x" | "0X") if prefix.is_empty() => text.split_at(2),
            _ => (prefix, text),
        };
        let length = sign.len() + prefix.len() + text.len();
        if zero && !directive.left && length < directive.width {
            let zeros = "0".repeat(directive.width - length);
            self.out
                .extend(format!("{sign}{prefix}{zeros}{text}").as_bytes());
        } else {
            self.pad(directive, format!("{sign}{prefix}{text}").as_bytes());
        }
    }

    /// Writes bytes, and spaces up to the width.
    fn pad(&mut self, directive: &Directive, bytes: &[u8]) {
        let spaces = directive.width.saturating_sub(bytes.len());
        if !directive.left {
            self.out.extend(std::iter::repeat_n(b' ', spaces));
        }
        self.out.extend_from_slice(bytes);
        if directive.left {
            self.out.extend(std::iter::repeat_n(b' ', spaces));
        }
    }
}

impl Directive {
    fn sign(&self, is_negative: bool) -> &'static str {
        if is_negative {
            "-"
        } else if self.plus {
            "+"
        } else if self.space {
            " "
        } else {
            ""
        }
    }

    /// The bytes that the precision leaves.
    fn cut<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let length = self.precision.unwrap_or(bytes.len());
        bytes.get(..length).unwrap_or(bytes)
    }
}

fn bounded(size: u64) -> Result<usize, Stop> {
    let bounded = usize::try_from(size)
        .ok()
        .filter(|size| *size <= MOST_WIDTH);
    bounded.ok_or_else(|| {
        Stop::Error(format!(
            "a width or a precision may be at most {MOST_WIDTH} here: {size}"
        ))
    })
}

#[cfg(test)]
mod tests;
