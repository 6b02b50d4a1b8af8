//! Compares the outcome of a call with the expectations of its case.

mod values;

use serde_json::Value;
use toolhost_contract::{ToolResult, text};

use crate::case::{ErrorIs, Expect, FileIs, LogIs, TextIs};
use crate::mismatch::{Mismatch, SHOWN_MAX};
use crate::work_tree::{FileState, WorkTree};
use values::{NOTHING, equal, judge_part};

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
pub(crate) struct Outcome<'a> {
    /// The result.
    pub(crate) result: &'a ToolResult,
    /// The workdir after the call.
    pub(crate) tree: &'a WorkTree,
    /// What the tool logged and printed.
    pub(crate) log: &'a [LogLine],
}

impl Expect {
    /// Returns all differences from the expectations.
    pub(crate) fn judge(&self, outcome: &Outcome<'_>) -> Vec<Mismatch> {
        let mut found = Vec::new();
        let result = outcome.result;
        if result.status() == self.status() {
            if let Some(output) = result.output() {
                self.judge_output(output, &mut found);
            }
            if let Some(expected) = &self.error {
                judge_error(expected, result, &mut found);
            }
        } else {
            found.push(self.status_mismatch(result));
        }
        for (path, expected) in &self.files {
            judge_file(path, expected, &outcome.tree.state(path), &mut found);
        }
        for expected in &self.log {
            judge_log(expected, outcome.log, &mut found);
        }
        self.judge_usage(result, &mut found);
        found
    }

    fn status_mismatch(&self, result: &ToolResult) -> Mismatch {
        let (expected, status) = (self.status().as_str(), result.status().as_str());
        let (got, value) = match (result.tool_error(), result.output()) {
            (Some(error), _) => (
                format!("error {error}"),
                serde_json::json!({"error": {"code": error.code, "message": error.message}}),
            ),
            (None, Some(output)) => (
                format!("ok {output}"),
                serde_json::json!({"output": output}),
            ),
            (None, None) => (status.to_owned(), serde_json::json!({"status": status})),
        };
        let mismatch = Mismatch::new("status", expected, &got);
        // Keeps expectations that the author wrote as a part or an expression.
        let error = self.error.as_ref().is_some_and(ErrorIs::has_expression);
        match !error && self.output_contains.is_none() && self.output_matches.is_empty() {
            true => mismatch.accepting(&["expect"], value),
            false => mismatch,
        }
    }

    fn judge_output(&self, output: &Value, found: &mut Vec<Mismatch>) {
        if let Some(expected) = self.output.as_ref().filter(|e| !equal(e, output)) {
            let mismatch = Mismatch::of_values("output".to_owned(), expected, output);
            found.push(mismatch.accepting(&["expect", "output"], output.clone()));
        }
        if let Some(expected) = &self.output_contains {
            judge_part("output", expected, output, found);
        }
        for (pointer, expected) in &self.output_at {
            let what = format!("output{pointer}");
            match output.pointer(pointer) {
                None => found.push(Mismatch::new(what, &expected.to_string(), NOTHING)),
                Some(value) if !equal(expected, value) => {
                    let mismatch = Mismatch::of_values(what, expected, value);
                    let path = ["expect", "outputAt", pointer];
                    found.push(mismatch.accepting(&path, value.clone()));
                }
                Some(_) => (),
            }
        }
        for (pointer, regex) in &self.output_matches {
            let expected = format!("a match of {regex}");
            let got = match output.pointer(pointer) {
                None => NOTHING.to_owned(),
                Some(Value::String(text)) if regex.is_match(text) => continue,
                Some(Value::String(text)) => Value::from(text.as_str()).to_string(),
                Some(other) if regex.is_match(&other.to_string()) => continue,
                Some(other) => other.to_string(),
            };
            found.push(Mismatch::new(format!("output{pointer}"), &expected, &got));
        }
    }

    fn judge_usage(&self, result: &ToolResult, found: &mut Vec<Mismatch>) {
        let receipt = serde_json::to_value(result.usage()).unwrap_or_default();
        for (key, most) in &self.usage {
            let used = receipt.get(key).and_then(Value::as_f64).unwrap_or_default();
            #[expect(
                clippy::cast_precision_loss,
                reason = "ceilings of petabytes may be off by a byte"
            )]
            let exceeded = used > *most as f64;
            if exceeded {
                let what = format!("usage.{key}");
                found.push(Mismatch::new(
                    what,
                    &format!("at most {most}"),
                    &used.to_string(),
                ));
            }
        }
        if let Some(expected) = &self.denials {
            let mut expected: Vec<&str> = expected.iter().map(String::as_str).collect();
            let denied = result.usage().denials.iter();
            let denied: Vec<String> = denied.map(ToString::to_string).collect();
            let mut denied: Vec<&str> = denied.iter().map(String::as_str).collect();
            expected.sort_unstable();
            expected.dedup();
            denied.sort_unstable();
            if expected != denied {
                let words = |all: &[&str]| match all {
                    [] => "none".to_owned(),
                    all => all.join(", "),
                };
                let value = denied.iter().map(|words| Value::from(*words)).collect();
                let mismatch = Mismatch::new("denials", &words(&expected), &words(&denied));
                found.push(mismatch.accepting(&["expect", "denials"], value));
            }
        }
    }
}

