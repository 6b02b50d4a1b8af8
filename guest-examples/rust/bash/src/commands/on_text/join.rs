//! `join`: lines of two sorted files with the same field.

use std::cmp::Ordering;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    value('a', ""),
    value('e', ""),
    flag('i', "ignore-case"),
    value('j', ""),
    value('o', ""),
    value('t', ""),
    value('v', ""),
    value('1', ""),
    value('2', ""),
    flag('\0', "check-order"),
    flag('\0', "nocheck-order"),
    flag('\0', "header"),
    flag('z', "zero-terminated"),
]);

pub(super) const JOIN: Command = Command::new("join", SPEC, join);

/// What separates fields.
#[derive(Clone, Copy)]
enum Separator {
    Blanks,
    Byte(u8),
    /// A line is one field.
    None,
}

/// A field of the output: that which is joined, or one of a file.
#[derive(Clone, Copy)]
enum Field {
    Joined,
    Of(usize, usize),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Check {
    /// Once a line has no partner.
    Usual,
    Always,
    Never,
}

/// A line and its fields.
struct Row<'a> {
    line: &'a [u8],
    fields: Vec<&'a [u8]>,
}

/// One of the two files, and how far it is read.
struct Side<'a> {
    name: &'a str,
    rows: Vec<Row<'a>>,
    at: usize,
    key: usize,
    /// Whether lines without a partner are written.
    unpaired: bool,
    is_unsorted: bool,
}

struct Join {
    separator: Separator,
    ignore_case: bool,
    check: Check,
    has_unpaired: bool,
    pairs: bool,
    format: Option<Vec<Field>>,
    /// With `-o auto`, how many fields the first line of each file has.
    counts: Option<[usize; 2]>,
    filler: Vec<u8>,
    end: u8,
}

fn side_number(call: &Call, text: &str) -> Result<usize, Failure> {
    match text {
        "1" => Ok(0),
        "2" => Ok(1),
        text => {
            let text = call.quoted(text);
            Err(call.misuse(format_args!("invalid file number: {text}")))
        }
    }
}

fn field_number(call: &Call, text: &str) -> Result<usize, Failure> {
    let number = text
        .parse::<usize>()
        .ok()
        .and_then(|number| number.checked_sub(1));
    number.ok_or_else(|| Failure::new(1, format!("invalid field number: {}", call.quoted(text))))
}

fn format(call: &Call, text: &str) -> Result<Vec<Field>, Failure> {
    let words = text.split([',', ' ', '\t']).filter(|word| !word.is_empty());
    let field = |word: &str| match word.split_once('.') {
        _ if word == "0" => Ok(Field::Joined),
        Some((side @ ("1" | "2"), number)) => Ok(Field::Of(
            usize::from(side == "2"),
            field_number(call, number)?,
        )),
        Some(_) => {
            let text = format!("invalid file number in field spec: {}", call.quoted(word));
            Err(Failure::new(1, text))
        }
        None => Err(call.misuse(format_args!(
            "invalid field specifier: {}",
            call.quoted(word)
        ))),
    };
    words.map(field).collect()
}

