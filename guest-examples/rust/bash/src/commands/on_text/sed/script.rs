//! A script of `sed`, read.

use std::collections::HashMap;
use std::rc::Rc;

use crate::commands::on_text::pattern::{Pattern, Reading as PatternReading, Syntax};

use super::substitution::Substitution;

mod arguments;

#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) extended: bool,
    pub(super) unicode: bool,
    pub(super) sandbox: bool,
}

#[derive(Clone)]
pub(super) enum Address {
    Line(usize),
    Step(usize, usize),
    Last,
    /// `None` is the last pattern that was used.
    Pattern(Option<Rc<Pattern>>),
}

#[derive(Clone)]
pub(super) enum End {
    At(Address),
    Plus(usize),
    Multiple(usize),
}

pub(super) enum Action {
    /// Where the block ends.
    Open(usize),
    Close,
    Number,
    Append(Vec<u8>),
    Insert(Vec<u8>),
    Change(Vec<u8>),
    Branch(usize),
    BranchIf(usize),
    BranchIfNot(usize),
    Delete,
    DeleteFirst,
    FileName,
    Get,
    GetAppend,
    Hold,
    HoldAppend,
    List(Option<usize>),
    Next,
    NextAppend,
    Print,
    PrintFirst,
    Quit(i32),
    QuitSilently(i32),
    ReadFile(String),
    ReadLine(String),
    Substitute(Box<Substitution>),
    Write(String),
    WriteFirst(String),
    Exchange,
    Translate(HashMap<char, char>),
    Zap,
    Nothing,
}

pub(super) struct Step {
    pub(super) from: Option<Address>,
    pub(super) to: Option<End>,
    pub(super) negated: bool,
    pub(super) action: Action,
}

pub(super) struct Script {
    pub(super) steps: Vec<Step>,
    /// Whether it begins with `#n`.
    pub(super) is_quiet: bool,
    pub(super) written: Vec<String>,
}

type Read<T> = Result<T, String>;

pub(super) fn parse(scripts: &[String], reading: Reading) -> Read<Script> {
    let text = scripts.join("\n");
    let mut parser = Parser {
        chars: text.chars().collect(),
        at: 0,
        reading,
        steps: Vec::new(),
        open: Vec::new(),
        labels: HashMap::new(),
        jumps: Vec::new(),
        written: Vec::new(),
    };
    let is_quiet = scripts
        .first()
        .is_some_and(|script| script == "#n" || script.starts_with("#n\n"));
    parser.steps()?;
    if !parser.open.is_empty() {
        return Err("-e expression #1, char 0: unmatched `{'".to_owned());
    }
    for (step, label) in std::mem::take(&mut parser.jumps) {
        let target = if label.is_empty() {
            parser.steps.len()
        } else {
            let target = parser.labels.get(&label).copied();
            target.ok_or_else(|| format!("can't find label for jump to `{label}'"))?
        };
        if let Some(Step {
            action: Action::Branch(to) | Action::BranchIf(to) | Action::BranchIfNot(to),
            ..
        }) = parser.steps.get_mut(step)
        {
            *to = target;
        }
    }
    Ok(Script {
        steps: parser.steps,
        is_quiet,
        written: parser.written,
    })
}

struct Parser {
    chars: Vec<char>,
    at: usize,
    reading: Reading,
    steps: Vec<Step>,
    open: Vec<usize>,
    labels: HashMap<String, usize>,
    jumps: Vec<(usize, String)>,
    written: Vec<String>,
}

impl Parser {
    fn wrong<T>(&self, why: &str) -> Read<T> {
        Err(format!("-e expression #1, char {}: {why}", self.at))
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let char = self.peek()?;
        self.at += 1;
        Some(char)
    }

