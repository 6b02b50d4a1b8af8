//! A finding in a file, and where it stands.

mod list;

use std::fmt;

use serde::{Serialize, Serializer};
use toolhost_contract::{Locale, ToolErrorCode};

use toolhost_contract::text;

pub use list::DiagnosticList;

/// Longest message and longest next move, in characters: what they quote of a component has no end
/// of its own.
const TEXT_MAX: usize = 2_000;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing loads while it is there.
    Error,
    /// It loads, and is probably not what was meant.
    Warning,
    /// Worth knowing.
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
    /// Where it begins.
    pub offset: usize,
    /// How long it is; may be 0.
    pub length: usize,
}

/// A position in a file's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
    /// The text it is about.
    pub span: Span,
}

/// Where something stands: a file, and what is known of the place within it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Name of the file.
    pub file: String,
    /// Line, column and span; none where the whole file is meant.
    #[serde(flatten)]
    pub position: Option<Position>,
    /// Path in the file, such as `documents[1].spec.exports[0].name`; documents count from 0 and
    /// empty ones do not count. Empty where the whole file is meant.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub document_path: String,
}

impl Place {
    /// The file as a whole.
    #[must_use]
    pub fn file(name: impl Into<String>) -> Self {
        Self {
            file: name.into(),
            position: None,
            document_path: String::new(),
        }
    }
}

/// Another place a finding is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Related {
    /// What is there, such as `declared here first`.
    pub message: String,
    /// The place.
    #[serde(flatten)]
    pub place: Place,
}

/// One finding in a bundle, a policy or a component they name.
///
/// Each of its texts is on one line, and cut to 2,000 characters.
///
/// As text: `goondan.yaml:7:11: error[E_CONFIG_INVALID_NAME] documents[0].metadata.name: …`. As
/// JSON: `{severity, code, message, file, line?, column?, span?, documentPath?, related?, help}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// How much it matters.
    pub severity: Severity,
    /// Code to branch on.
    #[serde(serialize_with = "as_text")]
    pub code: ToolErrorCode,
    /// What is wrong.
    pub message: String,
    /// Where.
    #[serde(flatten)]
    pub place: Place,
    /// Other places it is about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub related: Vec<Related>,
    /// The next move.
    pub help: String,
}

impl Diagnostic {
    /// Makes an error; its next move is the table's.
    pub fn error(code: ToolErrorCode, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, place, &message.into())
    }

    /// Makes a warning; its next move is the table's.
    pub fn warning(code: ToolErrorCode, place: Place, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, place, &message.into())
    }

    /// Makes a note; its next move is the table's.
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

    /// Replaces the next move by a better one.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = line(&help.into());
        self
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

    /// Whether nothing loads while it is there.
    #[must_use]
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
    fn a_finding_reads_as_one_line_that_editors_understand() {
        let placed = Diagnostic::error(
            ToolErrorCode::ConfigName,
            at(7, 11, "documents[0].metadata.name"),
            "'A' is no name",
        );
        assert_eq!(
            placed.to_string(),
            "goondan.yaml:7:11: error[E_CONFIG_INVALID_NAME] documents[0].metadata.name: 'A' is no name"
        );
        let whole = Diagnostic::note(ToolErrorCode::ConfigSchema, Place::file("x.yaml"), "odd");
        assert_eq!(
            whole.to_string(),
            "x.yaml: note[E_CONFIG_SCHEMA_INVALID] odd"
        );
    }

    #[test]
    fn whatever_a_finding_quotes_it_is_one_line_and_short() {
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
    fn the_list_is_bounded_and_remarks_crowd_out_no_error() {
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
    fn a_finding_is_json_for_programs() {
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
