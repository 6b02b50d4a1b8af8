//! Reads the values of a YAML document, and collects all findings.
//!
//! A function that finds an error records it and returns `None`, so that its callers continue.

use std::fmt::Display;

use toolhost_contract::{ToolErrorCode, text};

use crate::diagnostic::{Diagnostic, DiagnosticList, Place};
use crate::quote::{QUOTED_MAX, short};
use crate::schema::PatternBudget;
use crate::suggest::did_you_mean;
use crate::yaml::{self, Key, Mark, Node, Value, YamlSource};

/// The findings about a file, or about several that are read as one.
#[derive(Debug)]
pub struct Findings {
    /// The file that is being read.
    source: YamlSource,
    /// The names of the files before it.
    earlier: Vec<String>,
    list: DiagnosticList,
    /// The remaining budget for the patterns of all schemas in the file.
    pub patterns: PatternBudget,
}

/// A value could not be read. The reason is recorded.
#[derive(Debug)]
pub struct Unread;

impl Findings {
    /// Creates an empty list of findings about a file.
    #[must_use]
    pub fn new(source: &YamlSource) -> Self {
        Self {
            source: source.clone(),
            earlier: Vec::new(),
            list: DiagnosticList::default(),
            patterns: PatternBudget::default(),
        }
    }

    /// Continues with the next file. The limits apply to all files together.
    pub(crate) fn next_file(&mut self, source: &YamlSource) {
        let before = std::mem::replace(&mut self.source, source.clone());
        self.earlier.push(before.name().to_owned());
    }

    /// Reads the documents of the file, at most `max`, without empty ones. `None` is a document that is
    /// not YAML, which is recorded. If there are more, `too_many` is recorded.
    ///
    /// # Errors
    /// [`Unread`] if the file is larger than `max_bytes`, which is recorded.
    pub(crate) fn documents(
        &mut self,
        max_bytes: usize,
        max: usize,
        too_many: &str,
        help: Option<&str>,
    ) -> Result<Vec<Option<Node>>, Unread> {
        if self.source.text().len() > max_bytes {
            let message = format!("the file is larger than {max_bytes} bytes");
            self.error_of_file(ToolErrorCode::ConfigTooLarge, &message, None);
            return Err(Unread);
        }
        let mut documents = yaml::documents(&self.source, max + 1);
        if documents.len() > max {
            self.error_of_file(ToolErrorCode::ConfigTooMany, too_many, help);
            documents.truncate(max);
        }
        let mut read = Vec::new();
        for (index, document) in documents.into_iter().enumerate() {
            let node = document.map_err(|error| {
                let path = match max {
                    1 => String::new(),
                    _ => format!("documents[{index}]"),
                };
                let place = match error.at {
                    Some(mark) => self.source.place(mark, &path),
                    None => Place::file(self.source.name()),
                };
                self.add(Diagnostic::error(
                    ToolErrorCode::ConfigParse,
                    place,
                    error.message,
                ));
            });
            read.push(node.ok());
        }
        Ok(read)
    }

    /// Reads the only document of the file; `None` if it is empty. If there are more, the first is read,
    /// and `too_many` is recorded.
    ///
    /// # Errors
    /// [`Unread`] if the file is larger than `max_bytes` or is not YAML, which is recorded.
    pub fn only_document(
        &mut self,
        max_bytes: usize,
        too_many: &str,
        help: Option<&str>,
    ) -> Result<Option<Node>, Unread> {
        let first = self.documents(max_bytes, 1, too_many, help)?.pop();
        first.map(|document| document.ok_or(Unread)).transpose()
    }

    /// Records a finding.
    pub fn add(&mut self, finding: Diagnostic) {
        self.list.add(finding);
    }

    /// Returns whether another error would be left out.
    pub fn is_full(&self) -> bool {
        self.list.is_full()
    }

    /// Records an error about the whole file.
    pub(crate) fn error_of_file(&mut self, code: ToolErrorCode, message: &str, help: Option<&str>) {
        let error = Diagnostic::error(code, Place::file(self.source.name()), message);
        self.add(match help {
            Some(help) => error.with_help(help),
            None => error,
        });
    }

    /// Records an error about a value.
    pub fn error(&mut self, code: ToolErrorCode, at: &Cursor<'_>, message: impl Into<String>) {
        let place = self.place(at);
        self.add(Diagnostic::error(code, place, message));
    }

    /// Records that a value is invalid.
    pub fn invalid(&mut self, at: &Cursor<'_>, message: impl Into<String>) {
        self.error(ToolErrorCode::ConfigSchema, at, message);
    }

