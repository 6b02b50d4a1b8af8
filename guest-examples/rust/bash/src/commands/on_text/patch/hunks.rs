//! The hunks of a patch, in each of its formats.

use std::borrow::Cow;

use super::kind::Kind;
use super::reader::{Reader, Wrapping};
use crate::commands::call::Failure;
use crate::commands::on_text::diff::hunk::{Hunk, Row};

/// A hunk that owns its lines: those of a patch may be unwrapped.
pub(super) struct OwnedHunk {
    pub(super) old: usize,
    pub(super) new: usize,
    rows: Vec<OwnedRow>,
    function: Vec<u8>,
}

enum OwnedRow {
    Same(Vec<u8>),
    Old(Vec<u8>),
    New(Vec<u8>),
}

impl OwnedHunk {
    pub(super) fn borrowed(&self) -> Hunk<'_> {
        let rows = self.rows.iter().map(|row| match row {
            OwnedRow::Same(line) => Row::Same(line, line),
            OwnedRow::Old(line) => Row::Old(line),
            OwnedRow::New(line) => Row::New(line),
        });
        let mut hunk = Hunk::new(self.old, self.new, rows.collect());
        hunk.function = Cow::Borrowed(&self.function);
        hunk
    }

    pub(super) fn new_lines(&self) -> impl Iterator<Item = &[u8]> {
        self.rows.iter().filter_map(|row| match row {
            OwnedRow::Same(line) | OwnedRow::New(line) => Some(&**line),
            OwnedRow::Old(_) => None,
        })
    }
}

/// The most lines of a hunk that a header may name.
const MOST_LINES: usize = 1 << 30;

fn malformed(reader: &Reader, line: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(line);
    let at = reader.at;
    Failure::new(2, format!("**** malformed patch at line {at}: {text}"))
}

fn too_short() -> Failure {
    Failure::new(2, "**** unexpected end of file in patch")
}

/// Reads the next hunk. `None` if there is none where the reader is.
///
/// # Errors
/// The hunk is not as its header says.
pub(super) fn read(
    reader: &mut Reader,
    kind: Kind,
    wrapping: Wrapping,
) -> Result<Option<OwnedHunk>, Failure> {
    let start = reader.at;
    let hunk = match kind {
        Kind::Unified => unified(reader, wrapping)?,
        Kind::Context | Kind::NewContext => context(reader, wrapping)?,
        Kind::Normal => normal(reader, wrapping)?,
        Kind::Ed | Kind::GitBinary => None,
    };
    if hunk.is_none() {
        reader.at = start;
    }
    Ok(hunk)
}

/// Reads a number and returns what follows it.
fn number(text: &[u8]) -> Option<(usize, &[u8])> {
    let end = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at_checked(end)?;
    let number: usize = str::from_utf8(digits).ok()?.parse().ok()?;
    (number < MOST_LINES).then_some((number, rest))
}

/// Reads `3` or `3,5`: a first line and a second number.
fn pair(text: &[u8]) -> Option<(usize, Option<usize>, &[u8])> {
    let (first, rest) = number(text)?;
    match rest.strip_prefix(b",") {
        Some(rest) => {
            let (second, rest) = number(rest)?;
            Some((first, Some(second), rest))
        }
        None => Some((first, None, rest)),
    }
}

/// The number of lines before a range, from its first line and its length.
fn before(first: usize, count: usize) -> usize {
    if count == 0 {
        first
    } else {
        first.saturating_sub(1)
    }
}

fn without_end(line: &mut Vec<u8>) {
    if line.last() == Some(&b'\n') {
        line.pop();
    }
}

