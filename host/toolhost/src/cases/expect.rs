//! What must come of a case.

use regex::Regex;
use serde_json::Value;
use toolhost_contract::ToolStatus;

/// What must come of a case; what is not said is not looked at.
#[derive(Debug, Clone, Default)]
pub struct Expect {
    /// The status. Not said: `error` where an error is expected, else `ok`.
    pub status: Option<ToolStatus>,
    /// The output, exactly.
    pub output: Option<Value>,
    /// What the output contains: of a mapping these keys, of a list these items in this order.
    pub output_contains: Option<Value>,
    /// Values within the output, by JSON pointer.
    pub output_at: Vec<(String, Value)>,
    /// Regular expressions that texts within the output match, by JSON pointer; `""` is the whole.
    pub output_matches: Vec<(String, Regex)>,
    /// The error.
    pub error: Option<ErrorIs>,
    /// What the workdir holds afterwards.
    pub files: Vec<(String, FileIs)>,
    /// Lines that are logged or printed.
    pub log: Vec<LogIs>,
    /// Ceilings of the receipt, by its keys.
    pub usage: Vec<(String, u64)>,
    /// What is refused for want of a grant, each once; in any order.
    pub denials: Option<Vec<String>>,
}

impl Expect {
    /// The status that is expected.
    #[must_use]
    pub fn status(&self) -> ToolStatus {
        let implied = match self.error {
            Some(_) => ToolStatus::Error,
            None => ToolStatus::Ok,
        };
        self.status.unwrap_or(implied)
    }
}

/// A text: exactly, or by a regular expression.
#[derive(Debug, Clone)]
pub enum TextIs {
    /// This text.
    Exactly(String),
    /// A text in which the expression is found.
    Matching(Regex),
}

impl TextIs {
    /// Whether a text is as expected.
    #[must_use]
    pub fn is_met_by(&self, text: &str) -> bool {
        match self {
            Self::Exactly(expected) => expected == text,
            Self::Matching(regex) => regex.is_match(text),
        }
    }
}

/// The error of a result.
#[derive(Debug, Clone, Default)]
pub struct ErrorIs {
    /// Its code.
    pub code: Option<String>,
    /// Its message.
    pub message: Option<TextIs>,
    /// Its suggestion.
    pub suggestion: Option<TextIs>,
}

impl ErrorIs {
    /// Whether it says more than exact texts.
    pub(super) fn has_expression(&self) -> bool {
        let mut texts = self.message.iter().chain(&self.suggestion);
        texts.any(|text| matches!(text, TextIs::Matching(_)))
    }
}

/// A file after the call.
#[derive(Debug, Clone)]
pub enum FileIs {
    /// There is nothing of the name.
    Absent,
    /// A directory.
    Directory,
    /// A file of this text.
    Text(TextIs),
    /// A file of these bytes.
    Bytes(Vec<u8>),
}

/// A line that is logged or printed.
#[derive(Debug, Clone)]
pub struct LogIs {
    /// Its level: `debug`, `info`, `warn`, `error`; none: any.
    pub level: Option<String>,
    /// Its text.
    pub text: TextIs,
}
