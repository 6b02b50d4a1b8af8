//! `head` and `tail`: the beginning and the end of files.

use std::io::ErrorKind;

use crate::commands::call::{Call, Failure};
use crate::commands::on_text::sizes;
use crate::commands::options::{Line, Numbers, Spec, flag, optional, value};
use crate::commands::{Command, Run, quoted};
use crate::files::text_of;

const HEAD_SPEC: Spec = Spec::new(&[
    value('c', "bytes"),
    value('n', "lines"),
    flag('q', "quiet"),
    flag('\0', "silent"),
    flag('v', "verbose"),
    flag('z', "zero-terminated"),
])
.numbers(Numbers::Value);

const TAIL_SPEC: Spec = Spec::new(&[
    value('c', "bytes"),
    value('n', "lines"),
    flag('q', "quiet"),
    flag('\0', "silent"),
    flag('v', "verbose"),
    flag('z', "zero-terminated"),
    optional('f', "follow"),
    flag('F', ""),
    flag('\0', "retry"),
    value('\0', "pid"),
    value('s', "sleep-interval"),
])
.numbers(Numbers::Value);

pub(super) const HEAD: Command = Command::new("head", HEAD_SPEC, head);
pub(super) const TAIL: Command = Command {
    name: "tail",
    spec: TAIL_SPEC,
    run: Run::Either(follow, tail),
};

/// Devices that have no end.
const ENDLESS: [&str; 3] = ["/dev/zero", "/dev/urandom", "/dev/random"];

/// The most bytes that are written of them: what the output of a command holds.
const MAX_ENDLESS: usize = 48 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    Lines,
    Bytes,
}

/// The last number of the options, its unit, and the sign before it.
fn amount(call: &Call, line: &Line) -> Result<(Unit, Option<char>, usize), Failure> {
    let mut amount = (Unit::Lines, None, 10);
    for (name, text) in line.given() {
        let text = text.unwrap_or_default();
        let unit = match &*name {
            "bytes" => Unit::Bytes,
            "lines" | "number" => Unit::Lines,
            _ => continue,
        };
        let sign = text.chars().next().filter(|char| matches!(char, '-' | '+'));
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let Some(number) = sizes::size(digits) else {
            let what = if unit == Unit::Bytes {
                "bytes"
            } else {
                "lines"
            };
            let text = format!("invalid number of {what}: {}", call.quoted(digits));
            return Err(Failure::new(1, text));
        };
        amount = (unit, sign, usize::try_from(number).unwrap_or(usize::MAX));
    }
    Ok(amount)
}

fn head(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let (unit, sign, number) = amount(call, line)?;
    if let (Unit::Bytes, None, [device]) = (unit, sign, &*line.operands)
        && ENDLESS.contains(&&**device)
        && !line.has("verbose")
    {
        return endless(call, device, number);
    }
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    each(call, line, &line.operands, |bytes| {
        let length = match (unit, sign) {
            (Unit::Bytes, Some('-')) => bytes.len().saturating_sub(number),
            (Unit::Bytes, _) => number.min(bytes.len()),
            (Unit::Lines, Some('-')) => last_lines(bytes, number, end),
            (Unit::Lines, _) => first_lines(bytes, number, end),
        };
        bytes.get(..length).unwrap_or(bytes)
    })
}

/// Writes bytes of a device, of which one reading returns a part.
fn endless(call: &mut Call, device: &str, number: usize) -> Result<i32, Failure> {
    if number > MAX_ENDLESS {
        let text = format!("{device}: at most {MAX_ENDLESS} bytes can be read here");
        return Err(Failure::new(1, text));
    }
    let mut missing = number;
    while missing > 0 {
        let part = call.read(device).map_err(|error| {
            let why = text_of(&error);
            Failure::new(1, format!("cannot open '{device}' for reading: {why}"))
        })?;
        if part.is_empty() {
            break;
        }
        let part = part.get(..missing.min(part.len())).unwrap_or_default();
        missing -= part.len();
        call.print(part);
    }
    Ok(0)
}