fn unified(reader: &mut Reader, wrapping: Wrapping) -> Result<Option<OwnedHunk>, Failure> {
    let Some(head) = reader.unwrapped(wrapping) else {
        return Ok(None);
    };
    let Some(text) = head.strip_prefix(b"@@ -") else {
        return Ok(None);
    };
    let numbers = || {
        let (old, old_count, rest) = pair(text)?;
        let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"+")?;
        let (new, new_count, rest) = pair(rest)?;
        let rest = rest.strip_prefix(b" ").unwrap_or(rest).strip_prefix(b"@")?;
        Some((
            old,
            old_count.unwrap_or(1),
            new,
            new_count.unwrap_or(1),
            rest,
        ))
    };
    let Some((old, old_count, new, new_count, rest)) = numbers() else {
        return Err(malformed(reader, &head));
    };
    let function = rest
        .strip_prefix(b"@")
        .filter(|rest| rest.starts_with(b" "));
    let function = function.unwrap_or_default().trim_ascii_end().to_vec();
    let (mut old_left, mut new_left) = (old_count, new_count);
    let mut rows = Vec::new();
    while old_left > 0 || new_left > 0 {
        let line = match reader.unwrapped(wrapping) {
            Some(line) => line,
            // Mailers drop blank lines at the end.
            None if new_left <= 3 => Cow::Borrowed(&b" \n"[..]),
            None => return Err(too_short()),
        };
        let (sign, content) = match line.split_first() {
            Some((b'\t' | b'\n', _)) | None => (b' ', &*line),
            Some((sign, content)) => (*sign, content),
        };
        let mut content = content.to_vec();
        let (is_old, is_new) = match sign {
            b'-' => (true, false),
            b'+' => (false, true),
            b' ' | b'=' => (true, true),
            _ => return Err(malformed(reader, &line)),
        };
        if is_old && old_left == 0 || is_new && new_left == 0 {
            return Err(malformed(reader, &line));
        }
        old_left -= usize::from(is_old);
        new_left -= usize::from(is_new);
        if (is_old && old_left == 0 || is_new && new_left == 0) && reader.takes_no_end() {
            without_end(&mut content);
        }
        rows.push(match (is_old, is_new) {
            (true, true) => OwnedRow::Same(content),
            (true, false) => OwnedRow::Old(content),
            _ => OwnedRow::New(content),
        });
    }
    if rows.iter().all(|row| matches!(row, OwnedRow::Same(_))) {
        return Err(malformed(reader, b"\n"));
    }
    Ok(Some(OwnedHunk {
        old: before(old, old_count),
        new: before(new, new_count),
        rows,
        function,
    }))
}

/// A line of one half of a hunk in context format.
type Signed = (u8, Vec<u8>);

fn context(reader: &mut Reader, wrapping: Wrapping) -> Result<Option<OwnedHunk>, Failure> {
    let Some(stars) = reader.unwrapped(wrapping) else {
        return Ok(None);
    };
    let Some(function) = stars.strip_prefix(b"********") else {
        return Ok(None);
    };
    let end = function.iter().position(|byte| *byte != b'*');
    let function = function
        .get(end.unwrap_or(function.len())..)
        .unwrap_or_default();
    let function = function.trim_ascii_end().to_vec();
    let head = reader.unwrapped(wrapping).ok_or_else(too_short)?;
    let Some(range) = head.strip_prefix(b"*** ") else {
        return Err(malformed(reader, &head));
    };
    let (old, old_count) = range_of(range).ok_or_else(|| malformed(reader, &head))?;
    let mut old_half = Vec::new();
    let head = half(reader, wrapping, old_count, &mut old_half)?;
    let head = match head {
        Some(head) => head,
        None => reader.unwrapped(wrapping).ok_or_else(too_short)?,
    };
    let Some(range) = head.strip_prefix(b"--- ") else {
        return Err(malformed(reader, &head));
    };
    let (new, new_count) = range_of(range).ok_or_else(|| malformed(reader, &head))?;
    let mut new_half = Vec::new();
    // A half without changes may be left out: the other one has its lines.
    let may_miss = old_half.len() == old_count;
    let follows = half_follows(reader, wrapping);
    if follows || !may_miss || new_count > 0 && old_half.iter().all(|(sign, _)| *sign != b' ') {
        if new_count > 0 {
            half(reader, wrapping, new_count, &mut new_half)?;
        }
    }
    let (old_is_whole, new_is_whole) = (old_half.len() == old_count, new_half.len() == new_count);
    let same = |half: &[Signed]| -> Vec<Signed> {
        half.iter()
            .filter(|(sign, _)| *sign == b' ')
            .cloned()
            .collect()
    };
    match (old_is_whole, new_is_whole) {
        (true, true) => {}
        (true, false) if new_half.is_empty() => new_half = same(&old_half),
        (false, true) if old_half.is_empty() => old_half = same(&new_half),
        _ => return Err(malformed(reader, &head)),
    }
    if old_half.len() != old_count || new_half.len() != new_count {
        return Err(malformed(reader, &head));
    }
    let rows = merged(old_half, new_half).ok_or_else(|| {
        let at = reader.at;
        let text =
            format!("**** Out-of-sync patch at line {at}--mangled text or line numbers, maybe?");
        Failure::new(2, text)
    })?;
    Ok(Some(OwnedHunk {
        old: before(old, old_count),
        new: before(new, new_count),
        rows,
        function,
    }))
}

/// Reads `3,5 ****`, or `3 ****`: the first line and how many there are.
fn range_of(text: &[u8]) -> Option<(usize, usize)> {
    let (first, last, _) = pair(text)?;
    match last {
        Some(last) => Some((first, (last + 1).checked_sub(first)?)),
        None => Some((first, usize::from(first > 0))),
    }
}

