//! `hexdump` and `hd`: bytes in formats.

use std::borrow::Cow;

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Spec, flag, value};
use crate::files::text_of;

mod format;

use format::{Format, Part, Shape};

const SPEC: Spec = Spec::new(&[
    flag('b', "one-byte-octal"),
    flag('C', "canonical"),
    flag('c', "one-byte-char"),
    flag('d', "two-bytes-decimal"),
    value('e', "format"),
    value('n', "length"),
    flag('o', "two-bytes-octal"),
    value('s', "skip"),
    flag('v', "no-squeezing"),
    flag('x', "two-bytes-hex"),
]);

pub(super) const HEXDUMP: Command = Command::new("hexdump", SPEC, hexdump);
pub(super) const HD: Command = Command::new("hd", SPEC, |call, line| {
    call.name = "hd";
    hexdump(call, line)
});

const SHORTS: &str = "\"%07.7_ax \"";
const END: &str = "\"%07.7_Ax\n\"";
const CANONICAL: [&str; 3] = [
    "\"%08.8_Ax\n\"",
    "\"%08.8_ax  \" 8/1 \"%02x \" \"  \" 8/1 \"%02x \" ",
    "\"  |\" 16/1 \"%_p\" \"|\\n\"",
];

fn number(text: &str) -> Result<usize, Failure> {
    let end = text
        .find(|char: char| !char.is_ascii_hexdigit() && char != 'x')
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number = if let Some(hex) = digits.strip_prefix("0x") {
        usize::from_str_radix(hex, 16).ok()
    } else if digits.len() > 1 && digits.starts_with('0') {
        usize::from_str_radix(digits, 8).ok()
    } else {
        digits.parse().ok()
    };
    let factor = match unit {
        "" => Some(1),
        "k" | "K" | "KiB" => Some(1 << 10),
        "m" | "M" | "MiB" => Some(1 << 20),
        "KB" => Some(1000),
        "MB" => Some(1_000_000),
        _ => None,
    };
    match (number, factor) {
        (Some(number), Some(factor)) => Ok(number.saturating_mul(factor)),
        _ => Err(Failure::new(1, format!("failed to parse: '{text}'"))),
    }
}

fn hexdump(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let mut texts: Vec<Cow<str>> = Vec::new();
    for (name, text) in line.given() {
        let row = match &*name {
            "one-byte-octal" => "16/1 \"%03o \" \"\\n\"",
            "one-byte-char" => "16/1 \"%3_c \" \"\\n\"",
            "two-bytes-decimal" => "8/2 \"  %05u \" \"\\n\"",
            "two-bytes-octal" => "8/2 \" %06o \" \"\\n\"",
            "two-bytes-hex" => "8/2 \"   %04x \" \"\\n\"",
            "canonical" => {
                texts.extend(CANONICAL.map(Cow::Borrowed));
                continue;
            }
            "format" => {
                texts.push(Cow::Borrowed(text.unwrap_or_default()));
                continue;
            }
            _ => continue,
        };
        texts.push(Cow::Borrowed(END));
        texts.push(Cow::Owned(format!("{SHORTS} {row}")));
    }
    if texts.is_empty() && call.name == "hd" {
        texts.extend(CANONICAL.map(Cow::Borrowed));
    } else if texts.is_empty() {
        texts.push(Cow::Borrowed(END));
        texts.push(Cow::Owned(format!("{SHORTS} 8/2 \"%04x \" \"\\n\"")));
    }
    let formats: Result<Vec<_>, _> = texts.iter().map(|text| Format::read(text)).collect();
    let mut formats = formats.map_err(|text| Failure::new(1, text))?;
    let block = formats.iter().map(Format::size).max().unwrap_or(1).max(1);
    for format in &mut formats {
        format.fill(block);
    }
    let skipped = line.value("skip").map_or(Ok(0), number)?;
    let most = line.value("length").map_or(Ok(usize::MAX), number)?;
    let (mut bytes, mut exit_code, mut is_read) = (Vec::new(), 0, false);
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(content) => {
                bytes.extend_from_slice(&content);
                is_read = true;
            }
            Err(error) => {
                let why = text_of(&error);
                call.complain(format_args!("{operand}: {why}"));
                exit_code = 1;
            }
        }
    }
    if !is_read {
        call.complain("all input file arguments failed");
        return Ok(1);
    }
    let start = skipped.min(bytes.len());
    let end = start.saturating_add(most).min(bytes.len());
    let bytes = bytes.get(start..end).unwrap_or_default();
    let mut dump = Dump {
        formats: &formats,
        out: Vec::new(),
        end: end.max(start),
    };
    dump.run(bytes, start, block, line.has("no-squeezing"));
    call.print(dump.out);
    Ok(exit_code)
}

struct Dump<'a> {
    formats: &'a [Format],
    out: Vec<u8>,
    /// The address after the last byte.
    end: usize,
}

impl Dump<'_> {
    fn run(&mut self, bytes: &[u8], start: usize, block: usize, shows_all: bool) {
        let (mut before, mut is_squeezed) = (None, false);
        for (number, chunk) in bytes.chunks(block).enumerate() {
            let is_same = before == Some(chunk) && chunk.len() == block && !shows_all;
            if is_same {
                if !is_squeezed {
                    self.out.extend_from_slice(b"*\n");
                }
                is_squeezed = true;
                continue;
            }
            (before, is_squeezed) = (Some(chunk), false);
            let mut whole = chunk.to_vec();
            whole.resize(block, 0);
            self.block(&whole, start + number * block);
        }
        if bytes.is_empty() && start == 0 {
            return;
        }
        for format in self.formats {
            for part in format.units.iter().flat_map(|unit| &unit.parts) {
                if let Shape::End(_) = part.shape {
                    part.number(self.end as u64, &mut self.out);
                } else if format.is_for_end() {
                    self.out.extend_from_slice(part.text.as_bytes());
                }
            }
        }
    }

    fn block(&mut self, block: &[u8], address: usize) {
        for format in self.formats.iter().filter(|format| !format.is_for_end()) {
            let mut at = 0;
            for unit in &format.units {
                for turn in 1..=unit.repeats {
                    for part in &unit.parts {
                        let is_last = turn == unit.repeats && unit.repeats > 1;
                        let place = address + at;
                        self.part(part, block, at, place, is_last);
                        at += part.bytes;
                    }
                }
            }
        }
    }

    fn part(&mut self, part: &Part, block: &[u8], at: usize, place: usize, is_last: bool) {
        let before = self.out.len();
        let bytes = block.get(at..at + part.bytes).unwrap_or_default();
        let is_beyond = place >= self.end;
        match part.shape {
            Shape::Text => self.out.extend_from_slice(part.text.as_bytes()),
            Shape::End(_) => {}
            _ if is_beyond => part.blank(&mut self.out),
            Shape::Address(_) => part.number(place as u64, &mut self.out),
            _ => part.write(bytes, &mut self.out),
        }
        // The blanks after the last of several are left out.
        if is_last && part.trailing > 0 {
            let end = self.out.len().saturating_sub(part.trailing).max(before);
            self.out.truncate(end);
        }
    }
}
