//! What differs from the expectations of a case, and the change with which the case would pass.

mod differences;

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use toolhost_contract::text;

pub use differences::ValueDifference;
pub(crate) use differences::{SHOWN_MAX, equal};

/// Longest text compared line by line, in bytes.
const DIFF_MAX: usize = 64 << 10;

/// A difference from the expectations.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mismatch {
    /// What differs: `status`, `output/lines`, `files a.txt`.
    pub what: String,
    /// What was expected, on one line.
    pub expected: String,
    /// The actual value, on one line.
    pub got: String,
    /// Both as texts, if they are worth comparing line by line.
    #[serde(skip)]
    pub texts: Option<(String, String)>,
    /// Where two mappings or lists differ. Empty for other values.
    #[serde(skip)]
    pub differences: Vec<ValueDifference>,
    /// What to write into the case so that it passes.
    #[serde(skip)]
    pub change: Option<Change>,
}

/// Most differences within a value that [`Mismatch::lines`] lists.
const LISTED_MAX: usize = 20;

/// A value to be written into a case.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Index of the case in its file. Judging a result leaves it at 0.
    pub case: usize,
    /// The keys of the value: `["expect", "output"]`.
    pub path: Vec<String>,
    /// The value.
    pub value: Value,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, got, .. } = self;
        let line = format!("{what}: expected {} but got {got}", self.expected);
        f.write_str(&text::shorten(&line, usize::MAX))
    }
}

impl Mismatch {
    /// Makes a mismatch of two descriptions.
    pub fn new(what: impl Into<String>, expected: &str, got: &str) -> Self {
        Self {
            what: what.into(),
            expected: text::shorten(expected, SHOWN_MAX),
            got: text::shorten(got, SHOWN_MAX),
            texts: None,
            differences: Vec::new(),
            change: None,
        }
    }

    /// Returns the line of [`Display`](fmt::Display), and a line with the JSON pointer of each difference within
    /// the value: at most 20.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.to_string()];
        let differences = self.differences.iter().take(LISTED_MAX);
        lines.extend(differences.map(|difference| format!("at {difference}")));
        if self.differences.len() > LISTED_MAX {
            let more = self.differences.len() - LISTED_MAX;
            lines.push(format!("and {more} more differences"));
        }
        lines
    }

    pub(crate) fn comparing(mut self, expected: String, got: String) -> Self {
        let is_long = |text: &str| text.contains('\n') || text.chars().nth(SHOWN_MAX).is_some();
        if (is_long(&expected) || is_long(&got)) && expected.len().max(got.len()) <= DIFF_MAX {
            self.texts = Some((expected, got));
        }
        self
    }

    pub(crate) fn of_values(what: String, expected: &Value, got: &Value) -> Self {
        let mismatch = Self::new(what, &expected.to_string(), &got.to_string());
        if let (Some(expected), Some(got)) = (expected.as_str(), got.as_str()) {
            return mismatch.comparing(expected.to_owned(), got.to_owned());
        }
        Self {
            differences: differences::within(expected, got),
            ..mismatch
        }
    }

    pub(crate) fn accepting(mut self, path: &[&str], value: Value) -> Self {
        self.change = Some(Change {
            case: 0,
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            value,
        });
        self
    }
}
