//! `--line-format`, `--GTYPE-group-format`, `-D`: texts made of groups of lines.

use super::lines::Compared;
use super::pen::Pen;
use crate::commands::call::Failure;
use crate::commands::options::Line;

/// The most characters of a number in a format.
const WIDTH: usize = 4096;

/// How deep `%(…)` stand in one another.
const DEPTH: usize = 32;

/// The formats of lines and groups that are old, new, unchanged and, for groups, changed.
pub(super) struct Groups {
    lines: [String; 3],
    groups: [String; 4],
}

const OLD: usize = 0;
const NEW: usize = 1;
const UNCHANGED: usize = 2;
const CHANGED: usize = 3;
const KINDS: [&str; 4] = ["old", "new", "unchanged", "changed"];

/// The lines of a group in each file, from 0.
struct Group {
    old: (usize, usize),
    new: (usize, usize),
}

impl Group {
    /// What a letter stands for.
    fn value(&self, letter: u8) -> Option<usize> {
        let (from, to) = if letter.is_ascii_uppercase() {
            self.new
        } else {
            self.old
        };
        Some(match letter.to_ascii_lowercase() {
            b'e' => from,
            b'f' => from + 1,
            b'l' => to,
            b'm' => to + 1,
            b'n' => to - from,
            _ => return None,
        })
    }
}

impl Groups {
    pub(super) fn read(line: &Line) -> Result<Self, Failure> {
        let mut groups: [Option<String>; 4] = Default::default();
        let mut lines: [Option<String>; 3] = Default::default();
        let set = |slot: Option<&mut Option<String>>, option: &str, text: String| {
            let Some(slot) = slot else { return Ok(()) };
            if slot.as_ref().is_some_and(|other| *other != text) {
                let text = format!(
                    "conflicting {option} option value '{text}'\ndiff: Try 'diff --help' for more information."
                );
                return Err(Failure::new(2, text));
            }
            *slot = Some(text);
            Ok(())
        };
        for (option, value) in line.given() {
            let value = value.unwrap_or_default();
            let kind = |suffix: &str| {
                let kind = option.strip_suffix(suffix)?;
                KINDS.iter().position(|name| *name == kind)
            };
            let shown = format!("--{option}");
            if option == "ifdef" {
                let texts = [
                    format!("#ifndef {value}\n%<#endif /* ! {value} */\n"),
                    format!("#ifdef {value}\n%>#endif /* {value} */\n"),
                    "%=".to_owned(),
                    format!("#ifndef {value}\n%<#else /* {value} */\n%>#endif /* {value} */\n"),
                ];
                for (slot, text) in groups.iter_mut().zip(texts) {
                    set(Some(slot), "-D", text)?;
                }
            } else if option == "line-format" {
                for slot in &mut lines {
                    set(Some(slot), &shown, value.to_owned())?;
                }
            } else if let Some(kind) = kind("-line-format") {
                set(lines.get_mut(kind), &shown, value.to_owned())?;
            } else if let Some(kind) = kind("-group-format") {
                set(groups.get_mut(kind), &shown, value.to_owned())?;
            }
        }
        let [old, new, unchanged, changed] = groups;
        let old = old.unwrap_or_else(|| "%<".to_owned());
        let new = new.unwrap_or_else(|| "%>".to_owned());
        let changed = changed.unwrap_or_else(|| format!("{old}{new}"));
        let unchanged = unchanged.unwrap_or_else(|| "%=".to_owned());
        Ok(Self {
            lines: lines.map(|text| text.unwrap_or_else(|| "%l\n".to_owned())),
            groups: [old, new, unchanged, changed],
        })
    }

