//! The inputs of a run: stdin, or files one after the other.

use std::collections::VecDeque;

use super::options::Options;
use super::{Caller, could_not_open};
use crate::json::Reader;
use crate::object::Object;
use crate::value::Val;

pub(super) struct Inputs<'i> {
    stdin: &'i [u8],
    files: VecDeque<String>,
    kind: Kind,
    current: Option<Source>,
    filename: Option<String>,
    failures: usize,
    messages: String,
    /// Events of the last value.
    events: VecDeque<Val>,
    done: bool,
}

#[derive(Clone, Copy)]
struct Kind {
    raw: bool,
    slurp: bool,
    stream: bool,
    sequence: bool,
}

enum Source {
    Json(Box<Reader<'static>>),
    Lines {
        text: String,
        at: usize,
        line: usize,
    },
}

impl<'i> Inputs<'i> {
    pub(super) fn new(options: &Options, stdin: &'i [u8]) -> Self {
        Self {
            stdin,
            files: if options.files.is_empty() {
                [STDIN_FILE.to_owned()].into()
            } else {
                options.files.iter().cloned().collect()
            },
            kind: Kind {
                raw: options.raw_input,
                slurp: options.slurp,
                stream: options.stream,
                sequence: options.sequence,
            },
            current: None,
            filename: None,
            failures: 0,
            messages: String::new(),
            events: VecDeque::new(),
            done: false,
        }
    }

    /// Files that could not be read.
    pub(super) fn failures(&self) -> usize {
        self.failures
    }

    pub(super) fn take_messages(&mut self) -> String {
        std::mem::take(&mut self.messages)
    }

    pub(super) fn filename(&self) -> Option<String> {
        self.filename.clone()
    }

    pub(super) fn line(&mut self) -> usize {
        match &mut self.current {
            Some(Source::Json(reader)) => reader.line(),
            Some(Source::Lines { line, .. }) => *line,
            None => 0,
        }
    }

    pub(super) fn position(&mut self) -> String {
        match self.filename.clone() {
            Some(name) => format!("{name}:{}", self.line()),
            None => "<unknown>".to_owned(),
        }
    }

    pub(super) fn next(&mut self, caller: &dyn Caller) -> Option<Result<Val, String>> {
        if !self.kind.slurp {
            return self.one(caller);
        }
        if std::mem::replace(&mut self.done, true) {
            return None;
        }
        if self.kind.raw {
            let mut all = String::new();
            while let Some(source) = self.open(caller) {
                if let Source::Lines { text, .. } = source {
                    all.push_str(&text);
                }
            }
            return Some(Ok(all.into()));
        }
        let mut values = Vec::new();
        while let Some(value) = self.one(caller) {
            match value {
                Ok(value) => values.push(value),
                Err(reason) => return Some(Err(reason)),
            }
        }
        Some(Ok(values.into()))
    }

    fn one(&mut self, caller: &dyn Caller) -> Option<Result<Val, String>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(Ok(event));
            }
            if self.current.is_none() {
                self.current = Some(self.open(caller)?);
            }
            match self.current.as_mut().and_then(Source::next) {
                Some(Ok(value)) if self.kind.stream => {
                    stream(&value, &mut Vec::new(), &mut self.events)
                }
                Some(value) => return Some(value),
                None if self.files.is_empty() => return None,
                None => self.current = None,
            }
        }
    }

    /// Opens the next file that can be read.
    fn open(&mut self, caller: &dyn Caller) -> Option<Source> {
        loop {
            let path = self.files.pop_front()?;
            if path == STDIN_FILE {
                self.filename = Some(STDIN.to_owned());
                let bytes = std::mem::take(&mut self.stdin);
                return Some(self.source(bytes.to_vec()));
            }
            match caller.read(&path) {
                Ok(bytes) => {
                    self.filename = Some(path);
                    return Some(self.source(bytes));
                }
                Err(error) => {
                    self.failures += 1;
                    self.messages
                        .push_str(&format!("jq: error: {}\n", could_not_open(&path, &error)));
                }
            }
        }
    }

    fn source(&self, bytes: Vec<u8>) -> Source {
        if self.kind.raw {
            let text = String::from_utf8(bytes)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            return Source::Lines {
                text,
                at: 0,
                line: 0,
            };
        }
        let reader = Reader::from_vec(bytes);
        Source::Json(Box::new(if self.kind.sequence {
            reader.sequence()
        } else {
            reader
        }))
    }
}

/// The operand that stands for stdin, and the name of that.
const STDIN_FILE: &str = "-";
const STDIN: &str = "<stdin>";

impl Source {
    fn next(&mut self) -> Option<Result<Val, String>> {
        match self {
            Self::Json(reader) => reader.next_value(),
            Self::Lines { text, at, line } => {
                let rest = text.get(*at..).filter(|rest| !rest.is_empty())?;
                let len = rest.find('\n').unwrap_or(rest.len());
                *at += len + 1;
                *line += 1;
                Some(Ok(rest.get(..len).unwrap_or_default().into()))
            }
        }
    }
}

/// The events of a value: its leaves with their paths, and the ends of arrays and objects.
fn stream(value: &Val, path: &mut Vec<Val>, events: &mut VecDeque<Val>) {
    let event = |path: &[Val], leaf: Option<&Val>| {
        let mut parts = vec![Val::from(path.to_vec())];
        parts.extend(leaf.cloned());
        Val::from(parts)
    };
    let children: Vec<(Val, &Val)> = match value {
        Val::Arr(items) => items
            .iter()
            .enumerate()
            .map(|(at, item)| (at.into(), item))
            .collect(),
        Val::Obj(object) => members(object),
        _ => Vec::new(),
    };
    if children.is_empty() {
        events.push_back(event(path, Some(value)));
        return;
    }
    let last = children.last().map(|(key, _)| key.clone());
    for (key, child) in children {
        path.push(key);
        stream(child, path, events);
        path.pop();
    }
    path.extend(last);
    events.push_back(event(path, None));
    path.pop();
}

fn members(object: &Object) -> Vec<(Val, &Val)> {
    object
        .iter()
        .map(|(key, value)| (Val::Str(std::rc::Rc::clone(key)), value))
        .collect()
}
