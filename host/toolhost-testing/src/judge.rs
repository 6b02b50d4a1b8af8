//! Compares the outcome of a call with the expectations of its case.

mod values;

use std::collections::BTreeSet;

use serde_json::{Value, json};
use toolhost_contract::{ToolResult, text};

use crate::case::{ErrorIs, Expect, FileIs, LogIs, TextIs};
use crate::mismatch::{Mismatch, SHOWN_MAX, equal};
use crate::work_tree::{FileState, WorkTree};
use values::{NOTHING, judge_part};

/// Most log lines listed if a line is missing.
const LINES_SHOWN: usize = 20;

/// A line that a tool logged or printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// The level: `trace`, `debug`, `info`, `warn` or `error`.
    pub level: String,
    /// The context that the tool gives; `stdout` or `stderr` for printed lines.
    pub context: String,
    /// The text.
    pub text: String,
}

/// The outcome of a call.
#[derive(Debug)]
pub(crate) struct FinishedCall<'a> {
    pub(crate) result: &'a ToolResult,
    /// The workdir after the call.
    pub(crate) tree: &'a WorkTree,
    /// What the tool logged and printed.
    pub(crate) log: &'a [LogLine],
}

impl Expect {
    /// Returns all differences from the expectations.
    pub(crate) fn judge(&self, outcome: &FinishedCall<'_>) -> Vec<Mismatch> {
        let mut mismatches = Vec::new();
        let result = outcome.result;
        if result.status() == self.status() {
            if let Some(output) = result.output() {
                self.judge_output(output, &mut mismatches);
            }
            if let Some(expected) = &self.error {
                judge_error(expected, result, &mut mismatches);
            }
        } else {
            mismatches.push(self.status_mismatch(result));
        }
        for (path, expected) in &self.files {
            judge_file(path, expected, &outcome.tree.state(path), &mut mismatches);
        }
        for expected in &self.log {
            judge_log(expected, outcome.log, &mut mismatches);
        }
        self.judge_usage(result, &mut mismatches);
        mismatches
    }

    fn status_mismatch(&self, result: &ToolResult) -> Mismatch {
        let (expected, status) = (self.status().as_str(), result.status().as_str());
        let (got, value) = match (result.tool_error(), result.output()) {
            (Some(error), _) => (
                format!("error {error}"),
                json!({"error": {"code": error.code, "message": error.message}}),
            ),
            (None, Some(output)) => (format!("ok {output}"), json!({"output": output})),
            (None, None) => (status.to_owned(), json!({"status": status})),
        };
        let mismatch = Mismatch::new("status", expected, &got);
        // Keeps expectations that the author wrote as a part or an expression.
        let error = self.error.as_ref().is_some_and(ErrorIs::has_expression);
        if !error && self.output_contains.is_none() && self.output_matches.is_empty() {
            mismatch.accepting(&["expect"], value)
        } else {
            mismatch
        }
    }

    fn judge_output(&self, output: &Value, mismatches: &mut Vec<Mismatch>) {
        if let Some(expected) = self.output.as_ref().filter(|e| !equal(e, output)) {
            let mismatch = Mismatch::of_values("output".to_owned(), expected, output);
            mismatches.push(mismatch.accepting(&["expect", "output"], output.clone()));
        }
        if let Some(expected) = &self.output_contains {
            judge_part("output", expected, output, mismatches);
        }
        for (pointer, expected) in &self.output_at {
            let what = format!("output{pointer}");
            match output.pointer(pointer) {
                None => mismatches.push(Mismatch::new(what, &expected.to_string(), NOTHING)),
                Some(value) if !equal(expected, value) => {
                    let mismatch = Mismatch::of_values(what, expected, value);
                    let path = ["expect", "outputAt", pointer];
                    mismatches.push(mismatch.accepting(&path, value.clone()));
                }
                Some(_) => (),
            }
        }
        for (pointer, regex) in &self.output_matches {
            let value = output.pointer(pointer);
            let is_met = value.is_some_and(|value| match value.as_str() {
                Some(text) => regex.is_match(text),
                None => regex.is_match(&value.to_string()),
            });
            if !is_met {
                let expected = format!("a match of {regex}");
                let got = value.map_or_else(|| NOTHING.to_owned(), Value::to_string);
                mismatches.push(Mismatch::new(format!("output{pointer}"), &expected, &got));
            }
        }
    }

    fn judge_usage(&self, result: &ToolResult, mismatches: &mut Vec<Mismatch>) {
        let receipt = serde_json::to_value(result.usage()).unwrap_or_default();
        for (key, most) in &self.usage {
            let used = receipt.get(key).and_then(Value::as_f64).unwrap_or_default();
            #[expect(
                clippy::cast_precision_loss,
                reason = "ceilings of petabytes may be off by a byte"
            )]
            let exceeded = used > *most as f64;
            if exceeded {
                let (what, expected) = (format!("usage.{key}"), format!("at most {most}"));
                mismatches.push(Mismatch::new(what, &expected, &used.to_string()));
            }
        }
        if let Some(expected) = &self.denials {
            let denied = result.usage().denials.iter().map(ToString::to_string);
            let denied: BTreeSet<String> = denied.collect();
            let expected: BTreeSet<String> = expected.iter().cloned().collect();
            if expected != denied {
                let words = |names: &BTreeSet<String>| {
                    if names.is_empty() {
                        "none".to_owned()
                    } else {
                        Vec::from_iter(names.iter().cloned()).join(", ")
                    }
                };
                let mismatch = Mismatch::new("denials", &words(&expected), &words(&denied));
                let value = denied.into_iter().map(Value::from).collect();
                mismatches.push(mismatch.accepting(&["expect", "denials"], value));
            }
        }
    }
}

