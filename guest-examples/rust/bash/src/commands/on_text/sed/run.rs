//! Runs a script of `sed`.

use std::collections::HashMap;
use std::rc::Rc;

use super::script::{Action, Address, End, Script, Step};
use crate::commands::call::{Call, Failure};
use crate::commands::on_text::pattern::Pattern;
use crate::files::text_of;

pub(super) struct File {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

/// Whether the lines of a range are going on, and up to which line if that is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Range {
    Closed,
    Open,
    Until(usize),
}

/// What happens after a step.
enum Flow {
    Next,
    Jump(usize),
    /// The cycle ends; whether the pattern space is printed.
    End(bool),
    /// A new cycle begins without a new line.
    Again,
    Quit(i32, bool),
}

enum Queued {
    Text(Vec<u8>),
    File(String),
    Line(String),
}

pub(super) struct Machine {
    script: Rc<Script>,
    ranges: Vec<Range>,
    quiet: bool,
    end: u8,
    line_length: usize,
    pattern: Vec<u8>,
    hold: Vec<u8>,
    /// Whether the line of the pattern space had its end.
    has_end: bool,
    line: usize,
    replaced: bool,
    queue: Vec<Queued>,
    last: Option<Rc<Pattern>>,
    written: HashMap<String, Vec<u8>>,
    /// How many lines `R` has read of each file.
    lines_read: HashMap<String, usize>,
    /// Whether the output lacks the end of its last line.
    lacks_end: bool,
}

struct Input {
    files: Vec<File>,
    file: usize,
    at: usize,
}

impl Input {
    fn next(&mut self, end: u8) -> Option<(Vec<u8>, bool)> {
        loop {
            let file = self.files.get(self.file)?;
            let rest = file.bytes.get(self.at..).unwrap_or_default();
            if rest.is_empty() {
                if self.file + 1 >= self.files.len() {
                    return None;
                }
                self.file += 1;
                self.at = 0;
                continue;
            }
            let (line, used, has_end) = match memchr::memchr(end, rest) {
                Some(length) => (rest.get(..length)?, length + 1, true),
                None => (rest, rest.len(), false),
            };
            self.at += used;
            return Some((line.to_vec(), has_end));
        }
    }

    fn is_at_end(&self) -> bool {
        let rest = self
            .files
            .get(self.file)
            .map_or(0, |file| file.bytes.len() - self.at.min(file.bytes.len()));
        rest == 0
            && self
                .files
                .iter()
                .skip(self.file + 1)
                .all(|file| file.bytes.is_empty())
    }
}

type Ran<T> = Result<T, Failure>;

impl Machine {
    pub(super) fn new(script: Script, quiet: bool, null: bool, line_length: usize) -> Self {
        let is_from_start = |step: &Step| matches!(step.from, Some(Address::Line(0)));
        let ranges = script.steps.iter().map(|step| {
            if is_from_start(step) {
                Range::Open
            } else {
                Range::Closed
            }
        });
        Self {
            ranges: ranges.collect(),
            script: Rc::new(script),
            quiet,
            end: if null { 0 } else { b'\n' },
            line_length,
            pattern: Vec::new(),
            hold: Vec::new(),
            has_end: true,
            line: 0,
            replaced: false,
            queue: Vec::new(),
            last: None,
            written: HashMap::new(),
            lines_read: HashMap::new(),
            lacks_end: false,
        }
    }

    /// Empties the files that the script writes.
    pub(super) fn open_files(&mut self, call: &mut Call) -> Ran<()> {
        for name in &Rc::clone(&self.script).written {
            if !matches!(&**name, "/dev/stdout" | "/dev/stderr") {
                self.written.insert(name.clone(), Vec::new());
            }
        }
        self.close_files(call)
    }

    pub(super) fn close_files(&mut self, call: &mut Call) -> Ran<()> {
        for (name, content) in &self.written {
            call.write(name, content).map_err(|error| {
                Failure::new(4, format!("couldn't open file {name}: {}", text_of(&error)))
            })?;
        }
        Ok(())
    }

