//! `sort`: lines in order.

use std::cmp::Ordering;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, optional, value};
use crate::files::text_of;

mod keys;
mod order;

use keys::{Key, Separator};
use order::Order;

const SPEC: Spec = Spec::new(&[
    flag('b', "ignore-leading-blanks"),
    flag('d', "dictionary-order"),
    flag('f', "ignore-case"),
    flag('g', "general-numeric-sort"),
    flag('i', "ignore-nonprinting"),
    flag('M', "month-sort"),
    flag('h', "human-numeric-sort"),
    flag('n', "numeric-sort"),
    flag('R', "random-sort"),
    flag('r', "reverse"),
    value('\0', "sort"),
    flag('V', "version-sort"),
    optional('c', "check"),
    flag('C', ""),
    value('k', "key"),
    flag('m', "merge"),
    value('o', "output"),
    flag('s', "stable"),
    value('S', "buffer-size"),
    value('t', "field-separator"),
    value('T', "temporary-directory"),
    value('\0', "parallel"),
    flag('u', "unique"),
    flag('z', "zero-terminated"),
]);

pub(super) const SORT: Command = Command::new("sort", SPEC, sort);

struct Sorter {
    keys: Vec<Key>,
    separator: Separator,
    /// Whether lines whose keys are equal are compared as a whole.
    is_total: bool,
    is_reversed: bool,
}

impl Sorter {
    fn by_keys(&self, one: &[u8], other: &[u8]) -> Ordering {
        for key in &self.keys {
            let (left, right) = (key.of(one, self.separator), key.of(other, self.separator));
            let order = key.order.compare(left, right);
            if order != Ordering::Equal {
                return order;
            }
        }
        Ordering::Equal
    }

    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        match self.by_keys(one, other) {
            Ordering::Equal if !self.is_total => Ordering::Equal,
            Ordering::Equal if self.is_reversed => other.cmp(one),
            Ordering::Equal => one.cmp(other),
            order => order,
        }
    }

    /// Whether bytes are compared as they are.
    fn is_plain(&self) -> bool {
        self.keys
            .iter()
            .all(|key| key.is_whole() && key.order.is_plain())
    }
}

fn sort(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let sorter = sorter(call, line)?;
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    let unique = line.has("unique");
    let silent = line.has("C") || matches!(line.value("check"), Some("quiet" | "silent"));
    if silent || line.has("check") {
        return check(call, line, &sorter, end, silent, unique);
    }
    let mut texts = Vec::new();
    for operand in line.operands_or_stdin() {
        let text = call
            .read(operand)
            .map_err(|error| of_reading(operand, &error))?;
        texts.push(text);
    }
    let lines_of = |text| lines(text, end);
    let mut lines: Vec<&[u8]> = if line.has("merge") {
        merged(texts.iter().map(|text| lines_of(text)).collect(), &sorter)
    } else {
        texts.iter().flat_map(|text| lines_of(text)).collect()
    };
    if !line.has("merge") {
        if sorter.is_plain() {
            lines.sort_unstable();
            if sorter.is_reversed {
                lines.reverse();
            }
        } else {
            lines.sort_by(|one, other| sorter.compare(one, other));
        }
    }
    if unique {
        lines.dedup_by(|next, line| sorter.by_keys(line, next) == Ordering::Equal);
    }
    let mut out = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
    for line in lines {
        out.extend_from_slice(line);
        out.push(end);
    }
    match line.value("output") {
        Some(path) => call.write(path, &out).map_err(|error| {
            Failure::new(2, format!("open failed: {path}: {}", text_of(&error)))
        })?,
        None if call.out.is_empty() => call.out = out,
        None => call.print(out),
    }
    Ok(0)
}

fn of_reading(operand: &str, error: &std::io::Error) -> Failure {
    let what = if error.kind() == std::io::ErrorKind::IsADirectory {
        "read failed"
    } else {
        "cannot read"
    };
    Failure::new(2, format!("{what}: {operand}: {}", text_of(error)))
}