fn judge_error(expected: &ErrorIs, result: &ToolResult, mismatches: &mut Vec<Mismatch>) {
    let Some(error) = result.tool_error() else {
        return;
    };
    let code = expected.code.as_ref();
    if let Some(code) = code.filter(|code| error.code.as_str() != *code) {
        let got = format!("{} ({})", error.code, error.message);
        let mismatch = Mismatch::new("error.code", code, &got);
        // `error: CODE` stays as short as the author wrote it.
        let path: &[&str] = if expected.is_code_alone {
            &["expect", "error"]
        } else {
            &["expect", "error", "code"]
        };
        mismatches.push(mismatch.accepting(path, error.code.as_str().into()));
    }
    let suggestion = error.suggestion.as_deref().unwrap_or_default();
    for (key, expected, actual) in [
        ("message", &expected.message, error.message.as_str()),
        ("suggestion", &expected.suggestion, suggestion),
    ] {
        if let Some(expected) = expected.as_ref().filter(|it| !it.is_met_by(actual)) {
            let path = ["expect", "error", key];
            mismatches.push(text_mismatch(
                format!("error.{key}"),
                expected,
                actual,
                &path,
            ));
        }
    }
}

/// Describes a text that differs. No text can be accepted in place of a regular expression.
fn text_mismatch(what: String, expected: &TextIs, actual: &str, path: &[&str]) -> Mismatch {
    let mismatch = Mismatch::new(what, &expected.describe(), &Value::from(actual).to_string());
    match expected {
        TextIs::Exactly(text) => mismatch
            .comparing(text.clone(), actual.to_owned())
            .accepting(path, actual.into()),
        TextIs::Matching(_) => mismatch,
    }
}

fn judge_file(path: &str, expected: &FileIs, state: &FileState, mismatches: &mut Vec<Mismatch>) {
    let what = format!("files {}", text::shorten(path, SHOWN_MAX));
    let keys = ["expect", "files", path];
    let text = match state {
        FileState::File(bytes) => std::str::from_utf8(bytes).ok(),
        FileState::Absent | FileState::Directory | FileState::Unreadable(_) => None,
    };
    match (expected, state) {
        (FileIs::Absent, FileState::Absent) | (FileIs::Directory, FileState::Directory) => return,
        (FileIs::Bytes(expected), FileState::File(bytes)) if expected == bytes => return,
        (FileIs::Text(expected), _) if text.is_some_and(|text| expected.is_met_by(text)) => return,
        _ => (),
    }
    if let (FileIs::Text(expected), Some(text)) = (expected, text) {
        mismatches.push(text_mismatch(what, expected, text, &keys));
        return;
    }
    let expectation = match (expected, state) {
        (FileIs::Absent, _) => "nothing of that name".to_owned(),
        (FileIs::Directory, _) => "a directory".to_owned(),
        (FileIs::Bytes(bytes), _) => format!("a file of {} given bytes", bytes.len()),
        (FileIs::Text(_), FileState::File(_)) => "text".to_owned(),
        (FileIs::Text(text), _) => text.describe(),
    };
    let (got, value) = match (state, text) {
        (FileState::Absent, _) => ("nothing of that name".to_owned(), Some(Value::Null)),
        (FileState::Directory, _) => ("a directory".to_owned(), Some(json!({"dir": true}))),
        (FileState::File(_), Some(text)) => (Value::from(text).to_string(), Some(text.into())),
        (FileState::File(bytes), None) => (
            format!("{} bytes that are not UTF-8", bytes.len()),
            Some(json!({"base64": data_encoding::BASE64.encode(bytes)})),
        ),
        (FileState::Unreadable(reason), _) => {
            (format!("a file that cannot be read: {reason}"), None)
        }
    };
    let mismatch = Mismatch::new(what, &expectation, &got);
    let is_expression = matches!(expected, FileIs::Text(TextIs::Matching(_)));
    mismatches.push(match value.filter(|_| !is_expression) {
        Some(value) => mismatch.accepting(&keys, value),
        None => mismatch,
    });
}

fn judge_log(expected: &LogIs, log: &[LogLine], mismatches: &mut Vec<Mismatch>) {
    let level = expected.level.as_deref();
    let meets = |line: &LogLine| {
        level.is_none_or(|level| level == line.level) && expected.text.is_met_by(&line.text)
    };
    if log.iter().any(meets) {
        return;
    }
    let level = level.map_or_else(String::new, |level| format!("{level}: "));
    let expectation = format!("{level}{}", expected.text.describe());
    let line = |line: &LogLine| format!("{}: {}", line.level, Value::from(line.text.as_str()));
    let lines: Vec<String> = log.iter().take(LINES_SHOWN).map(line).collect();
    let actual = if lines.is_empty() {
        "no line".to_owned()
    } else {
        lines.join(", ")
    };
    mismatches.push(Mismatch::new("log", &expectation, &actual));
}
