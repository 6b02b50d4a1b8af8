//! The search of one text.

use std::ops::Range;

use crate::commands::call::Call;
use crate::commands::on_text::pattern::{Matcher, Pattern};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Report {
    Lines,
    Matches,
    Count,
    FilesWith,
    FilesWithout,
    Quiet,
}

/// What a text that is not of characters is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binary {
    /// Only its name is printed.
    Named,
    IsText,
    NoMatch,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Colors {
    Always,
    Never,
}

pub(super) struct Context {
    pub(super) before: usize,
    pub(super) after: usize,
    /// Between groups of lines that are not adjacent.
    pub(super) separator: Option<String>,
}

/// What is printed before a line.
pub(super) struct Print {
    /// Names of files, if that is decided.
    pub(super) names: Option<bool>,
    pub(super) numbers: bool,
    pub(super) offsets: bool,
    pub(super) initial_tab: bool,
    /// A NUL follows a name.
    pub(super) null: bool,
    pub(super) colors: Colors,
}

pub(super) struct Search<'a> {
    pub(super) pattern: &'a Pattern,
    pub(super) inverted: bool,
    pub(super) most: Option<usize>,
    pub(super) report: Report,
    pub(super) binary: Binary,
    pub(super) end: u8,
    pub(super) context: Context,
    pub(super) print: Print,
    /// Whether a group of lines was printed.
    pub(super) is_later: bool,
}

const MATCH: &str = "01;31";
const NAME: &str = "35";
const NUMBER: &str = "32";
const SEPARATOR: &str = "36";

/// The lines of a text that are still to be searched or printed.
struct Cursor {
    /// Where the next line to print as context may begin.
    printed: usize,
    /// How many lines of context are still to be printed after the last selected one.
    after: usize,
    /// The number of the line at `counted`.
    number: usize,
    counted: usize,
}