fn judge_error(expected: &ErrorIs, result: &ToolResult, found: &mut Vec<Mismatch>) {
    let Some(error) = result.tool_error() else {
        return;
    };
    if let Some(code) = expected
        .code
        .as_ref()
        .filter(|code| error.code.as_str() != *code)
    {
        let got = format!("{} ({})", error.code, error.message);
        found.push(
            Mismatch::new("error.code", code, &got)
                .accepting(&["expect", "error", "code"], error.code.as_str().into()),
        );
    }
    let suggestion = error.suggestion.as_deref().unwrap_or_default();
    for (key, expected, came) in [
        ("message", &expected.message, error.message.as_str()),
        ("suggestion", &expected.suggestion, suggestion),
    ] {
        let Some(expected) = expected else { continue };
        if !expected.is_met_by(came) {
            let path = ["expect", "error", key];
            found.push(text_mismatch(format!("error.{key}"), expected, came, &path));
        }
    }
}

/// Describes a text that differs. No text can be accepted in place of a regular expression.
fn text_mismatch(what: String, expected: &TextIs, came: &str, path: &[&str]) -> Mismatch {
    let quoted = Value::from(came).to_string();
    match expected {
        TextIs::Exactly(text) => {
            Mismatch::new(what, &Value::from(text.as_str()).to_string(), &quoted)
                .comparing(text.clone(), came.to_owned())
                .accepting(path, came.into())
        }
        TextIs::Matching(regex) => Mismatch::new(what, &format!("a match of {regex}"), &quoted),
    }
}

fn judge_file(path: &str, expected: &FileIs, state: &FileState, found: &mut Vec<Mismatch>) {
    let what = format!("files {}", text::shorten(path, SHOWN_MAX));
    let keys = ["expect", "files", path];
    let came = |state: &FileState| match state {
        FileState::Absent => "nothing of that name".to_owned(),
        FileState::Directory => "a directory".to_owned(),
        FileState::File(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => Value::from(text).to_string(),
            Err(_) => format!("{} bytes that are not UTF-8", bytes.len()),
        },
        FileState::Unreadable(reason) => format!("a file that cannot be read: {reason}"),
    };
    let mismatch = match (expected, state) {
        (FileIs::Absent, FileState::Absent) | (FileIs::Directory, FileState::Directory) => return,
        (FileIs::Bytes(expected), FileState::File(bytes)) if expected == bytes => return,
        (FileIs::Text(expected), FileState::File(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) if expected.is_met_by(text) => return,
            Ok(text) => {
                found.push(text_mismatch(what, expected, text, &keys));
                return;
            }
            Err(_) => Mismatch::new(what, "text", &came(state)),
        },
        (FileIs::Absent, state) => Mismatch::new(what, "nothing of that name", &came(state)),
        (FileIs::Directory, state) => Mismatch::new(what, "a directory", &came(state)),
        (FileIs::Bytes(bytes), state) => Mismatch::new(
            what,
            &format!("a file of {} given bytes", bytes.len()),
            &came(state),
        ),
        (FileIs::Text(TextIs::Exactly(text)), state) => {
            Mismatch::new(what, &Value::from(text.as_str()).to_string(), &came(state))
        }
        (FileIs::Text(TextIs::Matching(regex)), state) => {
            Mismatch::new(what, &format!("a match of {regex}"), &came(state))
        }
    };
    let value = match state {
        FileState::Absent => Some(Value::Null),
        FileState::Directory => Some(serde_json::json!({"dir": true})),
        FileState::File(bytes) => Some(match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => serde_json::json!({"base64": data_encoding::BASE64.encode(bytes)}),
        }),
        FileState::Unreadable(_) => None,
    };
    found.push(match (value, expected) {
        (Some(value), FileIs::Absent | FileIs::Directory | FileIs::Bytes(_))
        | (Some(value), FileIs::Text(TextIs::Exactly(_))) => mismatch.accepting(&keys, value),
        (Some(_), FileIs::Text(TextIs::Matching(_))) | (None, _) => mismatch,
    });
}

fn judge_log(expected: &LogIs, log: &[LogLine], found: &mut Vec<Mismatch>) {
    let meets = |line: &LogLine| {
        let level = expected.level.as_ref();
        level.is_none_or(|level| *level == line.level) && expected.text.is_met_by(&line.text)
    };
    if log.iter().any(meets) {
        return;
    }
    let text = match &expected.text {
        TextIs::Exactly(text) => Value::from(text.as_str()).to_string(),
        TextIs::Matching(regex) => format!("a match of {regex}"),
    };
    let level = expected.level.as_ref();
    let level = level.map_or_else(String::new, |level| format!("{level}: "));
    let lines = log.iter().take(LINES_SHOWN);
    let lines: Vec<String> = lines
        .map(|line| format!("{}: {}", line.level, Value::from(line.text.as_str())))
        .collect();
    let came = match lines.as_slice() {
        [] => "no line".to_owned(),
        lines => lines.join(", "),
    };
    found.push(Mismatch::new("log", &format!("{level}{text}"), &came));
}
