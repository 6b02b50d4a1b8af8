//! `read`: a part of a file, by lines or by bytes, as text or as base64.

use std::fs::File;
use std::io;

use encoding_rs::UTF_16LE;
use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError};

use crate::encoding::{Codec, End, refuse_other_byte_order};
use crate::failure;
use crate::path::GuestPath;
use crate::room::{RESULT_MAX, json_len};
use crate::window::{self, LineFeed, Range};

/// Enough for most sources, and far below what the host lets a result have.
const DEFAULT_MAX_BYTES: usize = 100_000;

/// Most bytes of text, and of what becomes base64.
const TEXT_MAX: usize = 900_000;
const BASE64_MAX: usize = 700_000;

/// Bytes of the longest character.
const CHAR_MAX: usize = 4;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    path: String,
    offset: Option<u64>,
    limit: Option<u64>,
    unit: Option<Unit>,
    encoding: Option<String>,
    max_bytes: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Lines,
    Bytes,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    path: String,
    /// Bytes of the whole file.
    size: u64,
    /// Whether more follows.
    truncated: bool,
    content: String,
    encoding: String,
    unit: Unit,
    /// Where the content begins: number of its first line from 1, or of bytes before it.
    offset: u64,
    /// Lines or bytes in the content.
    count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Next>,
}

/// The arguments that continue.
#[derive(Serialize)]
struct Next {
    unit: Unit,
    offset: u64,
}

/// An opened file and how to read it.
struct Source<'a> {
    path: &'a str,
    file: File,
    size: u64,
    codec: Codec,
}

pub(crate) fn read(_: &Context, input: Input) -> Result<Output, ToolError> {
    let path = GuestPath::new(&input.path);
    let codec = Codec::new(input.encoding.as_deref())?;
    let unit = match input.unit {
        Some(Unit::Lines) if codec == Codec::Base64 => {
            return Err(failure::input("base64 is read by bytes, not by lines"));
        }
        None if codec == Codec::Base64 => Unit::Bytes,
        unit => unit.unwrap_or(Unit::Lines),
    };
    let fail = |error: io::Error| failure::io(path.as_str(), &error);
    let file = File::open(path.as_str()).map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    if metadata.is_dir() {
        return Err(failure::is_directory(path.as_str()));
    }
    let mut source = Source {
        path: path.as_str(),
        file,
        size: metadata.len(),
        codec,
    };
    let most = if codec == Codec::Base64 {
        BASE64_MAX
    } else {
        TEXT_MAX
    };
    let limit = |value: Option<u64>| value.map(|it| usize::try_from(it).unwrap_or(most));
    let max_bytes = limit(input.max_bytes);
    match unit {
        Unit::Lines => {
            let range = Range {
                first: input.offset.unwrap_or(1).max(1),
                limit: input.limit.unwrap_or(u64::MAX),
                max_bytes: max_bytes.unwrap_or(DEFAULT_MAX_BYTES).min(most),
                line_feed: line_feed(codec),
            };
            source.lines(&range)
        }
        Unit::Bytes => {
            let max = limit(input.limit).into_iter().chain(max_bytes).min();
            let max = max.unwrap_or(DEFAULT_MAX_BYTES).min(most);
            source.bytes(input.offset.unwrap_or_default(), max)
        }
    }
}

fn line_feed(codec: Codec) -> LineFeed {
    match codec {
        Codec::Other(encoding) if encoding == UTF_16LE => LineFeed::Unit([0x0a, 0]),
        Codec::Other(_) if codec.is_utf16() => LineFeed::Unit([0, 0x0a]),
        // In every other encoding of WHATWG, 0x0A is a line feed wherever it stands.
        Codec::Utf8 | Codec::Base64 | Codec::Other(_) => LineFeed::Byte,
    }
}