fn join(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let (mut operands, mut joins) = (line.operands.clone(), None);
    let (mut keys, mut unpaired, mut pairs) = ([0, 0], [false, false], true);
    for (name, text) in line.given() {
        let text = text.unwrap_or_default();
        match &*name {
            "a" => {
                if let Some(side) = unpaired.get_mut(side_number(call, text)?) {
                    *side = true;
                }
            }
            "v" => {
                pairs = false;
                if let Some(side) = unpaired.get_mut(side_number(call, text)?) {
                    *side = true;
                }
            }
            "j" => keys = [field_number(call, text)?; 2],
            "1" => keys[0] = field_number(call, text)?,
            "2" => keys[1] = field_number(call, text)?,
            "o" if text != "auto" => {
                let fields: &mut Vec<Field> = joins.get_or_insert_default();
                fields.extend(format(call, text)?);
            }
            _ => {}
        }
    }
    // `-o 1.1 1.2`: further fields may be arguments.
    if let Some(fields) = &mut joins {
        while operands.len() > 2
            && let Some(more) = operands.first().and_then(|first| format(call, first).ok())
        {
            fields.extend(more);
            operands.remove(0);
        }
    }
    let [one, other] = &*operands else {
        return Err(match &*operands {
            [] => call.misuse("missing operand"),
            [last] => call.misuse(format_args!("missing operand after {}", call.quoted(last))),
            [_, _, extra, ..] => call.misuse(format_args!("extra operand {}", call.quoted(extra))),
            [..] => call.misuse("missing operand"),
        });
    };
    if one == "-" && other == "-" {
        return Err(Failure::new(1, "both files cannot be standard input"));
    }
    let separator = match line.value("t") {
        None => Separator::Blanks,
        Some("") => Separator::None,
        Some(r"\0") => Separator::Byte(0),
        Some(text) => match text.as_bytes() {
            [byte] => Separator::Byte(*byte),
            _ => {
                let text = call.quoted(text);
                return Err(Failure::new(1, format!("multi-character tab {text}")));
            }
        },
    };
    let end = if line.has("zero-terminated") {
        0
    } else {
        b'\n'
    };
    let mut texts = Vec::new();
    for operand in [one, other] {
        let text = call.read(operand);
        texts.push(
            text.map_err(|error| Failure::new(1, format!("{operand}: {}", text_of(&error))))?,
        );
    }
    let [left, right] = &*texts else {
        return Ok(1);
    };
    let side = |name, text, at: usize| Side {
        name,
        rows: rows(text, end, separator),
        at: 0,
        key: if at == 0 { keys[0] } else { keys[1] },
        unpaired: unpaired.get(at) == Some(&true),
        is_unsorted: false,
    };
    let (mut left, mut right) = (side(&**one, left, 0), side(&**other, right, 1));
    let is_auto = line.values("o").any(|text| text == "auto");
    let count = |side: &Side| side.rows.first().map_or(0, |row| row.fields.len());
    let mut joining = Join {
        separator,
        ignore_case: line.has("ignore-case"),
        check: match line.last_of(&["check-order", "nocheck-order"]) {
            Some("check-order") => Check::Always,
            Some(_) => Check::Never,
            None => Check::Usual,
        },
        has_unpaired: false,
        pairs,
        format: joins,
        counts: is_auto.then(|| [count(&left), count(&right)]),
        filler: line.value("e").unwrap_or_default().as_bytes().to_vec(),
        end,
    };
    if line.has("header") && !(left.rows.is_empty() && right.rows.is_empty()) {
        joining.print(call, left.rows.first(), right.rows.first(), &keys);
        (left.at, right.at) = (1, 1);
    }
    joining.run(call, &mut left, &mut right, usize::from(line.has("header")))?;
    if left.is_unsorted || right.is_unsorted {
        call.complain("input is not in sorted order");
        return Ok(1);
    }
    Ok(0)
}

fn rows(text: &[u8], end: u8, separator: Separator) -> Vec<Row<'_>> {
    let text = text.strip_suffix(&[end]).map_or(text, |text| text);
    if text.is_empty() {
        return Vec::new();
    }
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t') || end != b'\n' && *byte == b'\n';
    let row = |line| Row {
        line,
        fields: match separator {
            Separator::None => vec![line],
            Separator::Byte(byte) => line.split(|own| *own == byte).collect(),
            Separator::Blanks => {
                let fields = line.split(is_blank);
                fields.filter(|field| !field.is_empty()).collect()
            }
        },
    };
    text.split(|byte| *byte == end).map(row).collect()
}

impl<'a> Side<'a> {
    fn row(&self) -> Option<&Row<'a>> {
        self.rows.get(self.at)
    }

    fn key_of<'r>(&self, row: &'r Row<'a>) -> &'r [u8] {
        row.fields.get(self.key).copied().unwrap_or_default()
    }
}

impl Join {
    fn compare(&self, one: &[u8], other: &[u8]) -> Ordering {
        if self.ignore_case {
            return one.to_ascii_lowercase().cmp(&other.to_ascii_lowercase());
        }
        one.cmp(other)
    }

