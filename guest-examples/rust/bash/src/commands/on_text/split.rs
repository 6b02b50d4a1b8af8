//! `split`: a file in pieces.

use super::sizes;
use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::on_files::quoted;
use crate::commands::options::{Line, Numbers, Spec, flag, optional, value};
use crate::files::text_of;

const SPEC: Spec = Spec::new(&[
    value('a', "suffix-length"),
    value('\0', "additional-suffix"),
    value('b', "bytes"),
    value('C', "line-bytes"),
    flag('d', ""),
    optional('\0', "numeric-suffixes"),
    flag('x', ""),
    optional('\0', "hex-suffixes"),
    flag('e', "elide-empty-files"),
    value('l', "lines"),
    value('n', "number"),
    value('t', "separator"),
    flag('u', "unbuffered"),
    flag('\0', "verbose"),
])
.numbers(Numbers::Value);

pub(super) const SPLIT: Command = Command::new("split", SPEC, split);

/// The most pieces: a folder with more is of no use.
const MOST_PIECES: u64 = 100_000;

const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyz";
const DIGITS: &[u8] = b"0123456789";
const HEX: &[u8] = b"0123456789abcdef";

enum Pieces {
    Lines(u64),
    Bytes(u64),
    /// Whole lines, of at most so many bytes.
    LineBytes(u64),
    /// So many, and the number of the one that is printed.
    Chunks(u64, Option<u64>),
    LineChunks(u64, Option<u64>),
    RoundRobin(u64, Option<u64>),
}

/// The names of the pieces, one after the other.
struct Names {
    prefix: String,
    ending: String,
    alphabet: &'static [u8],
    /// Places in the alphabet.
    digits: Vec<usize>,
    /// Whether names get longer when none is left.
    grows: bool,
    is_first: bool,
}

impl Names {
    fn next(&mut self) -> Result<String, Failure> {
        if !self.is_first {
            self.step()?;
        }
        self.is_first = false;
        let mut name = self.prefix.clone();
        for digit in &self.digits {
            name.extend(self.alphabet.get(*digit).copied().map(char::from));
        }
        name.push_str(&self.ending);
        Ok(name)
    }

    fn step(&mut self) -> Result<(), Failure> {
        let last = self.alphabet.len() - 1;
        for digit in self.digits.iter_mut().rev() {
            if *digit < last {
                *digit += 1;
                break;
            }
            *digit = 0;
        }
        // The last letter in the first place begins longer names, so that names stay in order.
        if self.grows && self.digits.first() == Some(&last) {
            self.prefix
                .push(char::from(self.alphabet.get(last).copied().unwrap_or(b'z')));
            let length = self.digits.len() + 1;
            self.digits = vec![0; length];
        } else if self.digits.iter().all(|digit| *digit == 0) {
            return Err(Failure::new(1, "output file suffixes exhausted"));
        }
        Ok(())
    }
}

fn split(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    if let Some(extra) = line.operands.get(2) {
        return Err(call.misuse(format!("extra operand {}", call.quoted(extra))));
    }
    let pieces = pieces(call, line)?;
    let separator = match line.value("separator") {
        None => b'\n',
        Some("\\0") => 0,
        Some(text) => match text.as_bytes() {
            [byte] => *byte,
            [] => return Err(Failure::new(1, "empty record separator")),
            _ => {
                let text = call.quoted(text);
                return Err(Failure::new(1, format!("multi-character separator {text}")));
            }
        },
    };
    let mut names = names(call, line, &pieces)?;
    let input = line.operands.first().map_or("-", String::as_str);
    let text = call.read(input).map_err(|error| {
        let why = text_of(&error);
        Failure::new(1, format!("cannot open '{input}' for reading: {why}"))
    })?;
    let text = text.into_owned();
    let is_by_size = matches!(pieces, Pieces::Chunks(..) | Pieces::LineChunks(..));
    if is_by_size && input == "-" && !call.stdin_is_file {
        return Err(Failure::new(1, "-: cannot determine file size"));
    }
    let is_chunks = matches!(
        pieces,
        Pieces::Chunks(..) | Pieces::LineChunks(..) | Pieces::RoundRobin(..)
    );
    let (parts, printed) = parts(&pieces, &text, separator);
    if let Some(printed) = printed {
        let index = usize::try_from(printed - 1).unwrap_or(usize::MAX);
        for part in parts.get(index).into_iter().flatten() {
            call.print(part);
        }
        return Ok(0);
    }
    for part in parts {
        let is_empty = part.iter().all(|part| part.is_empty());
        if is_empty && (!is_chunks || line.has("elide-empty-files")) {
            continue;
        }
        let name = names.next()?;
        if input != "-" && call.path(&name) == call.path(input) {
            let name = call.quoted(&name);
            return Err(Failure::new(
                1,
                format!("{name} would overwrite input; aborting"),
            ));
        }
        if line.has("verbose") {
            call.print(format!("creating file {}\n", quoted(&name)));
        }
        let content = part.concat();
        call.files
            .write(&call.path(&name), &content)
            .map_err(|error| Failure::new(1, format!("{name}: {}", text_of(&error))))?;
    }
    Ok(0)
}

