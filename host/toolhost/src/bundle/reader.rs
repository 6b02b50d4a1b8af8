//! Walks a document and collects everything that is wrong with it.
//!
//! A reader that finds a fault records it and returns none, so that the readers around it go on.

mod suggest;

use toolhost_contract::ToolErrorCode;

use super::diagnostic::{Diagnostic, DiagnosticList, Place};
use super::yaml::{self, Key, Mark, Node, Value, YamlSource};
use crate::schema::PatternBudget;
use toolhost_contract::text;

pub(crate) use suggest::closest;

/// Longest text quoted in a finding, in characters.
const QUOTED_MAX: usize = 80;

/// What is wrong with a file, in the order it was found.
#[derive(Debug)]
pub(crate) struct Findings {
    source: YamlSource,
    list: DiagnosticList,
    /// What the patterns of all schemas in the file may still take.
    pub(crate) patterns: PatternBudget,
}

/// What cannot be read, and why, is recorded.
#[derive(Debug)]
pub(crate) struct Unread;

impl Findings {
    pub(crate) fn new(source: &YamlSource) -> Self {
        Self {
            source: source.clone(),
            list: DiagnosticList::default(),
            patterns: PatternBudget::default(),
        }
    }

    /// Reads the file's only document; none where it holds nothing. Of several the first is read, and
    /// it is recorded that there may be but one, in these words.
    ///
    /// # Errors
    /// [`Unread`] where the file has more bytes than `most`, or is no YAML; that is recorded.
    pub(crate) fn only_document(
        &mut self,
        most: usize,
        one: &str,
        next: Option<&str>,
    ) -> Result<Option<Node>, Unread> {
        let source = self.source.clone();
        let whole = |code, message| Diagnostic::error(code, Place::file(source.name()), message);
        if source.text().len() > most {
            let message = format!("the file is larger than {most} bytes");
            self.add(whole(ToolErrorCode::ConfigTooLarge, message));
            return Err(Unread);
        }
        let mut documents = yaml::documents(&source, 2).into_iter();
        let first = documents.next();
        if documents.next().is_some() {
            let error = whole(ToolErrorCode::ConfigTooMany, one.to_owned());
            self.add(match next {
                Some(next) => error.with_help(next),
                None => error,
            });
        }
        first.transpose().map_err(|error| {
            let place = match error.at {
                Some(mark) => source.place(mark, ""),
                None => Place::file(source.name()),
            };
            let code = ToolErrorCode::ConfigParse;
            self.add(Diagnostic::error(code, place, error.message));
            Unread
        })
    }

    /// Records a finding.
    pub(crate) fn add(&mut self, finding: Diagnostic) {
        self.list.add(finding);
    }

    /// Whether one more error would be left out: then it need not be explained.
    pub(crate) fn is_full(&self) -> bool {
        self.list.is_full()
    }

    /// Records an error about a value.
    pub(crate) fn error(
        &mut self,
        code: ToolErrorCode,
        at: &Cursor<'_>,
        message: impl Into<String>,
    ) {
        let place = self.place(at);
        self.add(Diagnostic::error(code, place, message));
    }

    /// Records that a value is not what its place asks for.
    pub(crate) fn invalid(&mut self, at: &Cursor<'_>, message: impl Into<String>) {
        self.error(ToolErrorCode::ConfigSchema, at, message);
    }

    /// Where a value stands.
    pub(crate) fn place(&self, at: &Cursor<'_>) -> Place {
        self.source.place(at.mark, &at.path)
    }

    /// The file.
    pub(crate) fn source(&self) -> &YamlSource {
        &self.source
    }

    /// Everything found, in the order of the file; what is about all of it comes first.
    pub(crate) fn into_list(self) -> Vec<Diagnostic> {
        let mut list = self.list.into_vec(self.source.name());
        list.sort_by_key(|finding| {
            let offset = finding.place.position.map(|at| at.span.offset);
            (offset, !finding.is_error())
        });
        list
    }
}

/// A value, and the path that led to it.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'n> {
    pub(crate) node: &'n Node,
    pub(crate) mark: Mark,
    pub(crate) path: String,
}

