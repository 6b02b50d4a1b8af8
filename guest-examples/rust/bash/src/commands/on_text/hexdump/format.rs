//! Formats of `hexdump`: `16/1 "%02x " "\n"`.

use std::fmt::Write as _;

/// How a number is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    Decimal,
    Octal,
    Hex,
    UpperHex,
}

/// What a part writes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Text,
    /// The address of what is dumped.
    Address(Base),
    /// The address at the end, once.
    End(Base),
    Signed,
    Unsigned(Base),
    Float,
    Char,
    /// `_c`: with the escapes of C, or in octal digits.
    Named,
    /// `_u`: control characters by their names.
    Control,
    /// `_p`: others than visible ones are dots.
    Printable,
    Bytes,
}

/// A conversion with the text around it.
pub(super) struct Part {
    /// Before the conversion; the whole of a text.
    pub(super) text: String,
    after: String,
    pub(super) shape: Shape,
    pub(super) bytes: usize,
    flags: String,
    width: usize,
    precision: Option<usize>,
    /// Blanks at its end that the last of several lacks.
    pub(super) trailing: usize,
}

pub(super) struct Unit {
    pub(super) repeats: usize,
    has_repeats: bool,
    pub(super) parts: Vec<Part>,
}

impl Unit {
    fn size(&self) -> usize {
        self.parts.iter().map(|part| part.bytes).sum()
    }
}

pub(super) struct Format {
    pub(super) units: Vec<Unit>,
}

const NAMES: [&str; 33] = [
    "nul", "soh", "stx", "etx", "eot", "enq", "ack", "bel", "bs", "ht", "lf", "vt", "ff", "cr",
    "so", "si", "dle", "dcl", "dc2", "dc3", "dc4", "nak", "syn", "etb", "can", "em", "sub", "esc",
    "fs", "gs", "rs", "us", " ",
];

impl Format {
    /// # Errors
    /// The text is no format.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let bad = || format!("bad format {{{text}}}");
        let mut units = Vec::new();
        let mut rest = text.trim_start();
        while !rest.is_empty() {
            let digits = |text: &str| {
                text.find(|char: char| !char.is_ascii_digit())
                    .unwrap_or(text.len())
            };
            let (repeats, after) = rest.split_at(digits(rest));
            rest = after.trim_start();
            let mut bytes = None;
            if let Some(after) = rest.strip_prefix('/') {
                let after = after.trim_start();
                let (count, after) = after.split_at(digits(after));
                bytes = Some(count.parse::<usize>().map_err(|_| bad())?);
                rest = after.trim_start();
            }
            let inner = rest.strip_prefix('"').ok_or_else(bad)?;
            let end = end_of_quote(inner).ok_or_else(bad)?;
            let (inner, after) = inner.split_at(end);
            rest = after.get(1..).unwrap_or_default().trim_start();
            let parts = parts(&unescaped(inner), bytes)?;
            units.push(Unit {
                repeats: repeats.parse::<usize>().unwrap_or(1).min(1 << 16),
                has_repeats: !repeats.is_empty(),
                parts,
            });
        }
        Ok(Self { units })
    }

    /// Whether it is written once, after all blocks.
    pub(super) fn is_for_end(&self) -> bool {
        let mut parts = self.units.iter().flat_map(|unit| &unit.parts);
        parts.any(|part| matches!(part.shape, Shape::End(_)))
    }

    /// Bytes that it writes.
    pub(super) fn size(&self) -> usize {
        self.units
            .iter()
            .map(|unit| unit.size() * unit.repeats)
            .sum()
    }

    /// Repeats the last unit until it fills a block, if its number of repeats is open.
    pub(super) fn fill(&mut self, block: usize) {
        let size = self.size();
        if let Some(last) = self.units.last_mut()
            && !last.has_repeats
            && last.size() > 0
            && size < block
        {
            last.repeats += (block - size) / last.size();
        }
        for unit in self.units.iter_mut().filter(|unit| unit.repeats > 1) {
            if let Some(last) = unit.parts.last_mut() {
                let text = if last.shape == Shape::Text {
                    &last.text
                } else {
                    &last.after
                };
                let kept = text.trim_end_matches([' ', '\t', '\n']);
                last.trailing = text.len() - kept.len();
            }
        }
    }
}

