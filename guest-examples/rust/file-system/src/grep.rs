//! `grep`: the lines that a pattern matches, as ripgrep finds them.

use std::fs::{self, File};
use std::io;
use std::time::{Duration, Instant};

use grep_matcher::{LineTerminator, Matcher as _};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{
    BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch,
};
use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError};

use crate::failure;
use crate::glob::{Pattern, ignored};
use crate::path::GuestPath;
use crate::room::{first_chars, json_len};
use crate::walk::{Kind, UNREADABLE_MAX, Walk};

const DEFAULT_LINES: usize = 200;
const DEFAULT_FILES: usize = 1_000;
const LIMIT_MAX: usize = 10_000;
const CONTEXT_MAX: usize = 20;

/// Bytes of JSON for all lines: far below what the host lets a result have, and a lot to read.
const ROOM: usize = 200_000;

/// Characters of a line that is shown; of a longer one, those around the match.
const LINE_CHARS_MAX: usize = 500;
const CHARS_BEFORE: usize = 100;

/// Bytes of memory for a line and its context.
const LINE_MAX: usize = 16 << 20;

/// Time after which no other file is searched: well before the host's deadline.
const TIME_MAX: Duration = Duration::from_secs(20);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    pattern: String,
    #[serde(default)]
    path: String,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    context: usize,
    limit: Option<usize>,
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    ignored: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Content,
    Files,
    Count,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    path: String,
    /// Matching lines in `files`; in the mode `files`, files.
    count: usize,
    truncated: bool,
    /// Why there may be more.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    files: Vec<Found>,
    /// Files with a NUL byte, whose lines are not searched.
    #[serde(skip_serializing_if = "is_zero")]
    binary: usize,
    /// Files and folders that could not be read or have a line that is too long.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreadable: Vec<String>,
}

#[derive(Serialize)]
struct Found {
    path: String,
    /// Matching lines.
    #[serde(skip_serializing_if = "is_zero")]
    count: usize,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lines: Vec<Line>,
}

#[derive(Serialize)]
struct Line {
    line: u64,
    text: String,
    /// A line around a match.
    #[serde(skip_serializing_if = "is_false")]
    context: bool,
    /// A part of the line, around the match.
    #[serde(skip_serializing_if = "is_false")]
    cut: bool,
    /// A line with bytes that are not UTF-8, shown as U+FFFD.
    #[serde(skip_serializing_if = "is_false")]
    lossy: bool,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

pub(crate) fn grep(_: &Context, input: Input) -> Result<Output, ToolError> {
    let root = GuestPath::new(&input.path);
    let metadata =
        fs::metadata(root.as_str()).map_err(|error| failure::io(root.as_str(), &error))?;
    let matcher = RegexMatcherBuilder::new()
        .case_insensitive(input.ignore_case)
        .fixed_strings(input.literal)
        .crlf(true)
        .build(&input.pattern)
        .map_err(|error| failure::pattern(&input.pattern, &error.to_string()))?;
    let glob = input
        .glob
        .as_deref()
        .map(|glob| Pattern::new(glob, root.as_str()))
        .transpose()?;
    let default = if input.mode == Mode::Content {
        DEFAULT_LINES
    } else {
        DEFAULT_FILES
    };
    let context = if input.mode == Mode::Content {
        input.context.min(CONTEXT_MAX)
    } else {
        0
    };
    let mut search = Search {
        searcher: SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .before_context(context)
            .after_context(context)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(LINE_MAX))
            .build(),
        matcher,
        mode: input.mode,
        limit: input.limit.unwrap_or(default).clamp(1, LIMIT_MAX),
        room: ROOM,
        until: Instant::now() + TIME_MAX,
        output: Output {
            path: root.as_str().into(),
            count: 0,
            truncated: false,
            reason: None,
            files: Vec::new(),
            binary: 0,
            unreadable: Vec::new(),
        },
    };
    if metadata.is_dir() {
        let mut walk = Walk::new(root.as_str(), usize::MAX, ignored(input.ignored), None)?;
        let fits = |path: &str| glob.as_ref().is_none_or(|glob| glob.fits(path));
        for entry in walk
            .by_ref()
            .filter(|it| it.kind == Kind::File && fits(&it.path))
        {
            if !search.file(entry.path) {
                break;
            }
        }
        search
            .output
            .unreadable
            .extend_from_slice(walk.unreadable());
    } else {
        search.file(root.as_str().into());
    }
    Ok(search.output)
}

