//! Reads the values of a YAML document, and collects all findings.
//!
//! A function that finds an error records it and returns `None`, so that its callers continue.

use std::borrow::Cow;
use std::fmt::Display;

use toolhost_contract::{ToolErrorCode, text};

use crate::diagnostic::{Diagnostic, DiagnosticList, Place};
use crate::yaml::{self, Key, Mark, Node, Value, YamlSource};
use toolhost_contract::suggest::did_you_mean;
use toolhost_contract::text::{QUOTED_MAX, short};
use toolhost_schema::PatternBudget;

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
        self.add(error.with_help_if(help));
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

    /// Reads a mapping with the keys that `read` asks for. Each other key is an error, so `read` asks for all of
    /// them before it returns.
    pub fn mapping<T>(
        &self,
        findings: &mut Findings,
        read: impl FnOnce(&mut Fields<'n, '_>) -> Option<T>,
    ) -> Option<T> {
        let Value::Map(entries) = &self.node.value else {
            return self.expected("a mapping", findings);
        };
        let mut fields = Fields {
            entries,
            at: self.clone(),
            keys: Vec::new(),
            allows_others: false,
            findings,
        };
        let value = read(&mut fields);
        fields.refuse_others();
        value
    }

    /// Reads a mapping with any keys: the names in order, each with a cursor at the key, and the value.
    pub fn entries(
        &self,
        findings: &mut Findings,
    ) -> Option<Vec<(&'n str, Cursor<'n>, Cursor<'n>)>> {
        let Value::Map(entries) = &self.node.value else {
            return self.expected("a mapping", findings);
        };
        let entry = |(key, node): &'n (Key, Node)| {
            let value = self.member(&key.name, node);
            let mark = key.mark;
            let at_key = Cursor {
                mark,
                ..value.clone()
            };
            (key.name.as_str(), at_key, value)
        };
        Some(entries.iter().map(entry).collect())
    }

    fn member(&self, name: &str, node: &'n Node) -> Self {
        let path = match self.path.as_str() {
            "" => short(name),
            above => format!("{above}.{}", short(name)),
        };
        Self::new(node, path)
    }

    /// Reads a list.
    pub fn items(&self, findings: &mut Findings) -> Option<Vec<Cursor<'n>>> {
        if let Value::List(items) = &self.node.value {
            let item = |(at, node)| Cursor::new(node, format!("{}[{at}]", self.path));
            return Some(items.iter().enumerate().map(item).collect());
        }
        self.expected("a list", findings)
    }

    /// Reads a list of at most `most` items.
    pub(crate) fn items_up_to(
        &self,
        most: usize,
        findings: &mut Findings,
    ) -> Option<Vec<Cursor<'n>>> {
        let items = self.items(findings)?;
        if items.len() > most {
            let message = format!("at most {most} are allowed, not {}", items.len());
            return self.refuse(message, findings);
        }
        Some(items)
    }

    /// Reads a string.
    pub fn text(&self, findings: &mut Findings) -> Option<&'n str> {
        if let Value::Text(text) = &self.node.value {
            return Some(text);
        }
        self.expected("a string", findings)
    }

    /// Reads a string.
    pub fn string(&self, findings: &mut Findings) -> Option<String> {
        self.text(findings).map(str::to_owned)
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
        let kind = self.node.value.kind();
        self.refuse(format!("expected {what} but got {kind}"), findings)
    }

    /// Records that the value is invalid.
    pub fn refuse<T>(&self, message: impl Into<String>, findings: &mut Findings) -> Option<T> {
        findings.invalid(self, message);
        None
    }
}

/// A mapping that is being read. It remembers the keys that were asked for.
#[derive(Debug)]
pub struct Fields<'n, 'f> {
    entries: &'n [(Key, Node)],
    keys: Vec<Cow<'static, str>>,
    allows_others: bool,
    /// The mapping itself.
    pub at: Cursor<'n>,
    /// The findings about the file.
    pub findings: &'f mut Findings,
}