fn end_of_quote(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices()
        .find(|(_, char)| {
            let ends = *char == '"' && !is_escaped;
            is_escaped = *char == '\\' && !is_escaped;
            ends
        })
        .map(|(at, _)| at)
}

fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        out.push(match chars.next() {
            Some('a') => '\x07',
            Some('b') => '\x08',
            Some('f') => '\x0c',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\x0b',
            Some(other) => other,
            None => '\\',
        });
    }
    out
}

fn base_of(letter: char) -> Base {
    match letter {
        'o' => Base::Octal,
        'x' => Base::Hex,
        'X' => Base::UpperHex,
        _ => Base::Decimal,
    }
}

/// Cuts a format into conversions, each with the text before it; the last has that after it, too.
fn parts(text: &str, bytes: Option<usize>) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = Vec::new();
    let mut plain = String::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '%' {
            plain.push(char);
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            plain.push('%');
            continue;
        }
        let (mut flags, mut width, mut precision) = (String::new(), String::new(), None);
        while let Some(flag) = chars.next_if(|char| "#-+ 0".contains(*char)) {
            flags.push(flag);
        }
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            width.push(digit);
        }
        if chars.next_if(|char| *char == '.').is_some() {
            let mut digits = String::new();
            while let Some(digit) = chars.next_if(char::is_ascii_digit) {
                digits.push(digit);
            }
            precision = Some(digits.parse::<usize>().unwrap_or(0).min(4096));
        }
        let letter = chars.next().unwrap_or(' ');
        let bad = |letter: &str| format!("bad conversion character %{letter}");
        let (shape, usual, allowed): (Shape, usize, &[usize]) = match letter {
            'c' => (Shape::Char, 1, &[1]),
            'd' | 'i' => (Shape::Signed, 4, &[1, 2, 4, 8]),
            'o' | 'u' | 'x' | 'X' => (Shape::Unsigned(base_of(letter)), 4, &[1, 2, 4, 8]),
            'e' | 'E' | 'f' | 'g' | 'G' => (Shape::Float, 8, &[4, 8]),
            's' => {
                let length = precision.or(bytes);
                let length =
                    length.ok_or_else(|| "%s requires a precision or a byte count".to_owned())?;
                (Shape::Bytes, length, &[])
            }
            '_' => match chars.next() {
                Some('c') => (Shape::Named, 1, &[1]),
                Some('p') => (Shape::Printable, 1, &[1]),
                Some('u') => (Shape::Control, 1, &[1]),
                Some(kind @ ('a' | 'A')) => {
                    let base = base_of(chars.next().unwrap_or('d'));
                    let shape = if kind == 'a' {
                        Shape::Address(base)
                    } else {
                        Shape::End(base)
                    };
                    (shape, 0, &[])
                }
                other => return Err(bad(&format!("_{}", other.unwrap_or(' ')))),
            },
            letter => return Err(bad(&letter.to_string())),
        };
        let takes = !matches!(shape, Shape::Address(_) | Shape::End(_) | Shape::Bytes);
        let size = bytes.filter(|_| takes).unwrap_or(usual);
        if takes && !allowed.contains(&size) {
            return Err(format!("bad byte count for conversion character {letter}"));
        }
        parts.push(Part {
            text: std::mem::take(&mut plain),
            after: String::new(),
            shape,
            bytes: size,
            flags,
            width: width.parse().unwrap_or(0).min(4096),
            precision,
            trailing: 0,
        });
    }
    match parts.last_mut() {
        Some(last) => last.after = plain,
        None => parts.push(Part {
            text: plain,
            after: String::new(),
            shape: Shape::Text,
            bytes: bytes.unwrap_or(0),
            flags: String::new(),
            width: 0,
            precision: None,
            trailing: 0,
        }),
    }
    Ok(parts)
}

impl Part {
    fn around(&self, value: &str, out: &mut Vec<u8>) {
        let width = self.width;
        out.extend_from_slice(self.text.as_bytes());
        let padded = if self.flags.contains('-') {
            format!("{value:<width$}")
        } else {
            format!("{value:>width$}")
        };
        out.extend_from_slice(padded.as_bytes());
        out.extend_from_slice(self.after.as_bytes());
    }