struct Search {
    searcher: Searcher,
    matcher: RegexMatcher,
    mode: Mode,
    limit: usize,
    room: usize,
    until: Instant,
    output: Output,
}

impl Search {
    /// Searches one file, and returns whether others may follow.
    fn file(&mut self, path: String) -> bool {
        if self.output.count >= self.limit && self.mode == Mode::Files {
            return self.stop("limit");
        }
        if Instant::now() > self.until {
            return self.stop("time");
        }
        let mut lines = Lines {
            matcher: &self.matcher,
            mode: self.mode,
            left: match self.mode {
                Mode::Content => self.limit - self.output.count,
                Mode::Files | Mode::Count => usize::MAX,
            },
            room: self.room,
            stopped: None,
            is_binary: false,
            found: Found {
                path,
                count: 0,
                lines: Vec::new(),
            },
        };
        let opened = File::open(&lines.found.path);
        let searched =
            opened.and_then(|file| self.searcher.search_file(&self.matcher, &file, &mut lines));
        let Lines {
            found,
            stopped,
            is_binary,
            room,
            ..
        } = lines;
        if searched.is_err() && self.output.unreadable.len() < UNREADABLE_MAX {
            self.output.unreadable.push(found.path.clone());
        }
        self.output.binary += usize::from(is_binary);
        self.room = room;
        if found.count > 0 && !is_binary {
            let needed = json_len(&found.path) + 40;
            if needed > self.room
                || (self.mode == Mode::Count && self.output.files.len() >= self.limit)
            {
                return self.stop("limit");
            }
            self.room -= needed;
            self.output.count += if self.mode == Mode::Files {
                1
            } else {
                found.count
            };
            let count = if self.mode == Mode::Files {
                0
            } else {
                found.count
            };
            self.output.files.push(Found { count, ..found });
        }
        match stopped {
            Some(reason) => self.stop(reason),
            None => true,
        }
    }

    fn stop(&mut self, reason: &'static str) -> bool {
        self.output.truncated = true;
        self.output.reason = Some(reason);
        false
    }
}

/// Takes the lines of one file.
struct Lines<'a> {
    matcher: &'a RegexMatcher,
    mode: Mode,
    /// Matches that may still be taken.
    left: usize,
    room: usize,
    stopped: Option<&'static str>,
    is_binary: bool,
    found: Found,
}

impl Lines<'_> {
    /// Takes a line, and returns whether others may follow.
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_context: bool) -> bool {
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        let text = String::from_utf8_lossy(bytes);
        let is_lossy = matches!(text, std::borrow::Cow::Owned(_));
        let (shown, is_all) = self.shown(bytes, &text);
        let needed = json_len(shown) + 60;
        if needed > self.room {
            self.stopped = Some("size");
            return false;
        }
        self.room -= needed;
        self.found.lines.push(Line {
            line: number.unwrap_or_default(),
            text: shown.to_owned(),
            context: is_context,
            cut: !is_all,
            lossy: is_lossy,
        });
        true
    }

    /// Returns the part of a line that is shown, and whether that is all of it.
    fn shown<'t>(&self, bytes: &[u8], text: &'t str) -> (&'t str, bool) {
        let (begin, is_all) = first_chars(text, LINE_CHARS_MAX);
        if is_all {
            return (begin, true);
        }
        let at = self
            .matcher
            .find(bytes)
            .ok()
            .flatten()
            .map_or(0, |found| found.start());
        let before = text.get(..at).unwrap_or_default();
        if before.len() < begin.len() {
            return (begin, false);
        }
        let back = before
            .char_indices()
            .rev()
            .nth(CHARS_BEFORE)
            .map_or(0, |(at, _)| at);
        (
            first_chars(text.get(back..).unwrap_or_default(), LINE_CHARS_MAX).0,
            false,
        )
    }
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.mode == Mode::Content {
            if self.left == 0 {
                self.stopped = Some("limit");
                return Ok(false);
            }
            if !self.push(found.line_number(), found.bytes(), false) {
                return Ok(false);
            }
            self.left -= 1;
        }
        self.found.count += 1;
        Ok(self.mode != Mode::Files)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        Ok(self.push(context.line_number(), context.bytes(), true))
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        self.is_binary = finish.binary_byte_offset().is_some();
        Ok(())
    }
}