    /// Runs over files as one text, and returns the exit code if the script ends everything.
    pub(super) fn run(&mut self, call: &mut Call, files: Vec<File>) -> Ran<Option<i32>> {
        let script = Rc::clone(&self.script);
        let mut input = Input {
            files,
            file: 0,
            at: 0,
        };
        self.line = 0;
        self.lacks_end = false;
        let mut reads = true;
        loop {
            if reads {
                let Some((line, has_end)) = input.next(self.end) else {
                    return Ok(None);
                };
                (self.pattern, self.has_end) = (line, has_end);
                self.line += 1;
            }
            self.replaced = false;
            let flow = self.cycle(call, &script, &mut input)?;
            let prints = match flow {
                Flow::End(prints) => prints,
                Flow::Quit(_, prints) => prints,
                Flow::Again | Flow::Next | Flow::Jump(_) => false,
            };
            if prints && !self.quiet {
                self.print_pattern(call);
            }
            self.print_queue(call);
            if let Flow::Quit(code, _) = flow {
                return Ok(Some(code));
            }
            reads = !matches!(flow, Flow::Again);
        }
    }

    fn cycle(&mut self, call: &mut Call, script: &Script, input: &mut Input) -> Ran<Flow> {
        let mut at = 0;
        while let Some(step) = script.steps.get(at) {
            let is_selected = self.selects(step, at, input)? != step.negated;
            if !is_selected {
                at = match step.action {
                    Action::Open(end) => end + 1,
                    _ => at + 1,
                };
                continue;
            }
            match self.step(call, step, at, input)? {
                Flow::Next => at += 1,
                Flow::Jump(to) => at = to,
                flow => return Ok(flow),
            }
        }
        Ok(Flow::End(true))
    }

    fn selects(&mut self, step: &Step, index: usize, input: &Input) -> Ran<bool> {
        let Some(from) = &step.from else {
            return Ok(true);
        };
        let Some(to) = &step.to else {
            return self.is_at(from, input);
        };
        let range = self.ranges.get(index).copied().unwrap_or(Range::Closed);
        let (next, selected) = match range {
            Range::Closed => {
                if !self.is_at(from, input)? {
                    return Ok(false);
                }
                let next = match to {
                    End::At(Address::Line(end)) if *end <= self.line => Range::Closed,
                    End::At(Address::Line(end)) => Range::Until(*end),
                    End::At(Address::Last) if input.is_at_end() => Range::Closed,
                    End::At(_) => Range::Open,
                    End::Plus(0) | End::Multiple(0) => Range::Closed,
                    End::Plus(count) => Range::Until(self.line + count),
                    End::Multiple(of) if self.line.is_multiple_of(*of) => Range::Closed,
                    End::Multiple(of) => Range::Until(self.line.next_multiple_of(*of)),
                };
                (next, true)
            }
            Range::Until(end) if self.line > end => (Range::Closed, false),
            Range::Until(end) => (
                if self.line == end {
                    Range::Closed
                } else {
                    range
                },
                true,
            ),
            Range::Open => {
                let ends = match to {
                    End::At(address) => self.is_at(address, input)?,
                    End::Plus(_) | End::Multiple(_) => true,
                };
                (if ends { Range::Closed } else { Range::Open }, true)
            }
        };
        if let Some(range) = self.ranges.get_mut(index) {
            *range = next;
        }
        Ok(selected)
    }

    fn is_at(&mut self, address: &Address, input: &Input) -> Ran<bool> {
        match address {
            Address::Line(line) => Ok(self.line == *line),
            Address::Step(first, step) => {
                Ok(self.line >= *first && (self.line - first).is_multiple_of(*step))
            }
            Address::Last => Ok(input.is_at_end()),
            Address::Pattern(pattern) => {
                let pattern = self.used(pattern.as_ref())?;
                let wrong = |text| Failure::new(1, text);
                let matcher = pattern.matcher(&self.pattern).map_err(wrong)?;
                Ok(matcher.start(&self.pattern, 0).map_err(wrong)?.is_some())
            }
        }
    }