    /// Writes blanks in place of what is beyond the end.
    pub(super) fn blank(&self, out: &mut Vec<u8>) {
        let width = match self.shape {
            Shape::Printable | Shape::Char | Shape::Named | Shape::Control => self.width,
            _ => self.width.max(self.precision.unwrap_or(0)),
        };
        out.extend_from_slice(self.text.as_bytes());
        out.extend(std::iter::repeat_n(b' ', width));
        out.extend_from_slice(self.after.as_bytes());
    }

    pub(super) fn number(&self, value: u64, out: &mut Vec<u8>) {
        let (Shape::Address(base) | Shape::End(base) | Shape::Unsigned(base)) = self.shape else {
            return;
        };
        let digits = match base {
            Base::Decimal => value.to_string(),
            Base::Octal => format!("{value:o}"),
            Base::Hex => format!("{value:x}"),
            Base::UpperHex => format!("{value:X}"),
        };
        let prefix = match base {
            Base::Octal if self.flags.contains('#') => "0",
            Base::Hex if self.flags.contains('#') && value != 0 => "0x",
            Base::UpperHex if self.flags.contains('#') && value != 0 => "0X",
            _ => "",
        };
        self.digits("", prefix, &digits, out);
    }

    /// Writes digits with the zeros that the precision or the flag asks for.
    fn digits(&self, sign: &str, prefix: &str, digits: &str, out: &mut Vec<u8>) {
        let around = sign.len() + prefix.len();
        let zeros = match self.precision {
            Some(precision) => precision,
            None if self.flags.contains('0') && !self.flags.contains('-') => {
                self.width.saturating_sub(around)
            }
            None => 0,
        };
        self.around(&format!("{sign}{prefix}{digits:0>zeros$}"), out);
    }

    /// Writes bytes, which are a number of this machine.
    pub(super) fn write(&self, bytes: &[u8], out: &mut Vec<u8>) {
        let mut whole = [0; 8];
        for (place, byte) in whole.iter_mut().zip(bytes) {
            *place = *byte;
        }
        let value = u64::from_le_bytes(whole);
        let first = bytes.first().copied().unwrap_or(0);
        match self.shape {
            Shape::Unsigned(_) | Shape::Address(_) | Shape::End(_) => self.number(value, out),
            Shape::Signed => {
                let unused = 64 - 8 * u32::try_from(bytes.len()).unwrap_or(8);
                let value = (value.cast_signed() << unused) >> unused;
                let sign = match value {
                    ..0 => "-",
                    _ if self.flags.contains('+') => "+",
                    _ if self.flags.contains(' ') => " ",
                    _ => "",
                };
                self.digits(sign, "", &value.unsigned_abs().to_string(), out);
            }
            Shape::Float => {
                let value = match bytes.first_chunk::<4>() {
                    Some(four) if bytes.len() == 4 => f64::from(f32::from_le_bytes(*four)),
                    _ => f64::from_le_bytes(whole),
                };
                let precision = self.precision.unwrap_or(6);
                self.around(&format!("{value:.precision$}"), out);
            }
            Shape::Char => self.around(&char::from(first).to_string(), out),
            Shape::Printable => {
                let shown = match first {
                    32..=126 => char::from(first),
                    _ => '.',
                };
                self.around(&shown.to_string(), out);
            }
            Shape::Named => {
                let shown = match first {
                    0 => "\\0".to_owned(),
                    7 => "\\a".to_owned(),
                    8 => "\\b".to_owned(),
                    12 => "\\f".to_owned(),
                    b'\n' => "\\n".to_owned(),
                    b'\r' => "\\r".to_owned(),
                    b'\t' => "\\t".to_owned(),
                    11 => "\\v".to_owned(),
                    32..=126 => char::from(first).to_string(),
                    _ => format!("{first:03o}"),
                };
                self.around(&shown, out);
            }
            Shape::Control => {
                let shown = match NAMES.get(usize::from(first)) {
                    Some(name) => (*name).to_owned(),
                    None if first == 127 => "del".to_owned(),
                    None if first < 127 => char::from(first).to_string(),
                    None => {
                        let mut text = String::new();
                        let _ = write!(text, "{first:02x}");
                        text
                    }
                };
                self.around(&shown, out);
            }
            Shape::Bytes => {
                let end = bytes
                    .iter()
                    .position(|byte| *byte == 0)
                    .unwrap_or(bytes.len());
                let text = bytes.get(..end).unwrap_or_default();
                self.around(&String::from_utf8_lossy(text), out);
            }
            Shape::Text => {}
        }
    }
}
