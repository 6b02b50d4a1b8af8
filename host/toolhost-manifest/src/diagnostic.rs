//! Findings in files, with their positions.

use std::fmt;

use serde::{Serialize, Serializer};
use toolhost_contract::{Locale, ToolErrorCode, text};

/// Maximum length of a message and of a help text, in characters. They may quote a component at any
/// length.
const TEXT_MAX: usize = 2_000;

/// Maximum number of errors in a list, and of warnings and notes together.
const FINDINGS_MAX: usize = 1_000;

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing is loaded.
    Error,
    /// The file is loaded, but is probably a mistake.
    Warning,
    /// Information only.
    Note,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        })
    }
}

/// A range of a file's text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Span {
    /// Its beginning.
    pub offset: usize,
    /// Its length; may be 0.
    pub length: usize,
}

/// A position in a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// The range of the text.
    pub span: Span,
}

/// A place: a file, and the position in it, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Name of the file.
    pub file: String,
    /// Line, column and span. `None` is the whole file.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// Path in the file, such as `documents[1].spec.exports[0].name`. Documents are counted from 0,
    /// without empty ones. Empty for the whole file.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub document_path: String,
}

impl Place {
    /// Returns the place of a whole file.
    pub fn file(name: impl Into<String>) -> Self {
        Self {
            file: name.into(),
            position: None,
            document_path: String::new(),
        }
    }
}

/// Another place that a finding refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Related {
    /// A description of the place, such as `declared here first`.
    pub message: String,
    /// The place.
    #[serde(flatten)]
    pub place: Place,
}

/// A finding in a bundle, a policy, a case file, or a component of a bundle.
///
/// Each of its texts is one line of at most 2,000 characters.
///
/// As text: `goondan.yaml:7:11: error[E_CONFIG_INVALID_NAME] documents[0].metadata.name: …`. As
/// JSON: `{severity, code, message, file, line?, column?, span?, documentPath?, related?, help}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// The severity.
    pub severity: Severity,
    /// The code, for programs.
    #[serde(serialize_with = "as_text")]
    pub code: ToolErrorCode,
    /// The problem.
    pub message: String,
    /// The place of the problem.
    #[serde(flatten)]
    pub place: Place,
    /// Other places that the finding refers to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// The next step for the reader.
    pub help: String,
}

impl Diagnostic {
    /// Creates an error with the help text of its code.
    pub fn error(code: ToolErrorCode, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, place, &message.into())
    }

    /// Creates a warning with the help text of its code.
    pub fn warning(code: ToolErrorCode, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, place, &message.into())
    }

    /// Creates a note with the help text of its code.
    pub fn note(code: ToolErrorCode, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, place, &message.into())
    }

    fn new(severity: Severity, code: ToolErrorCode, place: Place, message: &str) -> Self {
        Self {
            severity,
            code,
            message: line(message),
            place,
            related: Vec::new(),
            help: code.suggestion(Locale::En).to_owned(),
        }
    }

    /// Replaces the help text.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = line(&help.into());
        self
    }

    /// Replaces the help text where there is a better one.
    #[must_use]
    pub fn with_help_if(self, help: Option<impl Into<String>>) -> Self {
        match help {
            Some(help) => self.with_help(help),
            None => self,
        }
    }

    /// Adds another place.
    #[must_use]
    pub fn with_related(mut self, message: impl Into<String>, place: Place) -> Self {
        self.related.push(Related {
            message: line(&message.into()),
            place,
        });
        self
    }

    /// Returns whether the severity is [`Severity::Error`].
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        write!(f, "{}:", place.file)?;
        if let Some(at) = place.position {
            write!(f, "{}:{}:", at.line, at.column)?;
        }
        write!(f, " {}[{}] ", self.severity, self.code.as_str())?;
        if !place.document_path.is_empty() {
            write!(f, "{}: ", place.document_path)?;
        }
        f.write_str(&self.message)
    }
}

/// Findings in the order in which they were added, up to a maximum number.
#[derive(Debug, Default)]
pub struct DiagnosticList {
    list: Vec<Diagnostic>,
    errors: usize,
    left_out: usize,
}

impl DiagnosticList {
    /// Adds a finding. Errors are counted apart: any number of warnings and notes leaves out no error.
    pub fn add(&mut self, finding: Diagnostic) {
        let remarks = self.list.len() - self.errors;
        let count = if finding.is_error() {
            self.errors
        } else {
            remarks
        };
        if count == FINDINGS_MAX {
            self.left_out += 1;
            return;
        }
        self.errors += usize::from(finding.is_error());
        self.list.push(finding);
    }