impl<'n> Fields<'n, '_> {
    /// Returns the value of a key; `None` if the key is missing.
    pub fn get(&mut self, key: impl Into<Cow<'static, str>>) -> Option<Cursor<'n>> {
        let key = key.into();
        let mut entries = self.entries.iter();
        let entry = entries.find(|(entry, _)| entry.name == key);
        self.keys.push(key);
        let (key, node) = entry?;
        Some(self.at.member(&key.name, node))
    }

    /// Reads the value of a key; `None` if the key is missing or its value is invalid.
    pub fn read<T>(
        &mut self,
        key: impl Into<Cow<'static, str>>,
        read: impl FnOnce(&Cursor<'n>, &mut Findings) -> Option<T>,
    ) -> Option<T> {
        let at = self.get(key)?;
        read(&at, self.findings)
    }

    /// Reads the value of a key: `Some(None)` if the key is missing, `None` if its value is invalid.
    pub(crate) fn optional<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Cursor<'n>, &mut Findings) -> Option<T>,
    ) -> Option<Option<T>> {
        match self.get(key) {
            Some(at) => read(&at, self.findings).map(Some),
            None => Some(None),
        }
    }

    /// Reads the value of a key, or returns the default; `None` if the value is invalid.
    pub(crate) fn or_default<T: Default>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Cursor<'n>, &mut Findings) -> Option<T>,
    ) -> Option<T> {
        self.optional(key, read).map(Option::unwrap_or_default)
    }

    /// Reads the value of a key; `None` if the key is missing, which is recorded, or its value is invalid.
    pub fn required<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Cursor<'n>, &mut Findings) -> Option<T>,
    ) -> Option<T> {
        let Some(at) = self.get(key) else {
            return self.refuse(format!("'{key}' is missing"));
        };
        read(&at, self.findings)
    }

    /// Returns the only key of these that is present, with its value, or records that there is none or several.
    pub fn one_of(
        &mut self,
        keys: &[&'static str],
        message: &str,
    ) -> Option<(&'static str, Cursor<'n>)> {
        let present = keys.iter().map(|key| Some((*key, self.get(*key)?)));
        let present: Vec<_> = present.collect();
        let mut present = present.into_iter().flatten();
        match (present.next(), present.next()) {
            (Some(only), None) => Some(only),
            _ => self.refuse(message),
        }
    }

    /// Records that the mapping is invalid.
    pub fn refuse<T>(&mut self, message: impl Into<String>) -> Option<T> {
        self.at.refuse(message, self.findings)
    }

    /// Allows keys that are read elsewhere.
    pub(crate) fn allow_others(&mut self) {
        self.allows_others = true;
    }

    /// Records an error for each key that was not asked for, with the most similar one of those that were.
    fn refuse_others(&mut self) {
        let names: Vec<&str> = self.keys.iter().map(|key| &**key).collect();
        for (key, node) in self.entries {
            let name = key.name.as_str();
            if self.allows_others || names.contains(&name) {
                continue;
            }
            let mut at_key = self.at.member(name, node);
            at_key.mark = key.mark;
            let message = format!("unknown key '{}'", short(name));
            let place = self.findings.place(&at_key);
            let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
            let help = did_you_mean(name, &names);
            let help = help.unwrap_or_else(|| format!("Known keys: {}.", names.join(", ")));
            self.findings.add(error.with_help(help));
        }
    }
}

/// Reads all fields of a struct, and then returns `None` if one of them is `None`. A value may name the fields before
/// it.
macro_rules! all {
    ($($name:ident)::+ { $($field:ident: $value:expr),* $(,)? }) => {{
        $(let $field = $value;)*
        Some($($name)::+ { $($field: $field?),* })
    }};
}
pub(crate) use all;

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T>(
        text: &str,
        read: impl FnOnce(&mut Fields<'_, '_>) -> Option<T>,
    ) -> (Option<T>, Vec<String>) {
        let mut findings = Findings::new(&YamlSource::new("a.yaml", text));
        let Ok(Some(node)) = findings.only_document(1000, "one document", None) else {
            panic!("{text}");
        };
        let value = Cursor::new(&node, "a").mapping(&mut findings, read);
        let lines = findings.into_list().into_iter();
        let lines = lines.map(|it| format!("{it} ({})", it.help));
        (value, lines.collect())
    }

    #[test]
    fn a_key_that_nobody_asked_for_is_an_error_also_if_others_are_invalid() {
        let number = |fields: &mut Fields<'_, '_>| {
            let name = fields.required("name", Cursor::string);
            let size = fields.or_default("size", Cursor::boolean);
            Some((name?, size?))
        };
        let (value, lines) = read("{name: x}", number);
        assert_eq!((value, lines.len()), (Some(("x".to_owned(), false)), 0));
        let (value, lines) = read("{nam: x, other: 1, size: 2}", number);
        assert_eq!(value, None);
        let code = "error[E_CONFIG_SCHEMA_INVALID]";
        assert_eq!(
            lines
                .iter()
                .map(|line| line.split(" (").next().unwrap_or_default())
                .collect::<Vec<_>>(),
            [
                format!("a.yaml:1:1: {code} a: 'name' is missing"),
                format!("a.yaml:1:2: {code} a.nam: unknown key 'nam'"),
                format!("a.yaml:1:10: {code} a.other: unknown key 'other'"),
                format!("a.yaml:1:26: {code} a.size: expected true or false but got an integer"),
            ]
        );
        assert!(lines[1].ends_with("(Did you mean 'name'?)"), "{lines:?}");
        assert!(lines[2].ends_with("(Known keys: name, size.)"), "{lines:?}");
    }
}