impl Search<'_> {
    /// Whether nothing more can change the result.
    pub(super) fn is_done(&self, has_match: bool) -> bool {
        self.report == Report::Quiet && has_match
    }

    /// Searches one text, and says whether a line was selected.
    pub(super) fn run(&mut self, call: &mut Call, name: &str, text: &[u8]) -> Result<bool, String> {
        let matcher = self.pattern.matcher(text)?;
        let nul = if self.end == 0 {
            None
        } else {
            memchr::memchr(0, text)
        };
        let mut binary_from = nul.filter(|_| self.binary != Binary::IsText);
        if binary_from.is_some() && self.binary == Binary::NoMatch {
            return Ok(self.finish(call, name, 0));
        }
        let checks_text = self.binary != Binary::IsText && call.is_utf8() && !text.is_ascii();
        let prints = matches!(self.report, Report::Lines | Report::Matches);
        let mut count = 0;
        let mut at = 0;
        let mut cursor = Cursor {
            printed: 0,
            after: 0,
            number: 1,
            counted: 0,
        };
        let most = self.most.unwrap_or(usize::MAX);
        while at < text.len() && count < most {
            let hit = self.next_line(matcher, text, at)?;
            let lines = match (&hit, self.inverted) {
                (Some(line), false) => line.clone(),
                (None, false) => break,
                (Some(line), true) => at..line.start,
                (None, true) => at..text.len(),
            };
            at = hit.map_or(text.len(), |line| line.end);
            let mut start = lines.start;
            while start < lines.end && count < most {
                let end = self.line_end(text, start);
                let line = start..end;
                start = end;
                count += 1;
                if matches!(
                    self.report,
                    Report::Quiet | Report::FilesWith | Report::FilesWithout
                ) {
                    return Ok(self.finish(call, name, 1));
                }
                if !prints {
                    continue;
                }
                let bytes = text.get(line.clone()).unwrap_or_default();
                if checks_text && std::str::from_utf8(bytes).is_err() {
                    binary_from = Some(binary_from.map_or(line.start, |from| from.min(line.start)));
                    if self.binary == Binary::NoMatch {
                        return Ok(true);
                    }
                }
                if binary_from.is_some() {
                    self.print_binary(call, name);
                    return Ok(true);
                }
                self.print_before(call, name, text, &mut cursor, line.start);
                self.print_selected(call, name, text, &mut cursor, &line, matcher)?;
                cursor.printed = line.end;
                cursor.after = self.context.after;
            }
        }
        self.print_after(call, name, text, &mut cursor, text.len());
        Ok(self.finish(call, name, count))
    }

    /// Prints what is known once a text is searched.
    fn finish(&self, call: &mut Call, name: &str, count: usize) -> bool {
        let selected = count > 0;
        match self.report {
            Report::Count => {
                if self.print.names == Some(true) {
                    self.print_name(call, name, ':');
                }
                call.print(format!("{count}\n"));
            }
            Report::FilesWith if selected => self.print_file(call, name),
            Report::FilesWithout if !selected => self.print_file(call, name),
            _ => {}
        }
        selected
    }

    fn print_file(&self, call: &mut Call, name: &str) {
        self.print_colored(call, NAME, name.as_bytes());
        call.print(if self.print.null { "\0" } else { "\n" });
    }

    fn print_binary(&self, call: &mut Call, name: &str) {
        call.complain(format_args!("{name}: binary file matches"));
    }

    fn line_end(&self, text: &[u8], at: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        memchr::memchr(self.end, rest).map_or(text.len(), |length| at + length + 1)
    }

    /// The next line that matches, with its end.
    fn next_line(
        &self,
        matcher: &Matcher,
        text: &[u8],
        mut at: usize,
    ) -> Result<Option<Range<usize>>, String> {
        if self.end == b'\n' && !matcher.is_per_line() {
            let Some(start) = matcher.start(text, at)? else {
                return Ok(None);
            };
            // No line begins at the end of the text.
            if start == text.len() && text.last() == Some(&b'\n') {
                return Ok(None);
            }
            let before = text.get(..start).unwrap_or_default();
            let line = memchr::memrchr(self.end, before).map_or(0, |newline| newline + 1);
            return Ok(Some(line..self.line_end(text, start)));
        }
        while at < text.len() {
            let end = self.line_end(text, at);
            if matcher.start(self.content(text, &(at..end)), 0)?.is_some() {
                return Ok(Some(at..end));
            }
            at = end;
        }
        Ok(None)
    }

    /// A line without what ends it.
    fn content<'t>(&self, text: &'t [u8], line: &Range<usize>) -> &'t [u8] {
        let bytes = text.get(line.clone()).unwrap_or_default();
        bytes.strip_suffix(&[self.end]).unwrap_or(bytes)
    }

    /// Prints the context after the last selected line and before the next one.
    fn print_before(
        &mut self,
        call: &mut Call,
        name: &str,
        text: &[u8],
        cursor: &mut Cursor,
        selected: usize,
    ) {
        self.print_after(call, name, text, cursor, selected);
        let mut start = selected;
        for _ in 0..self.context.before {
            if start <= cursor.printed {
                break;
            }
            let before = text.get(..start - 1).unwrap_or_default();
            start = memchr::memrchr(self.end, before).map_or(0, |end| end + 1);
        }
        let is_apart = start > cursor.printed || cursor.printed == 0;
        if is_apart
            && self.is_later
            && let Some(separator) = &self.context.separator
        {
            self.print_colored(call, SEPARATOR, separator.as_bytes());
            call.print("\n");
        }
        self.is_later = true;
        while start < selected {
            let end = self.line_end(text, start);
            self.print_context(call, name, text, cursor, &(start..end));
            start = end;
        }
    }

    fn print_after(
        &self,
        call: &mut Call,
        name: &str,
        text: &[u8],
        cursor: &mut Cursor,
        limit: usize,
    ) {
        while cursor.after > 0 && cursor.printed < limit {
            let end = self.line_end(text, cursor.printed);
            let line = cursor.printed..end;
            self.print_context(call, name, text, cursor, &line);
            cursor.printed = end;
            cursor.after -= 1;
        }
    }

    fn print_context(
        &self,
        call: &mut Call,
        name: &str,
        text: &[u8],
        cursor: &mut Cursor,
        line: &Range<usize>,
    ) {
        self.print_head(call, name, text, cursor, line, line.start, '-');
        call.print(self.content(text, line));
        call.out.push(self.end);
    }

    fn print_selected(
        &self,
        call: &mut Call,
        name: &str,
        text: &[u8],
        cursor: &mut Cursor,
        line: &Range<usize>,
        matcher: &Matcher,
    ) -> Result<(), String> {
        let content = self.content(text, line);
        if self.report == Report::Matches {
            if self.inverted {
                return Ok(());
            }
            for place in places(matcher, content)? {
                let start = line.start + place.start;
                self.print_head(call, name, text, cursor, line, start, ':');
                let found = content.get(place).unwrap_or_default();
                self.print_colored(call, MATCH, found);
                call.out.push(self.end);
            }
            return Ok(());
        }
        self.print_head(call, name, text, cursor, line, line.start, ':');
        if self.print.colors == Colors::Always && !self.inverted {
            let mut at = 0;
            for place in places(matcher, content)? {
                call.print(content.get(at..place.start).unwrap_or_default());
                at = place.end;
                self.print_colored(call, MATCH, content.get(place).unwrap_or_default());
            }
            call.print(content.get(at..).unwrap_or_default());
        } else {
            call.print(content);
        }
        call.out.push(self.end);
        Ok(())
    }

    fn print_head(
        &self,
        call: &mut Call,
        name: &str,
        text: &[u8],
        cursor: &mut Cursor,
        line: &Range<usize>,
        offset: usize,
        separator: char,
    ) {
        if self.print.names == Some(true) {
            self.print_name(call, name, separator);
        }
        if self.print.numbers {
            let between = text.get(cursor.counted..line.start).unwrap_or_default();
            cursor.number += memchr::memchr_iter(self.end, between).count();
            cursor.counted = line.start;
            self.print_colored(call, NUMBER, self.padded(cursor.number).as_bytes());
            self.print_separator(call, separator);
        }
        if self.print.offsets {
            self.print_colored(call, NUMBER, self.padded(offset).as_bytes());
            self.print_separator(call, separator);
        }
        let has_head = self.print.names == Some(true) || self.print.numbers || self.print.offsets;
        if self.print.initial_tab && has_head {
            call.print("\t");
        }
    }

    fn padded(&self, number: usize) -> String {
        if self.print.initial_tab {
            return format!("{number:>2}");
        }
        number.to_string()
    }

    fn print_name(&self, call: &mut Call, name: &str, separator: char) {
        self.print_colored(call, NAME, name.as_bytes());
        if self.print.null {
            call.print("\0");
        } else {
            self.print_separator(call, separator);
        }
    }

    fn print_separator(&self, call: &mut Call, separator: char) {
        self.print_colored(call, SEPARATOR, &[separator as u8]);
    }

    fn print_colored(&self, call: &mut Call, color: &str, text: &[u8]) {
        if self.print.colors == Colors::Never {
            call.print(text);
            return;
        }
        call.print(format!("\x1b[{color}m\x1b[K"));
        call.print(text);
        call.print("\x1b[m\x1b[K");
    }
}

/// The places of the matches of a line that are not empty.
fn places(matcher: &Matcher, content: &[u8]) -> Result<Vec<Range<usize>>, String> {
    let (mut places, mut at) = (Vec::new(), 0);
    while at <= content.len() {
        let Some(place) = matcher.find(content, at)? else {
            break;
        };
        if place.is_empty() {
            at = place.end + 1;
            while content.get(at).is_some_and(|byte| byte & 0xC0 == 0x80) {
                at += 1;
            }
        } else {
            at = place.end;
            places.push(place);
        }
    }
    Ok(places)
}