fn pieces(call: &Call, line: &Line) -> Result<Pieces, Failure> {
    let size = |text: &str, what: &str| {
        let size = sizes::size(text).filter(|size| *size > 0);
        size.ok_or_else(|| {
            Failure::new(
                1,
                format!("invalid number of {what}: {}", call.quoted(text)),
            )
        })
    };
    let mut pieces = None;
    for (name, value) in line.given() {
        let value = value.unwrap_or_default();
        let next = match &*name {
            "lines" => Pieces::Lines(size(value, "lines")?),
            // `-5`
            "number" if call.args.contains(&format!("-{value}")) => {
                Pieces::Lines(size(value, "lines")?)
            }
            "bytes" => Pieces::Bytes(size(value, "bytes")?),
            "line-bytes" => Pieces::LineBytes(size(value, "bytes")?),
            "number" => chunks(call, value)?,
            _ => continue,
        };
        if pieces.is_some() {
            return Err(call.misuse("cannot split in more than one way"));
        }
        pieces = Some(next);
    }
    Ok(pieces.unwrap_or(Pieces::Lines(1000)))
}

fn chunks(call: &Call, text: &str) -> Result<Pieces, Failure> {
    let wrong = || {
        let text = call.quoted(text);
        Failure::new(1, format!("invalid number of chunks: {text}"))
    };
    let (kind, rest) = match text.split_at_checked(2) {
        Some(("l/", rest)) => ('l', rest),
        Some(("r/", rest)) => ('r', rest),
        _ => ('b', text),
    };
    let number = |text: &str| sizes::size(text).filter(|number| *number > 0);
    let (which, count) = match rest.split_once('/') {
        Some((which, count)) => (Some(which), count),
        None => (None, rest),
    };
    let count = number(count).ok_or_else(wrong)?;
    if count > MOST_PIECES {
        let text = format!("{count} chunks are too many: {MOST_PIECES} are the most");
        return Err(Failure::new(1, text));
    }
    let which = match which {
        None => None,
        Some(text) => {
            let which = number(text).filter(|which| *which <= count);
            let quoted = call.quoted(text);
            Some(which.ok_or_else(|| Failure::new(1, format!("invalid chunk number: {quoted}")))?)
        }
    };
    Ok(match kind {
        'l' => Pieces::LineChunks(count, which),
        'r' => Pieces::RoundRobin(count, which),
        _ => Pieces::Chunks(count, which),
    })
}