    pub(super) fn print(&self, out: &mut Vec<u8>, pen: &Pen, compared: &Compared) {
        let mut at = (0, 0);
        let unchanged = |out: &mut Vec<u8>, from: (usize, usize), to: (usize, usize)| {
            if from != to {
                let group = Group {
                    old: (from.0, to.0),
                    new: (from.1, to.1),
                };
                self.group(Some(out), pen, compared, &group, UNCHANGED);
            }
        };
        for change in compared.counted() {
            unchanged(out, at, (change.from, change.other_from));
            let group = Group {
                old: (change.from, change.to),
                new: (change.other_from, change.other_to),
            };
            let kind = match change.letter() {
                'a' => NEW,
                'd' => OLD,
                _ => CHANGED,
            };
            self.group(Some(out), pen, compared, &group, kind);
            at = (change.to, change.other_to);
        }
        unchanged(out, at, (compared.one.len(), compared.other.len()));
    }

    fn group(
        &self,
        out: Option<&mut Vec<u8>>,
        pen: &Pen,
        compared: &Compared,
        group: &Group,
        kind: usize,
    ) {
        let format = self.groups.get(kind).map_or("", String::as_str);
        let writer = Writer {
            groups: self,
            pen,
            compared,
            group,
        };
        writer.write(out, format.as_bytes(), None, 0);
    }

    fn line_format(&self, kind: usize) -> &[u8] {
        self.lines.get(kind).map_or(b"", |text| text.as_bytes())
    }
}

struct Writer<'a, 'b> {
    groups: &'a Groups,
    pen: &'a Pen,
    compared: &'a Compared<'b>,
    group: &'a Group,
}

impl Writer<'_, '_> {
    /// Writes a format up to a character, and returns what is left, from that character on.
    fn write<'f>(
        &self,
        mut out: Option<&mut Vec<u8>>,
        format: &'f [u8],
        end: Option<u8>,
        depth: usize,
    ) -> &'f [u8] {
        let mut rest = format;
        while let Some((first, after)) = rest.split_first() {
            if Some(*first) == end {
                break;
            }
            rest = after;
            if *first == b'%' {
                if let Some(after) = self.directive(out.as_deref_mut(), rest, depth) {
                    rest = after;
                    continue;
                }
                if let Some(after) = rest.strip_prefix(b"%") {
                    rest = after;
                }
            }
            if let Some(out) = out.as_deref_mut() {
                out.push(*first);
            }
        }
        rest
    }

    /// Writes what stands after a percent sign, and returns what is left; `None` if it is no directive.
    fn directive<'f>(
        &self,
        out: Option<&mut Vec<u8>>,
        format: &'f [u8],
        depth: usize,
    ) -> Option<&'f [u8]> {
        let (first, rest) = format.split_first()?;
        let (old, new) = (self.group.old, self.group.new);
        let compared = self.compared;
        match first {
            b'(' if depth < DEPTH => {
                let (one, rest) = self.operand(rest)?;
                let (other, rest) = self.operand(rest.strip_prefix(b"=")?)?;
                let rest = rest.strip_prefix(b"?")?;
                let (then, or_else) = if one == other {
                    (out, None)
                } else {
                    (None, out)
                };
                let rest = self.write(then, rest, Some(b':'), depth + 1);
                let Some(rest) = rest.strip_prefix(b":") else {
                    return Some(rest);
                };
                let rest = self.write(or_else, rest, Some(b')'), depth + 1);
                Some(rest.strip_prefix(b")").unwrap_or(rest))
            }
            b'<' => {
                self.lines(out, OLD, &compared.one, old);
                Some(rest)
            }
            b'=' => {
                self.lines(out, UNCHANGED, &compared.one, old);
                Some(rest)
            }
            b'>' => {
                self.lines(out, NEW, &compared.other, new);
                Some(rest)
            }
            _ => number(out, format, |letter| self.group.value(letter)),
        }
    }

    fn operand<'f>(&self, format: &'f [u8]) -> Option<(usize, &'f [u8])> {
        let digits = format
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits > 0 {
            let (digits, rest) = format.split_at_checked(digits)?;
            let number = str::from_utf8(digits).ok()?.parse().unwrap_or(usize::MAX);
            return Some((number, rest));
        }
        let (letter, rest) = format.split_first()?;
        Some((self.group.value(*letter)?, rest))
    }

    fn lines(
        &self,
        out: Option<&mut Vec<u8>>,
        kind: usize,
        lines: &[&[u8]],
        range: (usize, usize),
    ) {
        let (Some(out), Some(lines)) = (out, lines.get(range.0..range.1)) else {
            return;
        };
        for (index, line) in lines.iter().enumerate() {
            let content = line.strip_suffix(b"\n").unwrap_or(line);
            let mut rest = self.groups.line_format(kind);
            while let Some((first, after)) = rest.split_first() {
                rest = after;
                if *first != b'%' {
                    out.push(*first);
                    continue;
                }
                match rest.split_first() {
                    Some((b'l', after)) => {
                        self.pen.content(out, content);
                        rest = after;
                    }
                    Some((b'L', after)) => {
                        self.pen.content(out, content);
                        if content.len() < line.len() {
                            out.push(b'\n');
                        }
                        rest = after;
                    }
                    Some((b'%', after)) => {
                        out.push(b'%');
                        rest = after;
                    }
                    _ => {
                        let place = range.0 + index + 1;
                        let value = |letter| (letter == b'n').then_some(place);
                        match number(Some(out), rest, value) {
                            Some(after) => rest = after,
                            None => out.push(b'%'),
                        }
                    }
                }
            }
        }
    }
}