/// A text for the shell that shows the end of files, and then what is added to them until it is stopped.
fn follow(call: &mut Call, line: &Line) -> Result<Option<String>, Failure> {
    if !line.has("follow") && !line.has("F") {
        if let Some(option) = ["retry", "sleep-interval", "pid"]
            .iter()
            .find(|name| line.has(name))
        {
            let text = format!("--{option} is only implemented with -f or -F here");
            return Err(Failure::usage(text));
        }
        return Ok(None);
    }
    // What is piped has an end.
    if line.operands.is_empty() {
        return Ok(None);
    }
    if line.has("pid") {
        return Err(Failure::usage("--pid is not implemented here"));
    }
    amount(call, line)?;
    let mut options = String::new();
    for (name, value) in line.given() {
        match (&*name, value) {
            ("lines" | "bytes", Some(value)) => {
                options.push_str(&format!(" --{name}={}", quoted(value)));
            }
            ("number", Some(value)) => options.push_str(&format!(" --lines={}", quoted(value))),
            ("quiet" | "silent" | "verbose" | "zero-terminated", _) => {
                options.push_str(&format!(" --{name}"));
            }
            _ => {}
        }
    }
    let names: Vec<_> = line.operands.iter().map(|name| quoted(name)).collect();
    let names = names.join(" ");
    let interval = quoted(line.value("sleep-interval").unwrap_or("1"));
    let title = match line.last_of(&["quiet", "silent", "verbose"]) {
        Some("verbose") => true,
        Some(_) => false,
        None => line.operands.len() > 1,
    };
    let title = if title {
        "printf '\\n==> %s <==\\n' \"$file\"; "
    } else {
        ""
    };
    Ok(Some(format!(
        "declare -A sizes; size() {{ stat -Lc %s -- \"$1\" 2>/dev/null || echo 0; }}; \
         for file in {names}; do sizes[$file]=$(size \"$file\"); done; \
         command tail{options} -- {names}; \
         while sleep {interval}; do for file in {names}; do new=$(size \"$file\"); old=${{sizes[$file]}}; \
         [ \"$new\" -eq \"$old\" ] && continue; [ \"$new\" -lt \"$old\" ] && old=0; \
         {title}command tail -c +$((old + 1)) -- \"$file\"; sizes[$file]=$new; done; done"
    )))
}

fn tail(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let (mut unit, mut sign, mut number) = amount(call, line)?;
    let mut operands = line.operands.as_slice();
    // The old form `tail +5`.
    if let [first, rest @ ..] = operands
        && rest.len() < 2
        && let Some(old) = first.strip_prefix('+')
        && old.starts_with(|char: char| char.is_ascii_digit())
    {
        let (digits, bytes) = match old.strip_suffix('c') {
            Some(digits) => (digits, true),
            None => (old, false),
        };
        if let Ok(value) = digits.parse() {
            unit = if bytes { Unit::Bytes } else { Unit::Lines };
            (sign, number, operands) = (Some('+'), value, rest);
        }
    }
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    each(call, line, operands, |bytes| {
        let start = match (unit, sign) {
            (Unit::Bytes, Some('+')) => number.saturating_sub(1).min(bytes.len()),
            (Unit::Bytes, _) => bytes.len().saturating_sub(number),
            (Unit::Lines, Some('+')) => first_lines(bytes, number.saturating_sub(1), end),
            (Unit::Lines, _) => last_lines(bytes, number, end),
        };
        bytes.get(start..).unwrap_or_default()
    })
}

/// Where the lines after the first `number` begin.
fn first_lines(bytes: &[u8], number: usize, end: u8) -> usize {
    if number == 0 {
        return 0;
    }
    let mut ends = memchr::memchr_iter(end, bytes);
    ends.nth(number - 1).map_or(bytes.len(), |at| at + 1)
}

/// Where the last `number` lines begin.
fn last_lines(bytes: &[u8], number: usize, end: u8) -> usize {
    if number == 0 {
        return bytes.len();
    }
    let body = bytes.strip_suffix(&[end]).unwrap_or(bytes);
    let mut ends = memchr::memrchr_iter(end, body);
    ends.nth(number - 1).map_or(0, |at| at + 1)
}

fn each(
    call: &mut Call,
    line: &Line,
    operands: &[String],
    part: impl Fn(&[u8]) -> &[u8],
) -> Result<i32, Failure> {
    let stdin = ["-".to_owned()];
    let operands = if operands.is_empty() {
        &stdin
    } else {
        operands
    };
    let with_names = match line.last_of(&["quiet", "silent", "verbose"]) {
        Some("verbose") => true,
        Some(_) => false,
        None => operands.len() > 1,
    };
    let (mut exit_code, mut is_first) = (0, true);
    for operand in operands {
        let read = call.read(operand);
        if let Err(error) = &read {
            exit_code = 1;
            if error.kind() != ErrorKind::IsADirectory {
                let why = text_of(error);
                call.complain(format_args!("cannot open '{operand}' for reading: {why}"));
                continue;
            }
        }
        if with_names {
            let name = if operand == "-" {
                "standard input"
            } else {
                operand
            };
            let before = if is_first { "" } else { "\n" };
            call.print(format!("{before}==> {name} <==\n"));
            is_first = false;
        }
        match read {
            Ok(bytes) => call.print(part(&bytes)),
            Err(error) => call.complain(format_args!(
                "error reading '{operand}': {}",
                text_of(&error)
            )),
        }
    }
    Ok(exit_code)
}