    fn skip(&mut self, is: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&is) {
            self.at += 1;
        }
    }

    fn blanks(&mut self) {
        self.skip(|char| char.is_whitespace() && char != '\n');
    }

    fn number(&mut self) -> Option<usize> {
        let start = self.at;
        self.skip(|char| char.is_ascii_digit());
        let digits: String = self.chars.get(start..self.at)?.iter().collect();
        digits.parse().ok()
    }

    /// Reads up to the end of the line.
    fn rest_of_line(&mut self) -> String {
        self.blanks();
        let start = self.at;
        self.skip(|char| char != '\n');
        self.chars
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect()
    }

    fn steps(&mut self) -> Read<()> {
        loop {
            self.skip(|char| char.is_whitespace() || char == ';');
            let Some(char) = self.peek() else {
                return Ok(());
            };
            if char == '#' {
                self.skip(|char| char != '\n');
                continue;
            }
            self.step()?;
        }
    }

    fn address(&mut self) -> Read<Option<Address>> {
        let delimiter = match self.peek() {
            Some('$') => {
                self.at += 1;
                return Ok(Some(Address::Last));
            }
            Some(char) if char.is_ascii_digit() => {
                let first = self.number().unwrap_or(0);
                self.blanks();
                if self.peek() != Some('~') {
                    return Ok(Some(Address::Line(first)));
                }
                self.at += 1;
                let step = self.number().unwrap_or(0);
                return Ok(Some(if step == 0 {
                    Address::Line(first)
                } else {
                    Address::Step(first, step)
                }));
            }
            Some('/') => '/',
            Some('\\') => {
                self.at += 1;
                match self.peek() {
                    Some(char) if char != '\n' && char != '\\' => char,
                    _ => return self.wrong("unexpected `,'"),
                }
            }
            _ => return Ok(None),
        };
        self.at += 1;
        let Some(source) = self.delimited(delimiter, true) else {
            return self.wrong("unterminated address regex");
        };
        let (mut folds, mut multi_line) = (false, false);
        loop {
            match self.peek() {
                Some('I') => folds = true,
                Some('M') => multi_line = true,
                _ => break,
            }
            self.at += 1;
        }
        Ok(Some(Address::Pattern(
            self.pattern(source, folds, multi_line)?,
        )))
    }

    fn pattern(&self, source: String, folds: bool, multi_line: bool) -> Read<Option<Rc<Pattern>>> {
        if source.is_empty() {
            return Ok(None);
        }
        let syntax = if self.reading.extended {
            Syntax::Extended
        } else {
            Syntax::Basic
        };
        let mut reading = PatternReading::new(syntax, self.reading.unicode);
        reading.ignore_case = folds;
        reading.multi_line = multi_line;
        reading.escapes = true;
        match Pattern::new(vec![source], reading) {
            Ok(pattern) => Ok(Some(Rc::new(pattern))),
            Err(why) => self.wrong(&why),
        }
    }

    /// Reads up to a delimiter; before it, a backslash makes it a usual character.
    fn delimited(&mut self, delimiter: char, is_pattern: bool) -> Option<String> {
        let mut text = String::new();
        loop {
            match self.next()? {
                char if char == delimiter => return Some(text),
                '\n' if is_pattern => return None,
                '[' if is_pattern => {
                    text.push('[');
                    self.set(&mut text)?;
                }
                '\\' => {
                    let next = self.next()?;
                    let is_special = ".*[]^$+?(){}|".contains(next);
                    // In a basic pattern, these stand for themselves without a backslash.
                    let is_plain = !self.reading.extended && "+?(){}|".contains(next);
                    let keeps = if next != delimiter {
                        true
                    } else if is_pattern {
                        is_special && !is_plain
                    } else {
                        next == '&'
                    };
                    if keeps {
                        text.push('\\');
                    }
                    text.push(next);
                }
                char => text.push(char),
            }
        }
    }

    /// Reads a set after its `[`, in which a delimiter is a usual character.
    fn set(&mut self, text: &mut String) -> Option<()> {
        if self.peek() == Some('^') {
            text.push(self.next()?);
        }
        if self.peek() == Some(']') {
            text.push(self.next()?);
        }
        loop {
            let char = self.next()?;
            text.push(char);
            let kind = self.peek();
            match (char, kind) {
                (']', _) => return Some(()),
                ('[', Some(kind @ (':' | '.' | '='))) => {
                    text.push(self.next()?);
                    loop {
                        let inner = self.next()?;
                        text.push(inner);
                        if inner == kind && self.peek() == Some(']') {
                            text.push(self.next()?);
                            break;
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn step(&mut self) -> Read<()> {
        let from = self.address()?;
        let mut to = None;
        if from.is_some() {
            self.blanks();
            if self.peek() == Some(',') {
                self.at += 1;
                self.blanks();
                to = Some(match self.peek() {
                    Some('+') => {
                        self.at += 1;
                        End::Plus(self.number().unwrap_or(0))
                    }
                    Some('~') => {
                        self.at += 1;
                        End::Multiple(self.number().unwrap_or(0))
                    }
                    _ => match self.address()? {
                        Some(address) => End::At(address),
                        None => return self.wrong("unexpected `,'"),
                    },
                });
            }
        }
        if matches!(from, Some(Address::Line(0)))
            && !matches!(to, Some(End::At(Address::Pattern(_))))
        {
            self.at += 1;
            return self.wrong("invalid usage of line address 0");
        }
        self.blanks();
        let mut negated = false;
        while self.peek() == Some('!') {
            negated = true;
            self.at += 1;
            self.blanks();
        }
        let Some(letter) = self.next() else {
            return self.wrong("missing command");
        };
        let action = self.action(letter, from.is_some(), to.is_some())?;
        let Some(action) = action else {
            return Ok(());
        };
        let is_open = matches!(action, Action::Open(_));
        self.steps.push(Step {
            from,
            to,
            negated,
            action,
        });
        if is_open {
            self.open.push(self.steps.len() - 1);
        }
        Ok(())
    }

    /// Checks that a command ends here.
    fn ends(&mut self) -> Read<()> {
        self.blanks();
        match self.peek() {
            None => Ok(()),
            Some('\n' | ';') => {
                self.at += 1;
                Ok(())
            }
            Some('}' | '#') => Ok(()),
            Some(_) => {
                self.at += 1;
                self.wrong("extra characters after command")
            }
        }
    }

    fn label(&mut self) -> String {
        self.blanks();
        let start = self.at;
        self.skip(|char| char != '\n' && char != ';' && char != '}');
        let label: String = self
            .chars
            .get(start..self.at)
            .unwrap_or_default()
            .iter()
            .collect();
        label.trim_end().to_owned()
    }

    fn action(&mut self, letter: char, has_address: bool, has_range: bool) -> Read<Option<Action>> {
        let plain = match letter {
            '=' => Some(Action::Number),
            'd' => Some(Action::Delete),
            'D' => Some(Action::DeleteFirst),
            'F' => Some(Action::FileName),
            'g' => Some(Action::Get),
            'G' => Some(Action::GetAppend),
            'h' => Some(Action::Hold),
            'H' => Some(Action::HoldAppend),
            'n' => Some(Action::Next),
            'N' => Some(Action::NextAppend),
            'p' => Some(Action::Print),
            'P' => Some(Action::PrintFirst),
            'x' => Some(Action::Exchange),
            'z' => Some(Action::Zap),
            _ => None,
        };
        if plain.is_some() {
            self.ends()?;
            return Ok(plain);
        }
        match letter {
            '{' => Ok(Some(Action::Open(0))),
            '}' => {
                if has_address {
                    return self.wrong("} doesn't want any addresses");
                }
                let Some(open) = self.open.pop() else {
                    return self.wrong("unexpected `}'");
                };
                let end = self.steps.len();
                if let Some(Step {
                    action: Action::Open(to),
                    ..
                }) = self.steps.get_mut(open)
                {
                    *to = end;
                }
                self.ends()?;
                Ok(Some(Action::Close))
            }
            ':' => {
                if has_address {
                    return self.wrong(": doesn't want any addresses");
                }
                self.blanks();
                let start = self.at;
                self.skip(|char| !char.is_whitespace() && char != ';');
                let label: String = self
                    .chars
                    .get(start..self.at)
                    .unwrap_or_default()
                    .iter()
                    .collect();
                if label.is_empty() {
                    return self.wrong("\":\" lacks a label");
                }
                self.labels.insert(label, self.steps.len());
                Ok(None)
            }
            'a' | 'i' | 'c' => {
                let text = self.text()?.into_bytes();
                Ok(Some(match letter {
                    'a' => Action::Append(text),
                    'i' => Action::Insert(text),
                    _ => Action::Change(text),
                }))
            }
            'b' | 't' | 'T' => {
                let label = self.label();
                self.jumps.push((self.steps.len(), label));
                self.ends()?;
                Ok(Some(match letter {
                    'b' => Action::Branch(0),
                    't' => Action::BranchIf(0),
                    _ => Action::BranchIfNot(0),
                }))
            }
            'q' | 'Q' | 'l' | 'L' => {
                if has_range && letter != 'l' {
                    return self.wrong("command only uses one address");
                }
                self.blanks();
                let number = self.number();
                self.ends()?;
                let code = i32::try_from(number.unwrap_or(0)).unwrap_or(0);
                Ok(Some(match letter {
                    'q' => Action::Quit(code),
                    'Q' => Action::QuitSilently(code),
                    _ => Action::List(number),
                }))
            }
            'r' | 'R' | 'w' | 'W' => {
                if self.reading.sandbox {
                    return self.wrong("e/r/w commands disabled in sandbox mode");
                }
                let name = self.rest_of_line();
                if name.is_empty() {
                    return self.wrong("missing filename in r/R/w/W commands");
                }
                if matches!(letter, 'w' | 'W') && !self.written.contains(&name) {
                    self.written.push(name.clone());
                }
                Ok(Some(match letter {
                    'r' => Action::ReadFile(name),
                    'R' => Action::ReadLine(name),
                    'w' => Action::Write(name),
                    _ => Action::WriteFirst(name),
                }))
            }
            's' => self.substitution().map(Some),
            'y' => self.translation().map(Some),
            'v' => {
                self.label();
                Ok(Some(Action::Nothing))
            }
            'e' => {
                self.wrong("the command `e' is not implemented here: no programs can be started")
            }
            other => self.wrong(&format!("unknown command: `{other}'")),
        }
    }
}
