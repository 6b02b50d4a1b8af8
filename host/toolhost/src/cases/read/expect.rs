//! Reads what a case expects.

use regex::{Regex, RegexBuilder};
use toolhost_contract::{Denial, ToolStatus, Usage};

use super::{base64, check_path, directory, json, number};
use crate::cases::expect::{ErrorIs, Expect, FileIs, LogIs, TextIs};
use toolhost_contract::text;
use toolhost_manifest::closest;
use toolhost_manifest::policy::parse_bytes;
use toolhost_manifest::reader::{Cursor, Fields, Findings};
use toolhost_manifest::yaml::Value;

/// Largest compiled regular expression, in bytes.
const REGEX_MAX: usize = 1 << 20;

/// Levels of a log line.
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

/// Keys of `expect`.
const KEYS: [&str; 10] = [
    "status",
    "output",
    "outputContains",
    "outputAt",
    "outputMatches",
    "error",
    "files",
    "log",
    "usage",
    "denials",
];

/// Reads it.
pub(super) fn expect(at: &Cursor<'_>, findings: &mut Findings) -> Option<Expect> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&KEYS, findings);
    let get = |key| fields.get(key);
    let expect = Expect {
        status: get("status").and_then(|at| status(&at, findings)),
        output: get("output").and_then(|at| json(&at, findings)),
        output_contains: get("outputContains").and_then(|at| json(&at, findings)),
        output_at: get("outputAt")
            .and_then(|at| by_pointer(&at, findings, json))
            .unwrap_or_default(),
        output_matches: get("outputMatches")
            .and_then(|at| output_matches(&at, findings))
            .unwrap_or_default(),
        error: get("error").and_then(|at| error(&at, findings)),
        files: get("files")
            .and_then(|at| files(&at, findings))
            .unwrap_or_default(),
        log: get("log")
            .and_then(|at| log(&at, findings))
            .unwrap_or_default(),
        usage: get("usage")
            .and_then(|at| usage(&at, findings))
            .unwrap_or_default(),
        denials: get("denials").and_then(|at| denials(&at, findings)),
    };
    refuse_contradictions(&fields, &expect, findings);
    Some(expect)
}

/// An output comes with `ok` and an error with `error`: anything else would never be looked at.
fn refuse_contradictions(fields: &Fields<'_>, expect: &Expect, findings: &mut Findings) {
    let status = expect.status();
    for (key, of) in [
        ("output", ToolStatus::Ok),
        ("outputContains", ToolStatus::Ok),
        ("outputAt", ToolStatus::Ok),
        ("outputMatches", ToolStatus::Ok),
        ("error", ToolStatus::Error),
    ] {
        if let Some(at) = fields.get(key).filter(|_| status != of) {
            let (status, of) = (status.as_str(), of.as_str());
            let message = format!("a result of status '{status}' has none: it comes with '{of}'");
            findings.invalid(&at, message);
        }
    }
}

fn status(at: &Cursor<'_>, findings: &mut Findings) -> Option<ToolStatus> {
    let said = at.text(findings)?;
    let mut all = [ToolStatus::Ok, ToolStatus::Error, ToolStatus::Pending].into_iter();
    let status = all.find(|status| status.as_str() == said);
    if status.is_none() {
        let said = text::shorten(said, 80);
        findings.invalid(at, format!("status is ok, error or pending, not '{said}'"));
    }
    status
}

/// A mapping from JSON pointers.
fn by_pointer<T>(
    at: &Cursor<'_>,
    findings: &mut Findings,
    read: fn(&Cursor<'_>, &mut Findings) -> Option<T>,
) -> Option<Vec<(String, T)>> {
    let mut all = Vec::new();
    for (pointer, at_key, value) in at.fields(findings)?.entries() {
        if !pointer.is_empty() && !pointer.starts_with('/') {
            let shown = text::shorten(pointer, 80);
            let message = format!("'{shown}' is not a JSON pointer: write /{shown}");
            findings.invalid(&at_key, message);
        }
        if let Some(read) = read(&value, findings) {
            all.push((pointer.to_owned(), read));
        }
    }
    Some(all)
}

fn output_matches(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, Regex)>> {
    if let Value::Text(_) = at.node.value {
        return Some(vec![(String::new(), regex(at, findings)?)]);
    }
    by_pointer(at, findings, regex)
}

fn regex(at: &Cursor<'_>, findings: &mut Findings) -> Option<Regex> {
    let pattern = at.text(findings)?;
    match RegexBuilder::new(pattern).size_limit(REGEX_MAX).build() {
        Ok(regex) => Some(regex),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            let reason = text::shorten(reason, 200);
            findings.invalid(at, format!("not a regular expression: {reason}"));
            None
        }
    }
}

/// A text, or `{matches: REGEX}`.
fn text_is(at: &Cursor<'_>, findings: &mut Findings) -> Option<TextIs> {
    match &at.node.value {
        Value::Text(text) => Some(TextIs::Exactly(text.clone())),
        Value::Map(_) => {
            let fields = at.fields(findings)?;
            fields.refuse_unknown(&["matches"], findings);
            let at = fields.required("matches", findings)?;
            regex(&at, findings).map(TextIs::Matching)
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::List(_) => {
            at.expected("a string or {matches: REGEX}", findings)
        }
    }
}

/// A code, or `{code, message, suggestion}`.
fn error(at: &Cursor<'_>, findings: &mut Findings) -> Option<ErrorIs> {
    if let Value::Text(code) = &at.node.value {
        return Some(ErrorIs {
            code: Some(code.clone()),
            ..ErrorIs::default()
        });
    }
    if !matches!(at.node.value, Value::Map(_)) {
        return at.expected("a code or {code, message}", findings);
    }
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["code", "message", "suggestion"], findings);
    let code = fields.get("code");
    let mut text = |key| fields.get(key).and_then(|at| text_is(&at, findings));
    let (message, suggestion) = (text("message"), text("suggestion"));
    Some(ErrorIs {
        code: code.and_then(|at| at.text(findings).map(str::to_owned)),
        message,
        suggestion,
    })
}