    /// Returns whether another error would be left out.
    pub fn is_full(&self) -> bool {
        self.errors >= FINDINGS_MAX
    }

    /// Returns whether the list contains errors.
    pub fn holds_errors(&self) -> bool {
        self.errors > 0
    }

    /// Returns the findings, and a note with the number of those that were left out.
    pub fn into_vec(mut self, file: &str) -> Vec<Diagnostic> {
        if self.left_out > 0 {
            let message = format!("{} more findings are left out", self.left_out);
            let code = ToolErrorCode::ConfigSchema;
            self.list
                .push(Diagnostic::note(code, Place::file(file), message));
        }
        self.list
    }
}

impl Extend<Diagnostic> for DiagnosticList {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, findings: T) {
        findings.into_iter().for_each(|finding| self.add(finding));
    }
}

fn line(text: &str) -> String {
    text::shorten(text, TEXT_MAX)
}

fn as_text<S: Serializer>(code: &ToolErrorCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(code.as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(line: u32, column: u32, path: &str) -> Place {
        let span = Span {
            offset: 10,
            length: 3,
        };
        Place {
            file: "goondan.yaml".into(),
            position: Some(Position { line, column, span }),
            document_path: path.into(),
        }
    }

    #[test]
    fn a_finding_is_one_line_in_the_format_that_editors_parse() {
        let placed = Diagnostic::error(
            ToolErrorCode::ConfigName,
            at(7, 11, "documents[0].metadata.name"),
            "invalid name 'A'",
        );
        assert_eq!(
            placed.to_string(),
            "goondan.yaml:7:11: error[E_CONFIG_INVALID_NAME] documents[0].metadata.name: invalid name 'A'"
        );
        let whole = Diagnostic::note(ToolErrorCode::ConfigSchema, Place::file("x.yaml"), "odd");
        assert_eq!(
            whole.to_string(),
            "x.yaml: note[E_CONFIG_SCHEMA_INVALID] odd"
        );
    }

    #[test]
    fn a_finding_with_long_or_control_text_is_one_short_line() {
        let flood = "a\n\u{1b}[2Jx.yaml:1:1: error[E_HOST] forged".repeat(2_000);
        let finding = Diagnostic::error(ToolErrorCode::ComponentImport, at(1, 1, ""), &flood)
            .with_help(&flood)
            .with_related(&flood, at(1, 1, ""));
        for text in [
            finding.to_string(),
            finding.help,
            finding.related[0].message.clone(),
        ] {
            assert!(!text.chars().any(char::is_control), "{text:.200}");
            assert!(text.len() < 8 * TEXT_MAX, "{}", text.len());
        }
    }

    #[test]
    fn the_list_is_bounded_and_remarks_leave_out_no_error() {
        let mut list = DiagnosticList::default();
        let place = || Place::file("x");
        let note = Diagnostic::note(ToolErrorCode::ConfigSchema, place(), "odd");
        list.extend(vec![note; 1_500]);
        assert!(!list.holds_errors());
        let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place(), "bad");
        list.extend(vec![error; 1_500]);
        assert!(list.holds_errors());
        let all = list.into_vec("x");
        assert_eq!(all.len(), 2_001);
        assert_eq!(
            all.iter().filter(|finding| finding.is_error()).count(),
            1_000
        );
        let last = all.last().map(|finding| finding.message.as_str());
        assert_eq!(last, Some("1000 more findings are left out"));
    }

    #[test]
    fn a_finding_is_serialized_as_json() {
        let finding = Diagnostic::warning(ToolErrorCode::ConfigDuplicate, at(2, 3, "d"), "twice")
            .with_related("first here", at(1, 1, ""))
            .with_help("remove one");
        assert_eq!(
            serde_json::to_value(&finding).unwrap(),
            json!({
                "severity": "warning",
                "code": "E_CONFIG_DUPLICATE_NAME",
                "message": "twice",
                "file": "goondan.yaml",
                "line": 2,
                "column": 3,
                "span": {"offset": 10, "length": 3},
                "documentPath": "d",
                "related": [{
                    "message": "first here",
                    "file": "goondan.yaml",
                    "line": 1,
                    "column": 1,
                    "span": {"offset": 10, "length": 3},
                }],
                "help": "remove one",
            })
        );
        let whole = Diagnostic::error(ToolErrorCode::ConfigParse, Place::file("x"), "bad");
        let whole = serde_json::to_value(&whole).unwrap();
        assert_eq!(whole.get("line"), None);
        assert_eq!(whole.get("documentPath"), None);
    }
}