fn names(call: &Call, line: &Line, pieces: &Pieces) -> Result<Names, Failure> {
    let kinds = ["d", "numeric-suffixes", "x", "hex-suffixes"];
    let kind = line.last_of(&kinds);
    let (alphabet, radix) = match kind {
        Some("d" | "numeric-suffixes") => (DIGITS, 10),
        Some(_) => (HEX, 16),
        None => (LETTERS, 26),
    };
    let start = kind.and_then(|kind| line.value(kind));
    let start_value = match start {
        None => 0,
        Some(text) => u64::from_str_radix(text, radix).map_err(|_| {
            let quoted = call.quoted(text);
            Failure::new(
                1,
                format!("{quoted}: invalid start value for numerical suffix"),
            )
        })?,
    };
    let ending = line.value("additional-suffix").unwrap_or_default();
    if ending.contains('/') {
        let ending = call.quoted(ending);
        let text = format!("invalid suffix {ending}, contains directory separator");
        return Err(call.misuse(text));
    }
    let mut needed = 0;
    if let Pieces::Chunks(count, _) | Pieces::LineChunks(count, _) | Pieces::RoundRobin(count, _) =
        pieces
    {
        let mut last = count - 1;
        if start.is_some() && start_value < *count {
            last = last.saturating_add(start_value);
        }
        loop {
            needed += 1;
            last /= u64::from(radix);
            if last == 0 {
                break;
            }
        }
    }
    let asked = match line.value("suffix-length") {
        None => 0,
        Some(text) => text
            .parse()
            .ok()
            .filter(|length| *length <= 255)
            .ok_or_else(|| {
                let text = call.quoted(text);
                Failure::new(1, format!("invalid suffix length: {text}"))
            })?,
    };
    if asked > 0 && asked < needed {
        let text = format!("the suffix length needs to be at least {needed}");
        return Err(Failure::new(1, text));
    }
    let length: usize = if asked > 0 { asked } else { needed.max(2) };
    let mut digits = Vec::new();
    let mut rest = start_value;
    for _ in 0..length {
        digits.push(usize::try_from(rest % u64::from(radix)).unwrap_or(0));
        rest /= u64::from(radix);
    }
    digits.reverse();
    if rest > 0 {
        let text = "numerical suffix start value is too large for the suffix length";
        return Err(call.misuse(text));
    }
    Ok(Names {
        prefix: line.operands.get(1).map_or("x", String::as_str).to_owned(),
        ending: ending.to_owned(),
        alphabet,
        digits,
        grows: asked == 0 && needed == 0 && start.is_none(),
        is_first: true,
    })
}

/// The pieces, each as texts one after the other, and the number of the one that is printed.
fn parts<'t>(pieces: &Pieces, text: &'t [u8], separator: u8) -> (Vec<Vec<&'t [u8]>>, Option<u64>) {
    let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let lines = || text.split_inclusive(move |byte| *byte == separator);
    match *pieces {
        Pieces::Bytes(bytes) => (
            text.chunks(size(bytes)).map(|part| vec![part]).collect(),
            None,
        ),
        Pieces::Lines(count) => {
            let (mut parts, mut rest) = (Vec::new(), text);
            while !rest.is_empty() {
                let mut ends = memchr::memchr_iter(separator, rest);
                let end = ends.nth(size(count) - 1).map_or(rest.len(), |end| end + 1);
                let (part, after) = rest.split_at(end);
                parts.push(vec![part]);
                rest = after;
            }
            (parts, None)
        }
        Pieces::LineBytes(bytes) => (by_line_bytes(text, size(bytes), separator), None),
        Pieces::Chunks(count, which) => {
            let count = size(count);
            let length = text.len() / count;
            let mut parts = Vec::new();
            let mut rest = text;
            for index in 1..=count {
                let end = if index == count {
                    rest.len()
                } else {
                    length.min(rest.len())
                };
                let (part, after) = rest.split_at(end);
                parts.push(vec![part]);
                rest = after;
            }
            (parts, which)
        }
        Pieces::LineChunks(count, which) => {
            let count = size(count);
            let length = text.len() / count;
            let mut parts = vec![Vec::new(); count];
            let mut at = 0_usize;
            for line in lines() {
                // A line belongs to the chunk in which it begins.
                let index = at.checked_div(length).unwrap_or(0).min(count - 1);
                if let Some(part) = parts.get_mut(index) {
                    part.push(line);
                }
                at += line.len();
            }
            (parts, which)
        }
        Pieces::RoundRobin(count, which) => {
            let mut parts = vec![Vec::new(); size(count)];
            for (index, line) in lines().enumerate() {
                if let Some(part) = parts.get_mut(index % size(count)) {
                    part.push(line);
                }
            }
            (parts, which)
        }
    }
}

fn by_line_bytes(text: &[u8], most: usize, separator: u8) -> Vec<Vec<&[u8]>> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while !rest.is_empty() {
        let window = rest.get(..most).unwrap_or(rest);
        let end = match memchr::memrchr(separator, window) {
            _ if window.len() == rest.len() => rest.len(),
            Some(last) => last + 1,
            None => window.len(),
        };
        let (part, after) = rest.split_at(end);
        parts.push(vec![part]);
        rest = after;
    }
    parts
}
