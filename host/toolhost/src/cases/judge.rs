//! Judges a result by what its case expects.

use serde_json::Value;
use toolhost_contract::ToolResult;

use super::expect::{ErrorIs, Expect, FileIs, LogIs, TextIs};
use super::mismatch::{Mismatch, SHOWN_MAX};
use super::tree::{FileState, WorkTree};
use toolhost_contract::text;

/// Most log lines shown where one is missing.
const LINES_SHOWN: usize = 20;

/// A line that a tool logged or printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogLine {
    /// Its level: `debug`, `info`, `warn`, `error`.
    pub level: String,
    /// What the tool says it is about; `stdout` or `stderr` of what is printed.
    pub context: String,
    /// Its text.
    pub text: String,
}

/// What a call came to.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// Its result.
    pub result: &'a ToolResult,
    /// Its workdir, afterwards.
    pub tree: &'a WorkTree,
    /// What it logged and printed.
    pub log: &'a [LogLine],
}

impl Expect {
    /// Everything that is not as expected.
    #[must_use]
    pub fn judge(&self, outcome: &Outcome<'_>) -> Vec<Mismatch> {
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
            found.push(self.other_status(result));
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

    fn other_status(&self, result: &ToolResult) -> Mismatch {
        let (expected, came) = (self.status().as_str(), result.status().as_str());
        let (got, value) = match (result.tool_error(), result.output()) {
            (Some(error), _) => (
                format!("error {error}"),
                serde_json::json!({"error": {"code": error.code, "message": error.message}}),
            ),
            (None, Some(output)) => (
                format!("ok {output}"),
                serde_json::json!({"output": output}),
            ),
            (None, None) => (came.to_owned(), serde_json::json!({"status": came})),
        };
        let mismatch = Mismatch::new("status", expected, &got);
        // What its author wrote as a part or an expression is not thrown away.
        let error = self.error.as_ref().is_some_and(ErrorIs::has_expression);
        match !error && self.output_contains.is_none() && self.output_matches.is_empty() {
            true => mismatch.accepting(&["expect"], value),
            false => mismatch,
        }
    }

    fn judge_output(&self, output: &Value, found: &mut Vec<Mismatch>) {
        if let Some(expected) = self.output.as_ref().filter(|e| !same(e, output)) {
            let mismatch = Mismatch::of_values("output".to_owned(), expected, output);
            found.push(mismatch.accepting(&["expect", "output"], output.clone()));
        }
        if let Some(expected) = &self.output_contains {
            lacking("output", expected, output, found);
        }
        for (pointer, expected) in &self.output_at {
            let what = format!("output{pointer}");
            match output.pointer(pointer) {
                None => found.push(Mismatch::new(what, &expected.to_string(), "nothing there")),
                Some(value) if !same(expected, value) => {
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
                None => "nothing there".to_owned(),
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
                reason = "a ceiling of petabytes may lose a byte"
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

/// Whether two values are the same; 2 and 2.0 are.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => {
            left == right || ((left.is_f64() || right.is_f64()) && left.as_f64() == right.as_f64())
        }
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(l, r)| same(l, r))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        (left, right) => left == right,
    }
}

/// Whether a value contains another: of a mapping its keys, of a list its items in this order.
fn contains(value: &Value, expected: &Value) -> bool {
    match (expected, value) {
        (Value::Object(expected), Value::Object(value)) => expected
            .iter()
            .all(|(key, part)| value.get(key).is_some_and(|value| contains(value, part))),
        (Value::Array(expected), Value::Array(items)) => {
            let mut items = items.iter();
            expected
                .iter()
                .all(|part| items.any(|item| contains(item, part)))
        }
        (expected, value) => same(expected, value),
    }
}

/// Finds the innermost parts that are lacking.
fn lacking(what: &str, expected: &Value, value: &Value, found: &mut Vec<Mismatch>) {
    let (Value::Object(parts), Value::Object(members)) = (expected, value) else {
        if !contains(value, expected) {
            let words = if expected.is_array() {
                format!("to contain {expected}")
            } else {
                expected.to_string()
            };
            found.push(Mismatch::new(what, &words, &value.to_string()));
        }
        return;
    };
    for (key, part) in parts {
        let what = format!("{what}/{}", key.replace('~', "~0").replace('/', "~1"));
        match members.get(key) {
            Some(member) => lacking(&what, part, member, found),
            None => found.push(Mismatch::new(what, &part.to_string(), "nothing there")),
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
            found.push(other_text(format!("error.{key}"), expected, came, &path));
        }
    }
}

/// A text that is not as expected. One that was to match an expression has no other to be accepted.
fn other_text(what: String, expected: &TextIs, came: &str, path: &[&str]) -> Mismatch {
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
            Err(_) => format!("{} bytes that are no text", bytes.len()),
        },
        FileState::Unreadable(reason) => format!("what cannot be read: {reason}"),
    };
    let mismatch = match (expected, state) {
        (FileIs::Absent, FileState::Absent) | (FileIs::Directory, FileState::Directory) => return,
        (FileIs::Bytes(expected), FileState::File(bytes)) if expected == bytes => return,
        (FileIs::Text(expected), FileState::File(bytes)) => match std::str::from_utf8(bytes) {
            Ok(text) if expected.is_met_by(text) => return,
            Ok(text) => {
                found.push(other_text(what, expected, text, &keys));
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_the_same_however_they_are_written() {
        assert!(same(&json!({"a": [1, 2.0]}), &json!({"a": [1.0, 2]})));
        assert!(!same(&json!(1), &json!(1.5)));
        assert!(!same(
            &json!(9_007_199_254_740_993_u64),
            &json!(9_007_199_254_740_992_u64)
        ));
        assert!(!same(&json!({"a": 1}), &json!({"a": 1, "b": 2})));
        assert!(!same(&json!([1]), &json!([1, 2])));
    }

    #[test]
    fn a_part_is_some_keys_and_some_items_in_their_order() {
        let check = |value: Value, part: Value, expected: bool| {
            assert_eq!(contains(&value, &part), expected, "{value} {part}");
        };
        check(
            json!({"a": 1, "b": {"c": 2, "d": 3}}),
            json!({"b": {"d": 3}}),
            true,
        );
        check(json!({"a": 1}), json!({"b": 1}), false);
        check(json!([1, 2, 3]), json!([1, 3]), true);
        check(json!([1, 2, 3]), json!([3, 1]), false);
        check(json!([{"a": 1, "b": 2}]), json!([{"a": 1}]), true);
        check(json!("abc"), json!("b"), false);
        check(json!([]), json!([]), true);
    }

    #[test]
    fn what_lacks_is_named_as_deep_as_it_lies() {
        let mut found = Vec::new();
        let (expected, value) = (json!({"a/b": {"c": 2}, "d": 1}), json!({"a/b": {"c": 3}}));
        lacking("output", &expected, &value, &mut found);
        let whats: Vec<_> = found.iter().map(|one| one.what.as_str()).collect();
        assert_eq!(whats, ["output/a~1b/c", "output/d"]);
    }
}