    fn used(&mut self, pattern: Option<&Rc<Pattern>>) -> Ran<Rc<Pattern>> {
        let pattern = pattern.or(self.last.as_ref()).cloned();
        let pattern = pattern.ok_or_else(|| {
            Failure::new(
                1,
                "-e expression #1, char 0: no previous regular expression",
            )
        })?;
        self.last = Some(Rc::clone(&pattern));
        Ok(pattern)
    }

    fn put(&mut self, call: &mut Call, text: &[u8], has_end: bool) {
        if self.lacks_end {
            call.out.push(self.end);
        }
        call.out.extend_from_slice(text);
        if has_end {
            call.out.push(self.end);
        }
        self.lacks_end = !has_end;
    }

    fn print_pattern(&mut self, call: &mut Call) {
        let pattern = std::mem::take(&mut self.pattern);
        self.put(call, &pattern, self.has_end);
        self.pattern = pattern;
    }

    fn put_raw(&mut self, call: &mut Call, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.lacks_end {
            call.out.push(self.end);
        }
        call.out.extend_from_slice(bytes);
        self.lacks_end = false;
    }

    fn print_queue(&mut self, call: &mut Call) {
        for queued in std::mem::take(&mut self.queue) {
            match queued {
                Queued::Text(text) => {
                    // Even no text ends the line before: `$a\`.
                    if std::mem::take(&mut self.lacks_end) {
                        call.out.push(self.end);
                    }
                    call.out.extend(text);
                }
                Queued::File(name) => {
                    // A file that cannot be read is empty.
                    if let Ok(bytes) = call.read(&name) {
                        self.put_raw(call, &bytes);
                    }
                }
                Queued::Line(name) => {
                    let read = self.lines_read.entry(name.clone()).or_default();
                    if let Ok(bytes) = call.read(&name)
                        && let Some(line) = bytes.split_inclusive(|byte| *byte == b'\n').nth(*read)
                    {
                        *read += 1;
                        let content = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
                        self.put(call, &content, true);
                    }
                }
            }
        }
    }

    fn write(&mut self, call: &mut Call, name: &str, text: &[u8]) {
        match name {
            "/dev/stdout" => self.put(call, text, true),
            "/dev/stderr" => {
                call.warn(text);
                call.warn(b"\n");
            }
            name => {
                let file = self.written.entry(name.to_owned()).or_default();
                file.extend_from_slice(text);
                file.push(self.end);
            }
        }
    }

    fn first_line(&self) -> Vec<u8> {
        let end = memchr::memchr(self.end, &self.pattern).unwrap_or(self.pattern.len());
        self.pattern.get(..end).unwrap_or_default().to_vec()
    }

