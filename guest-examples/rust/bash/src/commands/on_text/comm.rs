//! `comm` and `cmp`: two files side by side.

use std::cmp::Ordering;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::on_text::sizes;
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const COMM_SPEC: Spec = Spec::new(&[
    flag('1', ""),
    flag('2', ""),
    flag('3', ""),
    flag('\0', "check-order"),
    flag('\0', "nocheck-order"),
    value('\0', "output-delimiter"),
    flag('\0', "total"),
    flag('z', "zero-terminated"),
]);

const CMP_SPEC: Spec = Spec::new(&[
    flag('b', "print-bytes"),
    value('i', "ignore-initial"),
    flag('l', "verbose"),
    value('n', "bytes"),
    flag('s', "quiet"),
    flag('\0', "silent"),
]);

pub(super) const COMM: Command = Command::new("comm", COMM_SPEC, comm);
pub(super) const CMP: Command = Command::new("cmp", CMP_SPEC, cmp);

fn comm(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let [one, other] = &*line.operands else {
        return Err(match &*line.operands {
            [] => call.misuse("missing operand"),
            [last] => call.misuse(format!("missing operand after {}", call.quoted(last))),
            [_, _, extra, ..] => call.misuse(format!("extra operand {}", call.quoted(extra))),
            [..] => call.misuse("missing operand"),
        });
    };
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    let delimiter = line.value("output-delimiter").unwrap_or("\t").as_bytes();
    let mut texts = Vec::new();
    for operand in [one, other] {
        let text = call.read(operand);
        texts.push(
            text.map_err(|error| Failure::new(1, format!("{operand}: {}", text_of(&error))))?,
        );
    }
    let mut sides = Vec::new();
    for text in &texts {
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == end).collect();
        if lines.last().is_some_and(|last| last.is_empty()) {
            lines.pop();
        }
        sides.push(lines);
    }
    let [left, right] = &*sides else {
        return Ok(1);
    };
    let hidden = ["1", "2", "3"].map(|name| line.has(name));
    let mut totals = [0_usize; 3];
    let (mut x, mut y) = (0, 0);
    loop {
        let order = match (left.get(x), right.get(y)) {
            (None, None) => break,
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (Some(one), Some(other)) => one.cmp(other),
        };
        let (column, text) = match order {
            Ordering::Less => (0, left.get(x)),
            Ordering::Greater => (1, right.get(y)),
            Ordering::Equal => (2, left.get(x)),
        };
        x += usize::from(order.is_le());
        y += usize::from(order.is_ge());
        if let Some(total) = totals.get_mut(column) {
            *total += 1;
        }
        if hidden.get(column) == Some(&true) {
            continue;
        }
        for _ in hidden.iter().take(column).filter(|hidden| !**hidden) {
            call.print(delimiter);
        }
        call.print(text.copied().unwrap_or_default());
        call.out.push(end);
    }
    if line.has("total") {
        for total in totals {
            call.print(total.to_string());
            call.print(delimiter);
        }
        call.print("total");
        call.out.push(end);
    }
    let unsorted = |lines: &[&[u8]]| lines.windows(2).any(|pair| pair.first() > pair.last());
    let mut exit_code = 0;
    if !line.has("nocheck-order") {
        for (number, lines) in [(1, left), (2, right)] {
            if unsorted(lines) && (line.has("check-order") || left != right) {
                call.complain(format_args!("file {number} is not in sorted order"));
                exit_code = 1;
            }
        }
        if exit_code == 1 && !line.has("check-order") {
            call.complain("input is not in sorted order");
        }
    }
    Ok(exit_code)
}

fn cmp(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let number = |text: &str| {
        let size = sizes::size(text).and_then(|size| usize::try_from(size).ok());
        size.ok_or_else(|| Failure::new(2, format!("invalid --bytes value '{text}'")))
    };
    let mut operands = line.operands.iter().map(String::as_str);
    let Some(one) = operands.next() else {
        return Err(Failure::new(
            2,
            "missing operand after 'cmp'\ncmp: Try 'cmp --help' for more information.",
        ));
    };
    let other = operands.next().unwrap_or("-");
    let mut skips = [0, 0];
    if let Some(text) = line.value("ignore-initial") {
        let (left, right) = text.split_once(':').unwrap_or((text, text));
        skips = [number(left)?, number(right)?];
    }
    if let (Some(left), Some(right)) = (operands.next(), operands.next()) {
        skips = [number(left)?, number(right)?];
    }
    let most = line
        .value("bytes")
        .map(number)
        .transpose()?
        .unwrap_or(usize::MAX);
    let quiet = line.has("quiet") || line.has("silent");
    let mut texts = Vec::new();
    for (operand, skip) in [one, other].into_iter().zip(skips) {
        match call.read(operand) {
            Ok(text) => {
                let rest = text.get(skip..).unwrap_or_default();
                texts.push(rest.get(..most).unwrap_or(rest).to_vec());
            }
            Err(error) => {
                if !quiet {
                    call.complain_of(operand, &error);
                }
                return Ok(2);
            }
        }
    }
    let [left, right] = &*texts else {
        return Ok(2);
    };
    let differing = left
        .iter()
        .zip(right)
        .enumerate()
        .filter(|(_, (one, other))| one != other);
    let visible = |byte: u8| match byte {
        b' '..=b'~' => char::from(byte).to_string(),
        0..0x20 => format!("^{}", char::from(byte + 0x40)),
        0x7F => "^?".to_owned(),
        byte => format!("M-{}", char::from(byte & 0x7F)),
    };
    let mut differs = false;
    let width = left.len().max(right.len()).to_string().len();
    for (at, (one, other)) in differing {
        differs = true;
        if quiet {
            return Ok(1);
        }
        if line.has("verbose") {
            let place = at + 1;
            if line.has("print-bytes") {
                call.print(format!(
                    "{place:>width$} {one:>3o} {:<4} {other:>3o} {}\n",
                    visible(*one),
                    visible(*other)
                ));
            } else {
                call.print(format!("{place:>width$} {one:>3o} {other:>3o}\n"));
            }
            continue;
        }
        let lines = memchr::memchr_iter(b'\n', left.get(..at).unwrap_or_default()).count() + 1;
        let (a, b) = (
            line.operands.first().map_or("-", String::as_str),
            other_name(line),
        );
        if line.has("print-bytes") {
            call.print(format!(
                "{a} {b} differ: byte {}, line {lines} is {one:>3o} {} {other:>3o} {}\n",
                at + 1,
                visible(*one),
                visible(*other)
            ));
        } else {
            call.print(format!("{a} {b} differ: byte {}, line {lines}\n", at + 1));
        }
        return Ok(1);
    }
    if left.len() == right.len() {
        return Ok(differs.into());
    }
    if !quiet {
        let (name, shorter) = if left.len() < right.len() {
            (one, left)
        } else {
            (other, right)
        };
        let newlines = memchr::memchr_iter(b'\n', shorter).count();
        let text = if shorter.is_empty() {
            format!("cmp: EOF on {name} which is empty\n")
        } else if line.has("verbose") {
            format!("cmp: EOF on {name} after byte {}\n", shorter.len())
        } else if shorter.ends_with(b"\n") {
            format!(
                "cmp: EOF on {name} after byte {}, line {newlines}\n",
                shorter.len()
            )
        } else {
            format!(
                "cmp: EOF on {name} after byte {}, in line {}\n",
                shorter.len(),
                newlines + 1
            )
        };
        call.warn(text.as_bytes());
    }
    Ok(1)
}

fn other_name(line: &Line) -> &str {
    line.operands.get(1).map_or("-", String::as_str)
}