fn files(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, FileIs)>> {
    let mut files = Vec::new();
    for (path, at_key, value) in at.fields(findings)?.entries() {
        check_path(path, &at_key, findings);
        if let Some(expected) = file(&value, findings) {
            files.push((path.to_owned(), expected));
        }
    }
    Some(files)
}

fn file(at: &Cursor<'_>, findings: &mut Findings) -> Option<FileIs> {
    match &at.node.value {
        Value::Null => return Some(FileIs::Absent),
        Value::Text(text) => return Some(FileIs::Text(TextIs::Exactly(text.clone()))),
        Value::Map(_) => (),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::List(_) => {
            let what = "the text of a file, {matches: REGEX}, {base64: …}, {dir: true} or null";
            return at.expected(what, findings);
        }
    }
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["matches", "base64", "dir"], findings);
    match (
        fields.get("matches"),
        fields.get("base64"),
        fields.get("dir"),
    ) {
        (Some(at), None, None) => {
            regex(&at, findings).map(|regex| FileIs::Text(TextIs::Matching(regex)))
        }
        (None, Some(at), None) => base64(&at, findings).map(FileIs::Bytes),
        (None, None, Some(at)) => directory(&at, findings).map(|()| FileIs::Directory),
        _ => {
            findings.invalid(at, "say one of matches, base64 and dir");
            None
        }
    }
}

fn log(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<LogIs>> {
    let items = at.items(findings)?;
    let lines = items.iter().filter_map(|at| log_line(at, findings));
    Some(lines.collect())
}

/// A text, or `{level?, text}`, or `{level?, matches}`.
fn log_line(at: &Cursor<'_>, findings: &mut Findings) -> Option<LogIs> {
    if let Value::Text(text) = &at.node.value {
        return Some(LogIs {
            level: None,
            text: TextIs::Exactly(text.clone()),
        });
    }
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["level", "text", "matches"], findings);
    let level = fields.get("level").and_then(|at| level(&at, findings));
    let text = match (fields.get("text"), fields.get("matches")) {
        (Some(at), None) => TextIs::Exactly(at.text(findings)?.to_owned()),
        (None, Some(at)) => TextIs::Matching(regex(&at, findings)?),
        (None, None) | (Some(_), Some(_)) => {
            findings.invalid(at, "say one of text and matches");
            return None;
        }
    };
    Some(LogIs { level, text })
}

fn level(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let level = at.text(findings)?;
    if LEVELS.contains(&level) {
        return Some(level.to_owned());
    }
    let level = text::shorten(level, 80);
    let known = LEVELS.join(", ");
    findings.invalid(at, format!("level is one of {known}, not '{level}'"));
    None
}

/// The numbers of a receipt: the keys of `toolhost call --usage`.
fn usage_keys() -> Vec<String> {
    // What is zero of HTTP is left out of a receipt.
    let mut usage = Usage::default();
    (usage.http_requests, usage.http_sent, usage.http_received) = (1, 1, 1);
    let Ok(serde_json::Value::Object(receipt)) = serde_json::to_value(usage) else {
        return Vec::new();
    };
    let numbers = receipt.iter().filter(|(_, value)| value.is_number());
    numbers.map(|(key, _)| key.clone()).collect()
}

fn usage(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, u64)>> {
    let fields = at.fields(findings)?;
    let known = usage_keys();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    fields.refuse_unknown(&known, findings);
    let mut ceilings = Vec::new();
    for (key, _, value) in fields.entries() {
        if let Some(most) = ceiling(key, &value, findings) {
            ceilings.push((key.to_owned(), most));
        }
    }
    Some(ceilings)
}

fn ceiling(key: &str, at: &Cursor<'_>, findings: &mut Findings) -> Option<u64> {
    match &at.node.value {
        Value::Text(size) => {
            let bytes = parse_bytes(size);
            if bytes.is_none() {
                let shown = text::shorten(size, 80);
                findings.invalid(
                    at,
                    format!("'{shown}' is not a number, or a size such as 16MiB"),
                );
            }
            bytes
        }
        Value::Null
        | Value::Bool(_)
        | Value::Integer(_)
        | Value::Float(_)
        | Value::List(_)
        | Value::Map(_) => number(at, key, 0, i128::from(u64::MAX), findings),
    }
}

fn denials(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    let mut all = Vec::new();
    for item in at.items(findings)? {
        let Some(words) = item.text(findings) else {
            continue;
        };
        if Denial::from_words(words).is_none() {
            let known: Vec<&str> = Denial::plain_words().collect();
            let meant = match closest(words, &known) {
                Some(close) => format!("did you mean '{close}'?"),
                None => format!("there are {}", known.join(", ")),
            };
            let shown = text::shorten(words, 80);
            findings.invalid(&item, format!("no denial is called '{shown}'; {meant}"));
        }
        all.push(words.to_owned());
    }
    Some(all)
}