    fn step(&mut self, call: &mut Call, step: &Step, index: usize, input: &mut Input) -> Ran<Flow> {
        match &step.action {
            Action::Open(_) | Action::Close | Action::Nothing => {}
            Action::Number => self.put(call, self.line.to_string().into_bytes().as_slice(), true),
            Action::Append(text) => self.queue.push(Queued::Text(text.clone())),
            Action::Insert(text) => self.put_raw(call, text),
            Action::Change(text) => {
                let is_over = self
                    .ranges
                    .get(index)
                    .is_none_or(|range| *range == Range::Closed);
                if step.to.is_none() || step.negated || is_over {
                    self.put_raw(call, text);
                }
                return Ok(Flow::End(false));
            }
            Action::Branch(to) => return Ok(Flow::Jump(*to)),
            Action::BranchIf(to) => {
                if std::mem::take(&mut self.replaced) {
                    return Ok(Flow::Jump(*to));
                }
            }
            Action::BranchIfNot(to) => {
                if !std::mem::take(&mut self.replaced) {
                    return Ok(Flow::Jump(*to));
                }
            }
            Action::Delete => return Ok(Flow::End(false)),
            Action::DeleteFirst => {
                let Some(end) = memchr::memchr(self.end, &self.pattern) else {
                    return Ok(Flow::End(false));
                };
                self.pattern.drain(..=end);
                return Ok(Flow::Again);
            }
            Action::FileName => {
                let name = input
                    .files
                    .get(input.file)
                    .map_or("-", |file| &file.name)
                    .to_owned();
                self.put(call, name.as_bytes(), true);
            }
            Action::Get => self.pattern.clone_from(&self.hold),
            Action::GetAppend => {
                self.pattern.push(self.end);
                self.pattern.extend_from_slice(&self.hold);
            }
            Action::Hold => self.hold.clone_from(&self.pattern),
            Action::HoldAppend => {
                self.hold.push(self.end);
                self.hold.extend_from_slice(&self.pattern);
            }
            Action::List(length) => {
                let text = listed(&self.pattern, length.unwrap_or(self.line_length));
                self.put_raw(call, &text);
            }
            Action::Next => {
                if input.is_at_end() {
                    return Ok(Flow::End(true));
                }
                if !self.quiet {
                    self.print_pattern(call);
                }
                self.print_queue(call);
                if let Some((line, has_end)) = input.next(self.end) {
                    (self.pattern, self.has_end) = (line, has_end);
                    self.line += 1;
                }
            }
            Action::NextAppend => {
                if input.is_at_end() {
                    return Ok(Flow::End(true));
                }
                self.print_queue(call);
                if let Some((line, has_end)) = input.next(self.end) {
                    self.pattern.push(self.end);
                    self.pattern.extend(line);
                    self.has_end = has_end;
                    self.line += 1;
                }
            }
            Action::Print => self.print_pattern(call),
            Action::PrintFirst => {
                let line = self.first_line();
                self.put(call, &line, true);
            }
            Action::Quit(code) => return Ok(Flow::Quit(*code, true)),
            Action::QuitSilently(code) => {
                self.queue.clear();
                return Ok(Flow::Quit(*code, false));
            }
            Action::ReadFile(name) => self.queue.push(Queued::File(name.clone())),
            Action::ReadLine(name) => self.queue.push(Queued::Line(name.clone())),
            Action::Substitute(substitution) => {
                let pattern = self.used(substitution.pattern.as_ref())?;
                let result = substitution.apply(&pattern, &self.pattern);
                if let Some(text) = result.map_err(|text| Failure::new(1, text))? {
                    self.pattern = text;
                    self.replaced = true;
                    if substitution.prints {
                        self.print_pattern(call);
                    }
                    if let Some(name) = &substitution.written {
                        let text = self.pattern.clone();
                        self.write(call, name, &text);
                    }
                }
            }
            Action::Write(name) => {
                let text = self.pattern.clone();
                self.write(call, name, &text);
            }
            Action::WriteFirst(name) => {
                let text = self.first_line();
                self.write(call, name, &text);
            }
            Action::Exchange => std::mem::swap(&mut self.pattern, &mut self.hold),
            Action::Translate(table) => {
                let mut text = Vec::new();
                for chunk in self.pattern.utf8_chunks() {
                    for char in chunk.valid().chars() {
                        let char = table.get(&char).copied().unwrap_or(char);
                        text.extend(char.to_string().bytes());
                    }
                    text.extend_from_slice(chunk.invalid());
                }
                self.pattern = text;
            }
            Action::Zap => self.pattern.clear(),
        }
        Ok(Flow::Next)
    }
}

/// A text in which every byte is visible, as `l` prints it.
fn listed(text: &[u8], length: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let mut column = 0;
    for byte in text {
        let shown = match byte {
            b'\\' => "\\\\".to_owned(),
            7 => "\\a".to_owned(),
            8 => "\\b".to_owned(),
            12 => "\\f".to_owned(),
            b'\n' => "\\n".to_owned(),
            b'\r' => "\\r".to_owned(),
            b'\t' => "\\t".to_owned(),
            11 => "\\v".to_owned(),
            0x20..0x7F => char::from(*byte).to_string(),
            byte => format!("\\{byte:03o}"),
        };
        if length > 1 && column + shown.len() > length - 1 {
            out.extend_from_slice(b"\\\n");
            column = 0;
        }
        column += shown.len();
        out.extend(shown.bytes());
    }
    out.extend_from_slice(b"$\n");
    out
}
