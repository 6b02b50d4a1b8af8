//! A part of a file, by lines or by bytes, without the rest of it in memory.

use std::io::{self, Read, Seek, SeekFrom};

/// Bytes that are read at once.
const CHUNK: usize = 1 << 16;

/// Bytes behind the part in which lines are still counted.
const COUNTED_MAX: u64 = 64 << 20;

/// What ends a line.
#[derive(Clone, Copy)]
pub(crate) enum LineFeed {
    Byte,
    /// A unit of UTF-16, at an even place.
    Unit([u8; 2]),
}

impl LineFeed {
    /// Returns the end of the first line, with its line feed.
    fn end_in(self, bytes: &[u8]) -> Option<usize> {
        match self {
            Self::Byte => memchr::memchr(b'\n', bytes).map(|at| at + 1),
            Self::Unit(unit) => {
                let at = bytes.chunks_exact(2).position(|it| it == unit);
                at.map(|at| (at + 1) * 2)
            }
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Unit(_) => 2,
        }
    }
}

/// The lines that are wanted.
pub(crate) struct Range {
    /// Number of the first, from 1.
    pub(crate) first: u64,
    pub(crate) limit: u64,
    pub(crate) max_bytes: usize,
    pub(crate) line_feed: LineFeed,
}

/// Lines of a file.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// Place of the first byte in the file.
    pub(crate) start: u64,
    pub(crate) bytes: Vec<u8>,
    pub(crate) count: u64,
    /// Whether the bytes end within their only line, which is longer than all that may be read.
    pub(crate) is_cut: bool,
    /// Lines of the whole file, unless it is too long to count them.
    pub(crate) total: Option<u64>,
}

/// Reads lines of a file that has `size` bytes.
pub(crate) fn lines(source: &mut impl Read, size: u64, range: &Range) -> io::Result<Lines> {
    let chunk = usize::try_from(size).unwrap_or(CHUNK).clamp(1, CHUNK);
    let mut chunk = vec![0; chunk];
    let mut lines = Lines::default();
    let mut reader = Reader {
        range,
        is_done: false,
        whole: 0,
    };
    let (mut at, mut line, mut is_within) = (0u64, 1u64, false);
    let mut done_at = None;
    while at < size {
        let filled = fill(source, &mut chunk)?;
        if filled == 0 {
            break;
        }
        let mut rest = chunk.get(..filled).unwrap_or_default();
        while !rest.is_empty() {
            let end = range.line_feed.end_in(rest);
            let (piece, tail) = rest
                .split_at_checked(end.unwrap_or(rest.len()))
                .unwrap_or((rest, &[]));
            if !reader.is_done && line >= range.first {
                reader.take(&mut lines, at, piece, end.is_some());
            }
            at += piece.len() as u64;
            is_within = end.is_none();
            line += u64::from(end.is_some());
            rest = tail;
        }
        if reader.is_done && at - *done_at.get_or_insert(at) > COUNTED_MAX {
            return Ok(lines);
        }
    }
    if is_within && !reader.is_done && lines.bytes.len() > reader.whole {
        lines.count += 1;
    }
    if lines.bytes.is_empty() {
        lines.start = at;
    }
    lines.total = Some(line - 1 + u64::from(is_within));
    Ok(lines)
}

/// What takes the pieces of the wanted lines.
struct Reader<'a> {
    range: &'a Range,
    is_done: bool,
    /// Bytes of whole lines.
    whole: usize,
}

impl Reader<'_> {
    fn take(&mut self, lines: &mut Lines, at: u64, piece: &[u8], is_end: bool) {
        if lines.bytes.is_empty() {
            lines.start = at;
        }
        let room = self.range.max_bytes.saturating_sub(lines.bytes.len());
        if piece.len() <= room {
            lines.bytes.extend_from_slice(piece);
            if is_end {
                self.whole = lines.bytes.len();
                lines.count += 1;
                self.is_done = lines.count >= self.range.limit;
            }
            return;
        }
        self.is_done = true;
        if self.whole > 0 {
            lines.bytes.truncate(self.whole);
            return;
        }
        let room = room - room % self.range.line_feed.width();
        lines.bytes.extend(piece.iter().take(room));
        lines.is_cut = true;
        lines.count = 1;
    }
}

/// Reads until the buffer is full or nothing follows.
fn fill(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(room) = buffer.get_mut(filled..).filter(|it| !it.is_empty()) {
        match source.read(room)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Reads at most `max` bytes from a place of a file that has `size` bytes.
pub(crate) fn bytes(
    source: &mut (impl Read + Seek),
    size: u64,
    offset: u64,
    max: usize,
) -> io::Result<Vec<u8>> {
    source.seek(SeekFrom::Start(offset))?;
    let room = usize::try_from(size.saturating_sub(offset)).unwrap_or(max);
    let mut bytes = vec![0; room.min(max)];
    let filled = fill(source, &mut bytes)?;
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::{LineFeed, Lines, Range, lines};

    fn read(text: &[u8], first: u64, limit: u64, max_bytes: usize) -> Lines {
        let range = Range {
            first,
            limit,
            max_bytes,
            line_feed: LineFeed::Byte,
        };
        lines(&mut Cursor::new(text), text.len() as u64, &range).unwrap()
    }

    #[test]
    fn lines_are_read_up_to_their_number_and_their_bytes() {
        let text = b"one\ntwo\nthree\nfour";
        for (first, limit, max, content, start, count, is_cut) in [
            (1, 99, 99, "one\ntwo\nthree\nfour", 0, 4, false),
            (2, 2, 99, "two\nthree\n", 4, 2, false),
            (4, 9, 99, "four", 14, 1, false),
            (4, 9, 4, "four", 14, 1, false),
            (5, 9, 99, "", 18, 0, false),
            (1, 99, 9, "one\ntwo\n", 0, 2, false),
            (3, 99, 4, "thre", 8, 1, true),
            (3, 99, 6, "three\n", 8, 1, false),
            (4, 9, 3, "fou", 14, 1, true),
        ] {
            let part = read(text, first, limit, max);
            let found = (part.bytes.as_slice(), part.start, part.count, part.is_cut);
            assert_eq!(
                found,
                (content.as_bytes(), start, count, is_cut),
                "{first} {limit} {max}"
            );
            assert_eq!(part.total, Some(4));
        }
        assert_eq!(read(b"", 1, 9, 9).total, Some(0));
        assert_eq!(read(b"\n\n", 2, 9, 9).count, 1);
    }

    #[test]
    fn lines_longer_than_a_chunk_stay_whole_and_units_of_utf_16_end_lines() {
        let long = "x".repeat(200_000);
        let text = format!("a\n{long}\nb\n");
        let part = read(text.as_bytes(), 2, 1, 1 << 20);
        assert_eq!(part.bytes.len(), 200_001);
        assert_eq!((part.start, part.count, part.total), (2, 1, Some(3)));
        let part = read(text.as_bytes(), 1, 9, 100_000);
        assert_eq!(part.bytes, b"a\n");
        // U+0A00 and U+000A: only the second is a line feed.
        let wide = b"\x00\x0a\x0a\x00b\x00";
        let range = Range {
            first: 2,
            limit: 9,
            max_bytes: 99,
            line_feed: LineFeed::Unit([0x0a, 0]),
        };
        let part = lines(&mut Cursor::new(wide), 6, &range).unwrap();
        assert_eq!((part.bytes.as_slice(), part.start), (&b"b\0"[..], 4));
    }
}
