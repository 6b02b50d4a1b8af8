//! Patterns of `grep`, `sed`, `expr` and others: POSIX basic and extended, fixed texts, and Perl's.
//!
//! A POSIX pattern becomes one of crate `regex`, which takes the first alternative that matches; where POSIX
//! takes the longest, a second automaton finds the end.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;

use memchr::memmem::Finder;
use regex_automata::{Anchored, Input, MatchKind, meta, util::syntax};

mod classes;
mod posix;

pub(super) use posix::Translated;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::commands) enum Syntax {
    Basic,
    Extended,
    Fixed,
    Perl,
}

/// Where a match may begin and end.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::commands) enum Within {
    #[default]
    Anywhere,
    /// `grep -w`
    Words,
    /// `grep -x`
    Lines,
}

/// How a pattern is read.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Reading {
    pub(in crate::commands) syntax: Syntax,
    pub(in crate::commands) ignore_case: bool,
    /// `^` and `$` match at each line of the text.
    pub(in crate::commands) multi_line: bool,
    /// Nothing matches a newline, so that many lines can be searched as one text.
    pub(in crate::commands) lines: bool,
    /// `\n`, `\t`, `\x41` and the like are characters.
    pub(in crate::commands) escapes: bool,
    /// Characters are those of UTF-8, not bytes.
    pub(in crate::commands) unicode: bool,
    pub(in crate::commands) within: Within,
}

impl Reading {
    pub(in crate::commands) const fn new(syntax: Syntax, unicode: bool) -> Self {
        Self {
            syntax,
            ignore_case: false,
            multi_line: false,
            lines: false,
            escapes: false,
            unicode,
            within: Within::Anywhere,
        }
    }
}

/// The places of a match and its groups; the first is the match.
pub(in crate::commands) type Groups = Vec<Option<Range<usize>>>;

/// Several patterns, of which one must match.
pub(in crate::commands) struct Pattern {
    sources: Vec<String>,
    reading: Reading,
    /// What the authors of a pattern should know.
    pub(in crate::commands) warnings: Vec<String>,
    pub(super) groups: usize,
    of_bytes: OnceCell<Result<Matcher, String>>,
    of_text: OnceCell<Result<Matcher, String>>,
}

impl Pattern {
    /// # Errors
    /// The text that GNU's library has for a pattern that is wrong.
    pub(in crate::commands) fn new(sources: Vec<String>, reading: Reading) -> Result<Self, String> {
        let mut pattern = Self {
            sources,
            reading,
            warnings: Vec::new(),
            groups: 0,
            of_bytes: OnceCell::new(),
            of_text: OnceCell::new(),
        };
        if let Syntax::Basic | Syntax::Extended = reading.syntax {
            let translated = pattern.translated(false)?;
            pattern.groups = translated.groups;
            pattern.warnings = translated.warnings;
        } else {
            pattern.matcher(b"")?;
        }
        Ok(pattern)
    }

    fn translated(&self, unicode: bool) -> Result<Translated, String> {
        posix::translated(&self.sources, &self.reading, unicode)
    }

    /// Returns what searches a text: a small automaton if the text is ASCII, and one with the tables of Unicode
    /// if not.
    ///
    /// # Errors
    /// The pattern is too large.
    pub(in crate::commands) fn matcher(&self, text: &[u8]) -> Result<&Matcher, String> {
        let ascii = self.sources.iter().all(|source| source.is_ascii());
        let unicode = !ascii || self.reading.unicode && !text.is_ascii();
        let cell = if unicode {
            &self.of_text
        } else {
            &self.of_bytes
        };
        cell.get_or_init(|| self.compiled(unicode))
            .as_ref()
            .map_err(Clone::clone)
    }