impl<'n> Cursor<'n> {
    pub(crate) fn new(node: &'n Node, path: impl Into<String>) -> Self {
        Self {
            node,
            mark: node.mark,
            path: path.into(),
        }
    }

    /// Reads a mapping.
    pub(crate) fn fields(&self, findings: &mut Findings) -> Option<Fields<'n>> {
        if let Value::Map(entries) = &self.node.value {
            return Some(Fields {
                entries,
                at: self.clone(),
            });
        }
        self.expected("a mapping", findings)
    }

    /// Reads a list.
    pub(crate) fn items(&self, findings: &mut Findings) -> Option<Vec<Cursor<'n>>> {
        if let Value::List(items) = &self.node.value {
            let item = |(at, node)| Cursor::new(node, format!("{}[{at}]", self.path));
            return Some(items.iter().enumerate().map(item).collect());
        }
        self.expected("a list", findings)
    }

    /// Reads a string.
    pub(crate) fn text(&self, findings: &mut Findings) -> Option<&'n str> {
        if let Value::Text(text) = &self.node.value {
            return Some(text);
        }
        self.expected("a string", findings)
    }

    /// Reads `true` or `false`.
    pub(crate) fn boolean(&self, findings: &mut Findings) -> Option<bool> {
        if let Value::Bool(value) = self.node.value {
            return Some(value);
        }
        self.expected("true or false", findings)
    }

    /// Reads a name with one of the contract's parsers.
    pub(crate) fn name<T, E: std::fmt::Display>(
        &self,
        parse: fn(&str) -> Result<T, E>,
        findings: &mut Findings,
    ) -> Option<T> {
        match parse(self.text(findings)?) {
            Ok(name) => Some(name),
            Err(error) => {
                let message = text::shorten(&error.to_string(), 2 * QUOTED_MAX);
                findings.error(ToolErrorCode::ConfigName, self, message);
                None
            }
        }
    }

    /// Records that the value is of another kind than its place asks for.
    pub(crate) fn expected<T>(&self, what: &str, findings: &mut Findings) -> Option<T> {
        let found = self.node.value.kind();
        findings.invalid(self, format!("expected {what} but got {found}"));
        None
    }
}

/// A mapping.
#[derive(Debug)]
pub(crate) struct Fields<'n> {
    entries: &'n [(Key, Node)],
    pub(crate) at: Cursor<'n>,
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there.
    pub(crate) fn get(&self, name: &str) -> Option<Cursor<'n>> {
        let (_, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        Some(Cursor::new(node, self.path_of(name)))
    }

    /// The value of a key that must be there.
    pub(crate) fn required(&self, name: &str, findings: &mut Findings) -> Option<Cursor<'n>> {
        let found = self.get(name);
        if found.is_none() {
            findings.invalid(&self.at, format!("'{name}' is missing"));
        }
        found
    }

    /// The entries in order: each key as a cursor (whose place is the key's), and its value.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'n str, Cursor<'n>, Cursor<'n>)> {
        self.entries.iter().map(|(key, node)| {
            let value = Cursor::new(node, self.path_of(&key.name));
            let at_key = Cursor {
                mark: key.mark,
                ..value.clone()
            };
            (key.name.as_str(), at_key, value)
        })
    }

    /// Records an error for each key that is not known here, with the one probably meant.
    pub(crate) fn refuse_unknown(&self, known: &[&str], findings: &mut Findings) {
        for (name, key, _) in self.entries() {
            if known.contains(&name) {
                continue;
            }
            let place = findings.place(&key);
            let message = format!("unknown key '{}'", text::shorten(name, QUOTED_MAX));
            let help = match closest(name, known) {
                Some(close) => format!("Did you mean '{close}'?"),
                None => format!("Known here: {}.", known.join(", ")),
            };
            let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
            findings.add(error.with_help(help));
        }
    }

    fn path_of(&self, name: &str) -> String {
        let name = text::shorten(name, QUOTED_MAX);
        match self.at.path.as_str() {
            "" => name,
            above => format!("{above}.{name}"),
        }
    }
}