/// Whether the next line belongs to a half of a hunk.
fn half_follows(reader: &mut Reader, wrapping: Wrapping) -> bool {
    let (at, is_torn) = (reader.at, reader.is_torn);
    let next = reader.unwrapped(wrapping);
    (reader.at, reader.is_torn) = (at, is_torn);
    next.is_some_and(|line| {
        matches!(
            &*line,
            [b' ' | b'!' | b'+' | b'-', b' ' | b'\t', ..] | b"\n"
        )
    })
}

/// Reads the lines of a half. Returns the head of the other half if that comes first.
fn half<'a>(
    reader: &mut Reader<'a>,
    wrapping: Wrapping,
    count: usize,
    lines: &mut Vec<Signed>,
) -> Result<Option<Cow<'a, [u8]>>, Failure> {
    while lines.len() < count {
        let line = match reader.unwrapped(wrapping) {
            Some(line) => line,
            None if count - lines.len() < 3 && !lines.is_empty() => Cow::Borrowed(&b"  \n"[..]),
            None => return Err(too_short()),
        };
        if line.starts_with(b"--- ") && lines.is_empty() {
            return Ok(Some(line));
        }
        let (sign, content) = match &*line {
            [b'\n'] => (b' ', &*line),
            [b'\t', ..] => (b' ', &*line),
            [sign @ (b' ' | b'!' | b'+' | b'-'), b' ', content @ ..] => (*sign, content),
            [sign @ (b' ' | b'!' | b'+' | b'-'), content @ ..] => (*sign, content),
            _ => return Err(malformed(reader, &line)),
        };
        let mut content = content.to_vec();
        if lines.len() + 1 == count && reader.takes_no_end() {
            without_end(&mut content);
        }
        lines.push((sign, content));
    }
    Ok(None)
}

/// Both halves as one row of lines; `None` if they do not fit.
fn merged(old: Vec<Signed>, new: Vec<Signed>) -> Option<Vec<OwnedRow>> {
    let mut rows = Vec::new();
    let (mut old, mut new) = (old.into_iter().peekable(), new.into_iter().peekable());
    loop {
        while let Some((_, line)) = old.next_if(|(sign, _)| *sign != b' ') {
            rows.push(OwnedRow::Old(line));
        }
        while let Some((_, line)) = new.next_if(|(sign, _)| *sign != b' ') {
            rows.push(OwnedRow::New(line));
        }
        match (old.next(), new.next()) {
            (Some((_, line)), Some(_)) => rows.push(OwnedRow::Same(line)),
            (None, None) => return Some(rows),
            _ => return None,
        }
    }
}

fn normal(reader: &mut Reader, wrapping: Wrapping) -> Result<Option<OwnedHunk>, Failure> {
    let Some(head) = reader.unwrapped(wrapping) else {
        return Ok(None);
    };
    if !head.first().is_some_and(u8::is_ascii_digit) {
        return Ok(None);
    }
    let numbers = || {
        let (old, old_last, rest) = pair(&head)?;
        let (letter, rest) = rest.split_first()?;
        let (new, new_last, _) = pair(rest)?;
        let count =
            |first: usize, last: Option<usize>| (last.unwrap_or(first) + 1).checked_sub(first);
        let old_count = if *letter == b'a' {
            0
        } else {
            count(old, old_last)?
        };
        let new_count = if *letter == b'd' {
            0
        } else {
            count(new, new_last)?
        };
        matches!(letter, b'a' | b'c' | b'd').then_some((old, old_count, new, new_count))
    };
    let Some((old, old_count, new, new_count)) = numbers() else {
        return Ok(None);
    };
    let mut rows = Vec::new();
    let mut lines = |reader: &mut Reader, sign: u8, count: usize, of: fn(Vec<u8>) -> OwnedRow| {
        for index in 0..count {
            let line = reader.unwrapped(wrapping).ok_or_else(too_short)?;
            let mut content = match &*line {
                [first, b' ', content @ ..] if *first == sign => content.to_vec(),
                [first, content @ ..] if *first == sign => content.to_vec(),
                _ => {
                    let sign = char::from(sign);
                    let text = format!(
                        "**** '{sign}' followed by space or tab expected at line {} of patch",
                        reader.at
                    );
                    return Err(Failure::new(2, text));
                }
            };
            if index + 1 == count && reader.takes_no_end() {
                without_end(&mut content);
            }
            rows.push(of(content));
        }
        Ok(())
    };
    lines(reader, b'<', old_count, OwnedRow::Old)?;
    if old_count > 0 && new_count > 0 {
        let line = reader.unwrapped(wrapping).ok_or_else(too_short)?;
        if !line.starts_with(b"-") {
            let text = format!("**** '---' expected at line {} of patch", reader.at);
            return Err(Failure::new(2, text));
        }
    }
    lines(reader, b'>', new_count, OwnedRow::New)?;
    Ok(Some(OwnedHunk {
        old: before(old, old_count),
        new: before(new, new_count),
        rows,
        function: Vec::new(),
    }))
}