fn lines(text: &[u8], end: u8) -> Vec<&[u8]> {
    let mut lines: Vec<_> = text.split(|byte| *byte == end).collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The lines of texts that are in order.
fn merged<'a>(texts: Vec<Vec<&'a [u8]>>, sorter: &Sorter) -> Vec<&'a [u8]> {
    let mut texts: Vec<_> = texts
        .into_iter()
        .map(|lines| lines.into_iter().peekable())
        .collect();
    let mut result = Vec::new();
    loop {
        let mut least: Option<(usize, &[u8])> = None;
        for (index, lines) in texts.iter_mut().enumerate() {
            let Some(line) = lines.peek() else { continue };
            if least.is_none_or(|(_, least)| sorter.compare(line, least) == Ordering::Less) {
                least = Some((index, line));
            }
        }
        let Some((index, line)) = least else {
            return result;
        };
        result.push(line);
        if let Some(lines) = texts.get_mut(index) {
            lines.next();
        }
    }
}

fn check(
    call: &mut Call,
    line: &Line,
    sorter: &Sorter,
    end: u8,
    silent: bool,
    unique: bool,
) -> Result<i32, Failure> {
    let mut operands = line.operands_or_stdin();
    let operand = operands.next().unwrap_or("-");
    if let Some(extra) = operands.next() {
        let text = format!("extra operand '{extra}' not allowed with -c");
        return Err(Failure::usage(text));
    }
    let text = call
        .read(operand)
        .map_err(|error| Failure::new(2, format!("open failed: {operand}: {}", text_of(&error))))?;
    let lines = lines(&text, end);
    for (index, pair) in lines.windows(2).enumerate() {
        let [one, other] = pair else { continue };
        let order = if unique {
            sorter.by_keys(one, other)
        } else {
            sorter.compare(one, other)
        };
        if order == Ordering::Greater || unique && order == Ordering::Equal {
            if !silent {
                let place = format!("{operand}:{}: disorder: ", index + 2);
                call.warn(format!("sort: {place}").as_bytes());
                call.warn(other);
                call.warn(b"\n");
            }
            return Ok(1);
        }
    }
    Ok(0)
}

fn sorter(call: &Call, line: &Line) -> Result<Sorter, Failure> {
    let mut order = Order::default();
    for (name, value) in line.given() {
        let letter = match (&*name, value) {
            ("ignore-leading-blanks", _) => 'b',
            ("dictionary-order", _) => 'd',
            ("ignore-case", _) => 'f',
            ("general-numeric-sort", _) | ("sort", Some("general-numeric")) => 'g',
            ("ignore-nonprinting", _) => 'i',
            ("month-sort", _) | ("sort", Some("month")) => 'M',
            ("human-numeric-sort", _) | ("sort", Some("human-numeric")) => 'h',
            ("numeric-sort", _) | ("sort", Some("numeric")) => 'n',
            ("random-sort", _) | ("sort", Some("random")) => 'R',
            ("version-sort", _) | ("sort", Some("version")) => 'V',
            ("reverse", _) => 'r',
            ("sort", Some(other)) => {
                let (other, option) = (call.quoted(other), call.quoted("--sort"));
                return Err(Failure::usage(format!(
                    "invalid argument {other} for {option}"
                )));
            }
            _ => continue,
        };
        order.set(letter);
    }
    order.check()?;
    let separator = match line.value("field-separator") {
        None => Separator::Blanks,
        Some("\\0") => Separator::Byte(0),
        Some(text) => match text.as_bytes() {
            [byte] => Separator::Byte(*byte),
            [] => return Err(Failure::usage("empty tab")),
            _ => {
                return Err(Failure::usage(format!(
                    "multi-character tab {}",
                    call.quoted(text)
                )));
            }
        },
    };
    let mut keys = Vec::new();
    for text in line.values("key") {
        keys.push(Key::read(text, order).map_err(|why| {
            let what = if why.starts_with("invalid") {
                "count at start of"
            } else {
                "field specification"
            };
            Failure::usage(format!("{why}: invalid {what} {}", call.quoted(text)))
        })?);
    }
    for key in &keys {
        key.order.check()?;
    }
    let is_reversed = order.is_reversed();
    if keys.is_empty() {
        keys.push(Key::whole(order));
    }
    Ok(Sorter {
        keys,
        separator,
        is_total: !line.has("stable") && !line.has("unique"),
        is_reversed,
    })
}
