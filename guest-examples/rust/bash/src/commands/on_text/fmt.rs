//! `fmt`: paragraphs in lines of about the same length.
//!
//! The breaks of a paragraph are those with the least cost, by the costs of GNU's program.

use crate::commands::Command;
use crate::commands::call::{Call, Failure};
use crate::commands::options::{Line, Numbers, Spec, flag, value};
use crate::files::text_of;

mod breaks;

use breaks::{Measure, Word, breaks};

const SPEC: Spec = Spec::new(&[
    flag('c', "crown-margin"),
    value('g', "goal"),
    value('p', "prefix"),
    flag('s', "split-only"),
    flag('t', "tagged-paragraph"),
    flag('u', "uniform-spacing"),
    value('w', "width"),
])
.numbers(Numbers::Value);

pub(super) const FMT: Command = Command::new("fmt", SPEC, fmt);

const USUAL_WIDTH: usize = 75;
const MAX_WIDTH: usize = 2500;
/// Percent by which lines are shorter than the width.
const LEEWAY: usize = 7;
const TAB: usize = 8;
/// Indent of the second line of a tagged paragraph that has only one.
const TAGGED_INDENT: usize = 3;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Usual,
    Crown,
    Tagged,
    Split,
}

struct Settings {
    mode: Mode,
    is_uniform: bool,
    measure: Measure,
    prefix: Vec<u8>,
    /// Blanks before the prefix.
    lead: usize,
    /// The length of the prefix with the blanks at its end.
    full: usize,
}

struct Reader<'a> {
    settings: &'a Settings,
    text: &'a [u8],
    at: usize,
    /// The column of the next byte.
    column: usize,
    /// Blanks before the prefix of the current line.
    indent: usize,
    has_tabs: bool,
    other_indent: usize,
    out: Vec<u8>,
}

fn number(call: &Call, line: &Line, name: &str, most: usize) -> Result<Option<usize>, Failure> {
    let Some(text) = line.value(name) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) if number <= most => Ok(Some(number)),
        Ok(_) => Err(Failure::new(
            1,
            format!(
                "invalid width: {}: Numerical result out of range",
                call.quoted(text)
            ),
        )),
        Err(_) => Err(Failure::new(
            1,
            format!("invalid width: {}", call.quoted(text)),
        )),
    }
}