    /// Returns the value that a parser returned, or records its error.
    pub(crate) fn parsed<T, E: Display>(
        &mut self,
        code: ToolErrorCode,
        at: &Cursor<'_>,
        parsed: Result<T, E>,
    ) -> Option<T> {
        let recorded = parsed.map_err(|error| {
            let message = text::shorten(&error.to_string(), 2 * QUOTED_MAX);
            self.error(code, at, message);
        });
        recorded.ok()
    }

    /// Returns the place of a value.
    pub fn place(&self, at: &Cursor<'_>) -> Place {
        self.source.place(at.mark, &at.path)
    }

    /// Returns the findings in the order of the files, and of their places in them. Those about a whole
    /// file come first.
    pub fn into_list(self) -> Vec<Diagnostic> {
        let Self { earlier, list, .. } = self;
        let first = earlier.first().map_or(self.source.name(), String::as_str);
        let mut list = list.into_vec(first);
        list.sort_by_key(|finding| {
            let mut files = earlier.iter();
            let file = files.position(|name| *name == finding.place.file);
            let offset = finding.place.position.map(|at| at.span.offset);
            (file.unwrap_or(earlier.len()), offset, !finding.is_error())
        });
        list
    }
}

/// A value with its path.
#[derive(Debug, Clone)]
pub struct Cursor<'n> {
    /// The value.
    pub node: &'n Node,
    /// The position of findings about it.
    pub mark: Mark,
    /// The path from the document, such as `spec.exports[0].name`.
    pub path: String,
}

impl<'n> Cursor<'n> {
    /// Creates a cursor at a value with this path.
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

    /// Reads a mapping, and records an error for each key that is not one of these.
    pub fn known_fields(&self, known: &[&str], findings: &mut Findings) -> Option<Fields<'n>> {
        let fields = self.fields(findings)?;
        fields.refuse_unknown(known, findings);
        Some(fields)
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

    /// Reads a name with a parser of the contract.
    pub fn name<T, E: Display>(
        &self,
        parse: fn(&str) -> Result<T, E>,
        findings: &mut Findings,
    ) -> Option<T> {
        let name = self.text(findings)?;
        findings.parsed(ToolErrorCode::ConfigName, self, parse(name))
    }

    /// Records that the value has the wrong type.
    pub fn expected<T>(&self, what: &str, findings: &mut Findings) -> Option<T> {
        let found = self.node.value.kind();
        self.refused(format!("expected {what} but got {found}"), findings)
    }

    /// Records that the value is invalid.
    pub(crate) fn refused<T>(
        &self,
        message: impl Into<String>,
        findings: &mut Findings,
    ) -> Option<T> {
        findings.invalid(self, message);
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
    /// Returns the value of a key; `None` if the key is missing.
    pub fn get(&self, name: &str) -> Option<Cursor<'n>> {
        let (_, node) = self.entries.iter().find(|(key, _)| key.name == name)?;
        Some(Cursor::new(node, self.path_of(name)))
    }

    /// Returns the value of a key, or records that the key is missing.
    pub fn required(&self, name: &str, findings: &mut Findings) -> Option<Cursor<'n>> {
        let found = self.get(name);
        if found.is_none() {
            findings.invalid(&self.at, format!("'{name}' is missing"));
        }
        found
    }

    /// Reads the value of a key: `Some(None)` if the key is missing, `None` if its value is invalid.
    pub(crate) fn optional<T>(
        &self,
        name: &str,
        findings: &mut Findings,
        read: impl FnOnce(&Cursor<'n>, &mut Findings) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.get(name) {
            Some(at) => read(&at, findings).map(Some),
            None => Some(None),
        }
    }

    /// Returns the entries in order: the name, a cursor with the place of the key, and the value.
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

    /// Records an error for each key that is not one of these, with the most similar known key.
    pub fn refuse_unknown(&self, known: &[&str], findings: &mut Findings) {
        for (name, key, _) in self.entries() {
            if known.contains(&name) {
                continue;
            }
            let place = findings.place(&key);
            let message = format!("unknown key '{}'", short(name));
            let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
            let help = did_you_mean(name, known);
            let help = help.unwrap_or_else(|| format!("Known keys: {}.", known.join(", ")));
            findings.add(error.with_help(help));
        }
    }

    fn path_of(&self, name: &str) -> String {
        match self.at.path.as_str() {
            "" => short(name),
            above => format!("{above}.{}", short(name)),
        }
    }
}