/// Writes `%[-'0][width][.precision]{doxX}LETTER` or `%c'C'`, and returns what is left.
fn number<'f>(
    out: Option<&mut Vec<u8>>,
    format: &'f [u8],
    value: impl Fn(u8) -> Option<usize>,
) -> Option<&'f [u8]> {
    if let Some(rest) = format.strip_prefix(b"c'") {
        let (first, after) = rest.split_first()?;
        let (byte, after) = if *first == b'\\' {
            let digits = after
                .iter()
                .take(3)
                .take_while(|byte| matches!(byte, b'0'..=b'7'))
                .count();
            let (digits, after) = after.split_at_checked(digits)?;
            (
                u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok()?,
                after,
            )
        } else {
            (*first, after)
        };
        let after = after.strip_prefix(b"'")?;
        if let Some(out) = out {
            out.push(byte);
        }
        return Some(after);
    }
    let mut rest = format;
    let (mut is_left, mut has_zeros) = (false, false);
    while let Some((flag @ (b'-' | b'\'' | b'0'), after)) = rest.split_first() {
        is_left |= *flag == b'-';
        has_zeros |= *flag == b'0';
        rest = after;
    }
    let digits = |rest: &'f [u8]| -> Option<(Option<usize>, &'f [u8])> {
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, after) = rest.split_at_checked(count)?;
        let number: Option<usize> = str::from_utf8(digits).ok()?.parse().ok();
        Some((number.map(|number| number.min(WIDTH)), after))
    };
    let (width, after) = digits(rest)?;
    rest = after;
    let mut precision = None;
    if let Some(after) = rest.strip_prefix(b".") {
        let (number, after) = digits(after)?;
        precision = Some(number.unwrap_or(0));
        rest = after;
    }
    let (base, after) = rest.split_first()?;
    let (letter, after) = after.split_first()?;
    let value = value(*letter)?;
    let digits = match base {
        b'd' => value.to_string(),
        b'o' => format!("{value:o}"),
        b'x' => format!("{value:x}"),
        b'X' => format!("{value:X}"),
        _ => return None,
    };
    let Some(out) = out else { return Some(after) };
    let digits = format!("{digits:0>0$}", precision.unwrap_or(1));
    let width = width.unwrap_or(0);
    let text = if is_left {
        format!("{digits:<width$}")
    } else if has_zeros && precision.is_none() {
        format!("{digits:0>width$}")
    } else {
        format!("{digits:>width$}")
    };
    out.extend_from_slice(text.as_bytes());
    Some(after)
}