fn fmt(call: &mut Call, line: &Line) -> Result<i32, Failure> {
    let last = line.last_of(&["width", "number"]).unwrap_or("width");
    let width = number(call, line, last, MAX_WIDTH)?;
    let goal = number(call, line, "goal", width.unwrap_or(USUAL_WIDTH))?;
    let measure = match (width, goal) {
        (None, Some(goal)) => Measure {
            goal,
            width: goal + 10,
        },
        (width, goal) => {
            let width = width.unwrap_or(USUAL_WIDTH);
            let usual = width * (2 * (100 - LEEWAY) + 1) / 200;
            Measure {
                goal: goal.unwrap_or(usual),
                width,
            }
        }
    };
    let prefix = line.value("prefix").unwrap_or_default();
    let bare = prefix.trim_start_matches(' ');
    let settings = Settings {
        mode: if line.has("split-only") {
            Mode::Split
        } else if line.has("crown-margin") {
            Mode::Crown
        } else if line.has("tagged-paragraph") {
            Mode::Tagged
        } else {
            Mode::Usual
        },
        is_uniform: line.has("uniform-spacing"),
        measure,
        lead: prefix.len() - bare.len(),
        full: bare.len(),
        prefix: bare.trim_end_matches(' ').as_bytes().to_vec(),
    };
    let mut exit_code = 0;
    for operand in line.operands_or_stdin() {
        match call.read(operand) {
            Ok(text) => {
                let mut reader = Reader {
                    settings: &settings,
                    text: &text,
                    at: 0,
                    column: 0,
                    indent: 0,
                    has_tabs: false,
                    other_indent: 0,
                    out: Vec::new(),
                };
                reader.run();
                call.print(reader.out);
            }
            Err(error) => {
                let why = text_of(&error);
                let is_folder = error.kind() == std::io::ErrorKind::IsADirectory;
                call.complain(if is_folder {
                    format!("read error: {why}")
                } else {
                    format!("cannot open '{operand}' for reading: {why}")
                });
                exit_code = 1;
            }
        }
    }
    Ok(exit_code)
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    /// Whether nothing more is on the line.
    fn ends(&self) -> bool {
        matches!(self.peek(), None | Some(b'\n'))
    }

    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ') => self.column += 1,
                Some(b'\t') => {
                    self.has_tabs = true;
                    self.column = (self.column / TAB + 1) * TAB;
                }
                _ => return,
            }
            self.at += 1;
        }
    }

    /// Reads the beginning of a line: the blanks and the prefix.
    fn begin_line(&mut self) {
        self.column = 0;
        self.blanks();
        if self.settings.prefix.is_empty() {
            self.indent = self.settings.lead.min(self.column);
            return;
        }
        self.indent = self.column;
        for byte in &self.settings.prefix {
            if self.peek() != Some(*byte) {
                return;
            }
            self.at += 1;
            self.column += 1;
        }
        self.blanks();
    }

    fn has_prefix(&self) -> bool {
        self.column >= self.indent + self.settings.full
    }

    fn run(&mut self) {
        self.begin_line();
        loop {
            // Blank lines and those without the prefix are copied.
            while self.ends() || self.indent < self.settings.lead || !self.has_prefix() {
                self.copy_line();
                if self.peek().is_none() {
                    return;
                }
                self.at += 1;
                self.out.push(b'\n');
                self.begin_line();
            }
            self.paragraph();
        }
    }

    fn copy_line(&mut self) {
        if self.column > self.indent || !self.ends() {
            let mut written = self.space(0, self.indent);
            for byte in self.settings.prefix.clone() {
                if written == self.column {
                    break;
                }
                self.out.push(byte);
                written += 1;
            }
            if !self.ends() {
                self.space(written, self.column);
            }
            if self.peek().is_none() && self.column >= self.indent + self.settings.prefix.len() {
                self.out.push(b'\n');
            }
        }
        while let Some(byte) = self.peek().filter(|byte| *byte != b'\n') {
            self.out.push(byte);
            self.at += 1;
        }
    }

    /// Writes blanks from one column to another.
    fn space(&mut self, mut from: usize, to: usize) -> usize {
        if self.has_tabs {
            let stop = to / TAB * TAB;
            if from + 1 < stop {
                while from < stop {
                    self.out.push(b'\t');
                    from = (from / TAB + 1) * TAB;
                }
            }
        }
        while from < to {
            self.out.push(b' ');
            from += 1;
        }
        from
    }

    fn is_same_paragraph(&self, indent: usize) -> bool {
        self.indent == indent && self.has_prefix() && !self.ends()
    }

    fn paragraph(&mut self) {
        let (prefix_indent, first_indent) = (self.indent, self.column);
        let mut words = Vec::new();
        self.words(&mut words);
        let mut goes_on = self.is_same_paragraph(prefix_indent);
        match self.settings.mode {
            Mode::Crown if goes_on => self.other_indent = self.column,
            Mode::Tagged if goes_on && self.column != first_indent => {
                self.other_indent = self.column;
            }
            Mode::Tagged if self.other_indent == first_indent => {
                self.other_indent = if first_indent == 0 { TAGGED_INDENT } else { 0 };
            }
            Mode::Tagged => {}
            Mode::Usual | Mode::Crown | Mode::Split => self.other_indent = first_indent,
        }
        let reads_on = match self.settings.mode {
            Mode::Split => false,
            Mode::Crown | Mode::Usual => true,
            Mode::Tagged => self.column != first_indent,
        };
        while reads_on && goes_on && self.column == self.other_indent {
            self.words(&mut words);
            goes_on = self.is_same_paragraph(prefix_indent);
        }
        if let Some(last) = words.last_mut() {
            (last.period, last.is_final) = (true, true);
        }
        let lines = breaks(
            &words,
            first_indent,
            self.other_indent,
            &self.settings.measure,
        );
        let (mut start, mut indent) = (0, first_indent);
        for end in lines {
            let mut column = self.space(0, prefix_indent);
            self.out.extend_from_slice(&self.settings.prefix);
            column += self.settings.prefix.len();
            column = self.space(column, indent.max(column));
            let line = words.get(start..end).unwrap_or_default();
            for (index, word) in line.iter().enumerate() {
                self.out.extend_from_slice(word.text);
                column += word.text.len();
                if index + 1 < line.len() {
                    column = self.space(column, column + word.space);
                }
            }
            self.out.push(b'\n');
            (start, indent) = (end, self.other_indent);
        }
    }
}

impl<'a> Reader<'a> {
    /// Reads the words of a line, and the beginning of the next one.
    fn words(&mut self, words: &mut Vec<Word<'a>>) {
        while !self.ends() {
            let start = self.at;
            while self
                .peek()
                .is_some_and(|byte| !byte.is_ascii_whitespace() && byte != 0x0b)
            {
                self.at += 1;
            }
            if self.at == start {
                // A control character that is a space elsewhere.
                self.at += 1;
            }
            let text = self.text.get(start..self.at).unwrap_or_default();
            self.column += text.len();
            let mut word = Word::new(text);
            let before = self.column;
            self.blanks();
            word.space = self.column - before;
            let ends = self.ends();
            word.is_final = self.peek().is_none() || word.period && (ends || word.space > 1);
            if ends || self.settings.is_uniform {
                word.space = if word.is_final { 2 } else { 1 };
            }
            words.push(word);
        }
        if self.peek().is_some() {
            self.at += 1;
            self.begin_line();
        } else {
            self.column = 0;
            self.indent = 0;
        }
    }
}