impl Source<'_> {
    fn lines(&mut self, range: &Range) -> Result<Output, ToolError> {
        let mut lines = window::lines(&mut self.file, self.size, range).map_err(self.fail())?;
        if let Some(total) = lines.total.filter(|total| range.first > total + 1) {
            return Err(failure::beyond_end(self.path, range.first, "lines", total));
        }
        let (mut content, mut used) = self.text(lines.start, &lines.bytes, lines.is_cut)?;
        if lines.is_cut && used == 0 {
            lines.bytes = self.one_character(lines.start)?;
            (content, used) = self.text(lines.start, &lines.bytes, lines.is_cut)?;
        }
        while json_len_exceeds(&content) {
            // What escapes make longer is read in part: whole lines as far as there are any.
            let half = used / 2;
            lines.bytes.truncate(half - half % 2);
            let whole = last_line_end(&lines.bytes, range.line_feed);
            lines.is_cut = whole.is_none();
            lines.bytes.truncate(whole.unwrap_or(lines.bytes.len()));
            (content, used) = self.text(lines.start, &lines.bytes, lines.is_cut)?;
            lines.count = content.matches('\n').count().max(1) as u64;
        }
        let end = lines.start + used as u64;
        let truncated = end < self.size;
        let next = if lines.is_cut {
            Next {
                unit: Unit::Bytes,
                offset: end,
            }
        } else {
            Next {
                unit: Unit::Lines,
                offset: range.first + lines.count,
            }
        };
        Ok(Output {
            path: self.path.into(),
            size: self.size,
            truncated,
            content,
            encoding: self.codec.name(),
            unit: Unit::Lines,
            offset: range.first,
            count: lines.count,
            total_lines: lines.total,
            next: truncated.then_some(next),
        })
    }

    fn bytes(&mut self, offset: u64, max: usize) -> Result<Output, ToolError> {
        let size = self.size;
        if offset > size {
            return Err(failure::beyond_end(self.path, offset, "bytes", size));
        }
        if self.codec.has_state() && offset > 0 {
            let name = self.codec.name();
            return Err(failure::input(&format!(
                "{name} is read by lines, or from byte 0"
            )));
        }
        let start = self.begin_of_character(offset)?;
        let mut bytes = self.window(start, max + usize::try_from(offset - start).unwrap_or(0))?;
        let is_cut = |bytes: &[u8]| start + (bytes.len() as u64) < size;
        let (mut content, mut used) = self.text(start, &bytes, is_cut(&bytes))?;
        // An empty result would never come to an end.
        if used == 0 && start < size {
            bytes = self.one_character(start)?;
            (content, used) = self.text(start, &bytes, is_cut(&bytes))?;
        }
        while json_len_exceeds(&content) {
            bytes.truncate(used / 2 - used / 2 % 2);
            (content, used) = self.text(start, &bytes, true)?;
        }
        let end = start + used as u64;
        let truncated = end < self.size;
        Ok(Output {
            path: self.path.into(),
            size: self.size,
            truncated,
            content,
            encoding: self.codec.name(),
            unit: Unit::Bytes,
            offset: start,
            count: used as u64,
            total_lines: None,
            next: truncated.then_some(Next {
                unit: Unit::Bytes,
                offset: end,
            }),
        })
    }

    /// Returns the begin of the character that a byte belongs to, where the encoding tells.
    fn begin_of_character(&mut self, offset: u64) -> Result<u64, ToolError> {
        if self.codec.is_utf16() {
            return Ok(offset - offset % 2);
        }
        let back = offset.min(CHAR_MAX as u64 - 1);
        if self.codec != Codec::Utf8 || back == 0 || offset == self.size {
            return Ok(offset);
        }
        let near = self.window(offset - back, CHAR_MAX)?;
        let is_inner = |byte: &u8| byte & 0xc0 == 0x80;
        let here = usize::try_from(back).unwrap_or_default();
        let inner = near
            .iter()
            .take(here + 1)
            .rev()
            .take_while(|it| is_inner(it))
            .count();
        let is_lead = |at: usize| near.get(at).is_some_and(|it| *it >= 0xc0);
        Ok(match here.checked_sub(inner) {
            Some(lead) if inner > 0 && is_lead(lead) => offset - inner as u64,
            _ => offset,
        })
    }

    /// Reads the bytes of at least one character.
    fn one_character(&mut self, start: u64) -> Result<Vec<u8>, ToolError> {
        let bytes = self.window(start, CHAR_MAX)?;
        let length = match (self.codec, bytes.first()) {
            (Codec::Utf8, Some(0..0xc0)) => 1,
            (Codec::Utf8, Some(0xc0..0xe0)) => 2,
            (Codec::Utf8, Some(0xe0..0xf0)) => 3,
            (Codec::Utf8 | Codec::Other(_) | Codec::Base64, _) => CHAR_MAX,
        };
        Ok(bytes.into_iter().take(length).collect())
    }

    fn window(&mut self, start: u64, max: usize) -> Result<Vec<u8>, ToolError> {
        window::bytes(&mut self.file, self.size, start, max).map_err(self.fail())
    }

    fn text(&self, start: u64, bytes: &[u8], is_cut: bool) -> Result<(String, usize), ToolError> {
        if start == 0 {
            refuse_other_byte_order(self.path, self.codec, bytes)?;
        }
        let end = if is_cut { End::Cut } else { End::Whole };
        self.codec
            .decode(bytes, end)
            .map_err(|invalid| failure::not_text(self.path, self.codec, start, bytes, invalid.at))
    }

    fn fail(&self) -> impl Fn(io::Error) -> ToolError {
        let path = self.path.to_owned();
        move |error| failure::io(&path, &error)
    }
}

fn json_len_exceeds(content: &str) -> bool {
    // No byte takes more than six.
    content.len() > RESULT_MAX / 6 && json_len(content) > RESULT_MAX
}

fn last_line_end(bytes: &[u8], line_feed: LineFeed) -> Option<usize> {
    match line_feed {
        LineFeed::Byte => memchr::memrchr(b'\n', bytes).map(|at| at + 1),
        LineFeed::Unit(unit) => {
            let at = bytes.chunks_exact(2).rposition(|it| it == unit);
            at.map(|at| (at + 1) * 2)
        }
    }
}