    fn run<'a>(
        &mut self,
        call: &mut Call,
        left: &mut Side<'a>,
        right: &mut Side<'a>,
        first: usize,
    ) -> Result<(), Failure> {
        let keys = [left.key, right.key];
        while let (Some(one), Some(other)) = (left.row(), right.row()) {
            let key = left.key_of(one).to_vec();
            match self.compare(&key, right.key_of(other)) {
                Ordering::Less => {
                    if left.unpaired {
                        self.print(call, Some(one), None, &keys);
                    }
                    self.advance(call, left, first)?;
                    self.has_unpaired = true;
                }
                Ordering::Greater => {
                    if right.unpaired {
                        self.print(call, None, Some(other), &keys);
                    }
                    self.advance(call, right, first)?;
                    self.has_unpaired = true;
                }
                Ordering::Equal => {
                    let (from, other_from) = (left.at, right.at);
                    for side in [&mut *left, &mut *right] {
                        while side
                            .row()
                            .is_some_and(|row| self.compare(&key, side.key_of(row)).is_eq())
                        {
                            self.advance(call, side, first)?;
                        }
                    }
                    let ones = left.rows.get(from..left.at).unwrap_or_default();
                    let others = right.rows.get(other_from..right.at).unwrap_or_default();
                    for one in ones.iter().filter(|_| self.pairs) {
                        for other in others {
                            self.print(call, Some(one), Some(other), &keys);
                        }
                    }
                }
            }
        }
        if left.row().is_some() || right.row().is_some() {
            self.has_unpaired |= left.row().is_some() && right.at < right.rows.len();
        }
        for (side, is_left) in [(left, true), (right, false)] {
            while let Some(row) = side.row() {
                if side.unpaired && is_left {
                    self.print(call, Some(row), None, &keys);
                } else if side.unpaired {
                    self.print(call, None, Some(row), &keys);
                } else if self.check == Check::Never || side.is_unsorted {
                    break;
                }
                self.advance(call, side, first)?;
            }
        }
        Ok(())
    }

    /// Goes to the next line of a file, and notices if it is not sorted.
    fn advance(&self, call: &mut Call, side: &mut Side, first: usize) -> Result<(), Failure> {
        side.at += 1;
        let checks = match self.check {
            Check::Usual => self.has_unpaired,
            Check::Always => true,
            Check::Never => false,
        };
        if !checks || side.is_unsorted || side.at <= first {
            return Ok(());
        }
        let (Some(before), Some(row)) = (side.rows.get(side.at - 1), side.row()) else {
            return Ok(());
        };
        if self.compare(side.key_of(before), side.key_of(row)).is_le() {
            return Ok(());
        }
        let text = format!(
            "{}:{}: is not sorted: {}",
            side.name,
            side.at + 1,
            String::from_utf8_lossy(row.line)
        );
        if self.check == Check::Always {
            return Err(Failure::new(1, text));
        }
        call.complain(text);
        side.is_unsorted = true;
        Ok(())
    }

    fn print(&self, call: &mut Call, one: Option<&Row>, other: Option<&Row>, keys: &[usize; 2]) {
        let sides = [one, other];
        let field = |side: usize, at: usize| {
            let row = sides.get(side).copied().flatten();
            let field = row.and_then(|row| row.fields.get(at).copied());
            let field = field.filter(|field| !field.is_empty());
            field.unwrap_or(&self.filler).to_vec()
        };
        let joined = if one.is_some() {
            field(0, keys[0])
        } else {
            field(1, keys[1])
        };
        let mut fields = Vec::new();
        if let Some(format) = &self.format {
            for wanted in format {
                fields.push(match wanted {
                    Field::Joined => joined.clone(),
                    Field::Of(side, at) => field(*side, *at),
                });
            }
        } else {
            fields.push(joined);
            for (side, key) in keys.iter().enumerate() {
                let own = sides.get(side).copied().flatten();
                let count = match &self.counts {
                    Some(counts) => counts.get(side).copied().unwrap_or(0),
                    None => own.map_or(0, |row| row.fields.len()),
                };
                fields.extend((0..count).filter(|at| at != key).map(|at| field(side, at)));
            }
        }
        let separator: &[u8] = match &self.separator {
            Separator::Byte(byte) => std::slice::from_ref(byte),
            Separator::Blanks | Separator::None => b" ",
        };
        call.print(fields.join(separator));
        call.print([self.end]);
    }
}