    fn compiled(&self, unicode: bool) -> Result<Matcher, String> {
        let reading = &self.reading;
        let plain = |source: &String| match reading.syntax {
            Syntax::Fixed => true,
            Syntax::Perl => false,
            Syntax::Basic | Syntax::Extended => !source.contains(posix::SPECIAL),
        };
        if let ([source], Within::Anywhere, false) =
            (&*self.sources, reading.within, reading.ignore_case)
            && plain(source)
        {
            let finder = Finder::new(source.as_bytes()).into_owned();
            return Ok(Matcher::new(Engine::Text(finder), None));
        }
        let (text, translated) = match reading.syntax {
            Syntax::Basic | Syntax::Extended => {
                let translated = self.translated(unicode)?;
                (translated.text.clone(), Some(translated))
            }
            Syntax::Fixed => {
                let texts: Vec<_> = self
                    .sources
                    .iter()
                    .map(|text| regex::escape(text))
                    .collect();
                (reading.within.around(&texts.join("|"), false), None)
            }
            Syntax::Perl => {
                let texts: Vec<_> = self
                    .sources
                    .iter()
                    .map(|text| format!("(?:{text})"))
                    .collect();
                (reading.within.around(&texts.join("|"), true), None)
            }
        };
        let has_references = translated.as_ref().is_some_and(|it| it.has_references);
        if reading.syntax == Syntax::Perl || has_references {
            let mut builder = fancy_regex::RegexBuilder::new(&text);
            builder.case_insensitive(reading.ignore_case);
            builder.multi_line(reading.multi_line);
            let regex = builder.build().map_err(|error| error.to_string())?;
            return Ok(Matcher::new(Engine::Backtracking(Box::new(regex)), None));
        }
        let mut builder = regex::bytes::RegexBuilder::new(&text);
        builder
            .unicode(unicode)
            .case_insensitive(reading.ignore_case)
            .multi_line(reading.multi_line || reading.lines)
            .size_limit(SIZE_LIMIT);
        let regex = builder.build().map_err(too_large)?;
        let longest = translated
            .is_some_and(|it| it.has_choice)
            .then(|| Longest::new(text, reading, unicode));
        Ok(Matcher::new(Engine::Automaton(regex), longest))
    }
}

/// The most bytes of one automaton.
const SIZE_LIMIT: usize = 64 << 20;

fn too_large(error: impl std::fmt::Display) -> String {
    let text = error.to_string();
    if text.contains("size limit") {
        return "Regular expression too big".to_owned();
    }
    text
}

impl Within {
    fn around(self, text: &str, backtracks: bool) -> String {
        match self {
            Self::Anywhere => text.to_owned(),
            Self::Words if backtracks => format!(r"(?<!\w)(?:{text})(?!\w)"),
            Self::Words => format!(r"\b{{start-half}}(?:{text})\b{{end-half}}"),
            Self::Lines => format!("^(?:{text})$"),
        }
    }
}

enum Engine {
    Text(Finder<'static>),
    Automaton(regex::bytes::Regex),
    Backtracking(Box<fancy_regex::Regex>),
}

/// What finds the end of the longest match, and the groups of a match whose end is given.
struct Longest {
    text: String,
    config: syntax::Config,
    ends: OnceCell<Result<meta::Regex, String>>,
    groups: OnceCell<Result<meta::Regex, String>>,
}

impl Longest {
    fn new(text: String, reading: &Reading, unicode: bool) -> Self {
        let config = syntax::Config::new()
            .unicode(unicode)
            .utf8(false)
            .case_insensitive(reading.ignore_case)
            .multi_line(reading.multi_line || reading.lines);
        Self {
            text,
            config,
            ends: OnceCell::new(),
            groups: OnceCell::new(),
        }
    }

    fn compiled(&self, text: &str, kind: MatchKind) -> Result<meta::Regex, String> {
        let config = meta::Config::new()
            .match_kind(kind)
            .utf8_empty(false)
            .nfa_size_limit(Some(SIZE_LIMIT));
        let mut builder = meta::Builder::new();
        builder.configure(config).syntax(self.config);
        builder.build(text).map_err(too_large)
    }

    /// The end of the longest match that begins at a place.
    fn end(&self, text: &[u8], start: usize) -> Result<Option<usize>, String> {
        let ends = self
            .ends
            .get_or_init(|| self.compiled(&self.text, MatchKind::All));
        let ends = ends.as_ref().map_err(Clone::clone)?;
        let input = Input::new(text)
            .span(start..text.len())
            .anchored(Anchored::Yes);
        Ok(ends.search(&input).map(|found| found.end()))
    }

    /// The groups of a match.
    fn groups(&self, text: &[u8], place: &Range<usize>) -> Result<Groups, String> {
        let regex = self.groups.get_or_init(|| {
            let text = format!("(?:{})\\z", self.text);
            self.compiled(&text, MatchKind::LeftmostFirst)
        });
        let regex = regex.as_ref().map_err(Clone::clone)?;
        let text = text.get(..place.end).unwrap_or(text);
        let input = Input::new(text).span(place.start..text.len());
        let mut captures = regex.create_captures();
        regex.search_captures(&input, &mut captures);
        let groups = (0..captures.group_len()).map(|index| captures.get_group(index));
        Ok(groups.map(|span| span.map(|span| span.range())).collect())
    }
}

/// Searches texts.
pub(in crate::commands) struct Matcher {
    engine: Engine,
    longest: Option<Longest>,
}

impl Matcher {
    const fn new(engine: Engine, longest: Option<Longest>) -> Self {
        Self { engine, longest }
    }

    /// Whether lines must be searched one by one.
    pub(in crate::commands) const fn is_per_line(&self) -> bool {
        matches!(self.engine, Engine::Backtracking(_))
    }

