//! What a case expects.

use regex::Regex;
use serde_json::Value;
use toolhost_contract::ToolStatus;

/// What a case expects. Whatever is absent is not checked.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// The status. Default: `error` if an error is expected, else `ok`.
    pub status: Option<ToolStatus>,
    /// The whole output.
    pub output: Option<Value>,
    /// A part of the output: some members of an object, some items of a list in this order.
    pub output_contains: Option<Value>,
    /// Values within the output, by JSON pointer.
    pub output_at: Vec<(String, Value)>,
    /// Regular expressions for texts within the output, by JSON pointer; `""` is the whole output.
    pub output_matches: Vec<(String, Regex)>,
    /// The error.
    pub error: Option<ErrorIs>,
    /// What the workdir holds afterwards.
    pub files: Vec<(String, FileIs)>,
    /// Lines that the tool logs or prints.
    pub log: Vec<LogIs>,
    /// Ceilings of the usage, by its keys.
    pub usage: Vec<(String, u64)>,
    /// All denials, each once and in any order.
    pub denials: Option<Vec<String>>,
}

impl Expect {
    /// The expected status.
    pub fn status(&self) -> ToolStatus {
        let implied = match self.error {
            Some(_) => ToolStatus::Error,
            None => ToolStatus::Ok,
        };
        self.status.unwrap_or(implied)
    }
}

/// An expected text.
#[derive(Debug, Clone)]
pub enum TextIs {
    /// This text.
    Exactly(String),
    /// A text in which the expression matches.
    Matching(Regex),
}

impl TextIs {
    /// Whether a text is as expected.
    pub fn is_met_by(&self, text: &str) -> bool {
        match self {
            Self::Exactly(expected) => expected == text,
            Self::Matching(regex) => regex.is_match(text),
        }
    }

    /// Describes the expectation on one line.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Exactly(text) => Value::from(text.as_str()).to_string(),
            Self::Matching(regex) => format!("a match of {regex}"),
        }
    }
}

/// An expected error.
#[derive(Debug, Clone, Default)]
pub struct ErrorIs {
    /// Its code.
    pub code: Option<String>,
    /// Its message.
    pub message: Option<TextIs>,
    /// Its suggestion.
    pub suggestion: Option<TextIs>,
    /// Whether it is written as a code, `error: CODE`, and not as a mapping.
    pub is_code_alone: bool,
}

impl ErrorIs {
    /// Whether a regular expression is part of it.
    pub(crate) fn has_expression(&self) -> bool {
        let mut texts = self.message.iter().chain(&self.suggestion);
        texts.any(|text| matches!(text, TextIs::Matching(_)))
    }
}

/// An expected file.
#[derive(Debug, Clone)]
pub enum FileIs {
    /// Nothing has the name.
    Absent,
    /// A directory.
    Directory,
    /// A file with this text.
    Text(TextIs),
    /// A file with these bytes.
    Bytes(Vec<u8>),
}

/// An expected line of the log.
#[derive(Debug, Clone)]
pub struct LogIs {
    /// Its level: `trace`, `debug`, `info`, `warn` or `error`. Default: any.
    pub level: Option<String>,
    /// Its text.
    pub text: TextIs,
}
