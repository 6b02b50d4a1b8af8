//! Walks a document and collects everything that is wrong with it.
//!
//! A reader that finds a fault records it and returns none, so that the readers around it go on.

use toolhost_contract::ToolErrorCode;

use crate::diagnostic::{Diagnostic, DiagnosticList, Place};
use crate::schema::PatternBudget;
use crate::suggest::closest;
use crate::yaml::{self, Key, Mark, Node, Value, YamlSource};
use toolhost_contract::text;

/// Longest text quoted in a finding, in characters.
const QUOTED_MAX: usize = 80;

/// What is wrong with a file, in the order it was found.
#[derive(Debug)]
pub struct Findings {
    source: YamlSource,
    list: DiagnosticList,
    /// What the patterns of all schemas in the file may still take.
    pub patterns: PatternBudget,
}

/// What cannot be read, and why, is recorded.
#[derive(Debug)]
pub struct Unread;

impl Findings {
    /// Starts an empty list of findings about a file.
    #[must_use]
    pub fn new(source: &YamlSource) -> Self {
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
    pub fn only_document(
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
    pub fn add(&mut self, finding: Diagnostic) {
        self.list.add(finding);
    }

    /// Whether one more error would be left out: then it need not be explained.
    pub fn is_full(&self) -> bool {
        self.list.is_full()
    }

    /// Records an error about a value.
    pub fn error(&mut self, code: ToolErrorCode, at: &Cursor<'_>, message: impl Into<String>) {
        let place = self.place(at);
        self.add(Diagnostic::error(code, place, message));
    }

    /// Records that a value is not what its place asks for.
    pub fn invalid(&mut self, at: &Cursor<'_>, message: impl Into<String>) {
        self.error(ToolErrorCode::ConfigSchema, at, message);
    }

    /// Where a value stands.
    pub fn place(&self, at: &Cursor<'_>) -> Place {
        self.source.place(at.mark, &at.path)
    }

    /// The file.
    pub fn source(&self) -> &YamlSource {
        &self.source
    }

    /// Everything found, in the order of the file; what is about all of it comes first.
    pub fn into_list(self) -> Vec<Diagnostic> {
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
pub struct Cursor<'n> {
    /// The value.
    pub node: &'n Node,
    /// Where findings about it point.
    pub mark: Mark,
    /// The path from the document, such as `spec.exports[0].name`.
    pub path: String,
}

impl<'n> Cursor<'n> {
    /// Starts at a value, with the path that leads to it.
    pub fn new(node: &'n Node, path: impl Into<String>) -> Self {
        Self {
            node,
            mark: node.mark,
            path: path.into(),
        }
    }

    /// Reads a mapping.
    pub fn fields(&self, findings: &mut Findings) -> Option<Fields<'n>> {
        if let Value::Map(entries) = &self.node.value {
            return Some(Fields {
                entries,
                at: self.clone(),
            });
        }
        self.expected("a mapping", findings)
    }

    /// Reads a list.
    pub fn items(&self, findings: &mut Findings) -> Option<Vec<Cursor<'n>>> {
        if let Value::List(items) = &self.node.value {
            let item = |(at, node)| Cursor::new(node, format!("{}[{at}]", self.path));
            return Some(items.iter().enumerate().map(item).collect());
        }
        self.expected("a list", findings)
    }

    /// Reads a string.
    pub fn text(&self, findings: &mut Findings) -> Option<&'n str> {
        if let Value::Text(text) = &self.node.value {
            return Some(text);
        }
        self.expected("a string", findings)
    }

    /// Reads `true` or `false`.
    pub fn boolean(&self, findings: &mut Findings) -> Option<bool> {
        if let Value::Bool(value) = self.node.value {
            return Some(value);
        }
        self.expected("true or false", findings)
    }

    /// Reads a name with one of the contract's parsers.
    pub fn name<T, E: std::fmt::Display>(
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
    pub fn expected<T>(&self, what: &str, findings: &mut Findings) -> Option<T> {
        let found = self.node.value.kind();
        findings.invalid(self, format!("expected {what} but got {found}"));
        None
    }
}

/// A mapping.
#[derive(Debug)]
pub struct Fields<'n> {
    entries: &'n [(Key, Node)],
    /// The mapping itself.
    pub at: Cursor<'n>,
}

impl<'n> Fields<'n> {
    /// The value of a key, if it is there.
    pub fn get(&self, name: &str) -> Option<Cursor<'n>> {
        let (_, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        Some(Cursor::new(node, self.path_of(name)))
    }

    /// The value of a key that must be there.
    pub fn required(&self, name: &str, findings: &mut Findings) -> Option<Cursor<'n>> {
        let found = self.get(name);
        if found.is_none() {
            findings.invalid(&self.at, format!("'{name}' is missing"));
        }
        found
    }

    /// The entries in order: each key as a cursor (whose place is the key's), and its value.
    pub fn entries(&self) -> impl Iterator<Item = (&'n str, Cursor<'n>, Cursor<'n>)> {
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
    pub fn refuse_unknown(&self, known: &[&str], findings: &mut Findings) {
        for (name, key, _) in self.entries() {
            if known.contains(&name) {
                continue;
            }
            let place = findings.place(&key);
            let message = format!("unknown key '{}'", text::shorten(name, QUOTED_MAX));
            let help = match closest(name, known) {
                Some(close) => format!("Did you mean '{close}'?"),
                None => format!("Known keys: {}.", known.join(", ")),
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