    /// Finds where a match begins, at or after a place.
    ///
    /// # Errors
    /// The search of a pattern with references takes too many steps.
    pub(in crate::commands) fn start(
        &self,
        text: &[u8],
        at: usize,
    ) -> Result<Option<usize>, String> {
        match &self.engine {
            Engine::Automaton(regex) => Ok(regex.find_at(text, at).map(|found| found.start())),
            Engine::Text(_) | Engine::Backtracking(_) => {
                Ok(self.find(text, at)?.map(|place| place.start))
            }
        }
    }

    /// Finds the first match at or after a place, and the longest there.
    ///
    /// # Errors
    /// As of [`start`](Self::start).
    pub(in crate::commands) fn find(
        &self,
        text: &[u8],
        at: usize,
    ) -> Result<Option<Range<usize>>, String> {
        match &self.engine {
            Engine::Text(finder) => {
                let rest = text.get(at..).unwrap_or_default();
                Ok(finder.find(rest).map(|start| {
                    let start = at + start;
                    start..start + finder.needle().len()
                }))
            }
            Engine::Automaton(regex) => {
                let Some(found) = regex.find_at(text, at) else {
                    return Ok(None);
                };
                let mut place = found.range();
                if let Some(longest) = &self.longest {
                    place.end = longest.end(text, place.start)?.unwrap_or(place.end);
                }
                Ok(Some(place))
            }
            Engine::Backtracking(regex) => {
                let readable = Readable::new(text);
                let at = readable.inner(at);
                let found = regex.find_from_pos(&*readable.text, at).map_err(steps)?;
                Ok(found.map(|found| readable.outer(found.start())..readable.outer(found.end())))
            }
        }
    }

    /// Finds the first match at or after a place, with its groups.
    ///
    /// # Errors
    /// As of [`start`](Self::start).
    pub(in crate::commands) fn groups(
        &self,
        text: &[u8],
        at: usize,
    ) -> Result<Option<Groups>, String> {
        match &self.engine {
            Engine::Text(_) => Ok(self.find(text, at)?.map(|place| vec![Some(place)])),
            Engine::Automaton(regex) => {
                if let Some(longest) = &self.longest {
                    let Some(place) = self.find(text, at)? else {
                        return Ok(None);
                    };
                    return longest.groups(text, &place).map(Some);
                }
                let Some(captures) = regex.captures_at(text, at) else {
                    return Ok(None);
                };
                let groups = captures.iter().map(|group| group.map(|it| it.range()));
                Ok(Some(groups.collect()))
            }
            Engine::Backtracking(regex) => {
                let readable = Readable::new(text);
                let at = readable.inner(at);
                let found = regex
                    .captures_from_pos(&*readable.text, at)
                    .map_err(steps)?;
                Ok(found.map(|captures| {
                    let outer = |range: Range<usize>| {
                        readable.outer(range.start)..readable.outer(range.end)
                    };
                    captures
                        .iter()
                        .map(|group| group.map(|it| outer(it.range())))
                        .collect()
                }))
            }
        }
    }
}

fn steps(error: fancy_regex::Error) -> String {
    match error {
        fancy_regex::Error::RuntimeError(_) => "exceeded PCRE's backtracking limit".to_owned(),
        error => error.to_string(),
    }
}

/// A text for an engine that reads only UTF-8: other bytes stand as characters of private use.
struct Readable<'a> {
    text: Cow<'a, str>,
    /// The place in the bytes of each place in `text`, if they differ.
    places: Vec<usize>,
}

impl<'a> Readable<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        if let Ok(text) = std::str::from_utf8(bytes) {
            let text = Cow::Borrowed(text);
            return Self {
                text,
                places: Vec::new(),
            };
        }
        let (mut text, mut places, mut at) = (String::new(), Vec::new(), 0);
        for chunk in bytes.utf8_chunks() {
            for _ in 0..chunk.valid().len() {
                places.push(at);
                at += 1;
            }
            text.push_str(chunk.valid());
            for byte in chunk.invalid() {
                let char = char::from_u32(0x10_FF00 + u32::from(*byte)).unwrap_or('\u{FFFD}');
                places.extend([at; 4].iter().take(char.len_utf8()));
                text.push(char);
                at += 1;
            }
        }
        places.push(at);
        let text = Cow::Owned(text);
        Self { text, places }
    }

    fn inner(&self, place: usize) -> usize {
        if self.places.is_empty() {
            return place;
        }
        let inner = self.places.iter().position(|outer| *outer >= place);
        inner.unwrap_or(self.text.len())
    }

    fn outer(&self, place: usize) -> usize {
        self.places.get(place).copied().unwrap_or(place)
    }
}
