//! Reads the expectations of a case.

use regex::Regex;
use serde_json::Value as Json;
use toolhost_contract::suggest::closest;
use toolhost_contract::text::short;
use toolhost_contract::{Denial, FileChange, FileChangeKind, ToolStatus, Usage};
use toolhost_manifest::policy::parse_bytes;
use toolhost_manifest::reader::{Cursor, Fields, Findings};
use toolhost_manifest::yaml::Value;

use super::values::{
    base64, check_path, directory, json, list, map, number, only_one, parsed, refuse, regex,
};
use crate::case::{ErrorIs, Expect, FileIs, LogIs, TextIs};

/// Levels of a log line.
const LEVELS: [&str; 5] = ["trace", "debug", "info", "warn", "error"];

pub(super) fn expect(at: &Cursor<'_>, findings: &mut Findings) -> Option<Expect> {
    at.mapping(findings, |fields| {
        let expect = Expect {
            status: fields.read("status", status),
            output: fields.read("output", json),
            output_contains: fields.read("outputContains", json),
            output_at: fields.read("outputAt", output_at).unwrap_or_default(),
            output_matches: fields
                .read("outputMatches", output_matches)
                .unwrap_or_default(),
            error: fields.read("error", error),
            files: fields.read("files", files).unwrap_or_default(),
            log: fields.read("log", log).unwrap_or_default(),
            usage: fields.read("usage", usage).unwrap_or_default(),
            denials: fields.read("denials", denials),
        };
        refuse_contradictions(fields, &expect);
        Some(expect)
    })
}

/// Refuses an expected output without status `ok`, and an expected error without status `error`: neither
/// would be checked.
fn refuse_contradictions(fields: &mut Fields<'_, '_>, expect: &Expect) {
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
            let message = format!("a result of status '{status}' has none: only '{of}' has one");
            fields.findings.invalid(&at, message);
        }
    }
}

fn status(at: &Cursor<'_>, findings: &mut Findings) -> Option<ToolStatus> {
    let mut statuses = [ToolStatus::Ok, ToolStatus::Error, ToolStatus::Pending].into_iter();
    let parse = |name: &str| statuses.find(|status| status.as_str() == name);
    parsed(at, findings, parse, "a status: ok, error or pending")
}

fn check_pointer(pointer: &str, at: &Cursor<'_>, findings: &mut Findings) {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let example = short(pointer);
        let what = format!("a JSON pointer: write /{example}");
        refuse(pointer, at, &what, findings);
    }
}

fn output_at(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, Json)>> {
    map(at, findings, check_pointer, json)
}

fn output_matches(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, Regex)>> {
    if let Value::Text(_) = at.node.value {
        return Some(vec![(String::new(), regex(at, findings)?)]);
    }
    map(at, findings, check_pointer, regex)
}

/// Reads a text, or `{matches: REGEX}`.
fn text_is(at: &Cursor<'_>, findings: &mut Findings) -> Option<TextIs> {
    if let Value::Text(text) = &at.node.value {
        return Some(TextIs::Exactly(text.clone()));
    }
    if !matches!(at.node.value, Value::Map(_)) {
        return at.expected("a string or {matches: REGEX}", findings);
    }
    let matches = at.mapping(findings, |fields| fields.required("matches", regex));
    matches.map(TextIs::Matching)
}

/// Reads a code, or `{code, message, suggestion}`.
fn error(at: &Cursor<'_>, findings: &mut Findings) -> Option<ErrorIs> {
    if let Value::Text(code) = &at.node.value {
        return Some(ErrorIs {
            code: Some(code.clone()),
            is_code_alone: true,
            ..ErrorIs::default()
        });
    }
    if !matches!(at.node.value, Value::Map(_)) {
        return at.expected("a code or {code, message}", findings);
    }
    at.mapping(findings, |fields| {
        Some(ErrorIs {
            code: fields.read("code", Cursor::string),
            message: fields.read("message", text_is),
            suggestion: fields.read("suggestion", text_is),
            is_code_alone: false,
        })
    })
}

fn files(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, FileIs)>> {
    map(at, findings, check_path, file)
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
    match only_one(at, &["matches", "base64", "dir"], findings)? {
        ("matches", at) => regex(&at, findings).map(|it| FileIs::Text(TextIs::Matching(it))),
        ("base64", at) => base64(&at, findings).map(FileIs::Bytes),
        (_, at) => directory(&at, findings).map(|()| FileIs::Directory),
    }
}

fn log(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<LogIs>> {
    list(at, findings, log_line)
}

/// Reads a text, `{level?, text}` or `{level?, matches}`.
fn log_line(at: &Cursor<'_>, findings: &mut Findings) -> Option<LogIs> {
    if let Value::Text(text) = &at.node.value {
        return Some(LogIs {
            level: None,
            text: TextIs::Exactly(text.clone()),
        });
    }
    at.mapping(findings, |fields| {
        let level = fields.read("level", level);
        let message = "give either text or matches";
        let text = match fields.one_of(&["text", "matches"], message)? {
            ("text", at) => TextIs::Exactly(at.string(fields.findings)?),
            (_, at) => TextIs::Matching(regex(&at, fields.findings)?),
        };
        Some(LogIs { level, text })
    })
}

fn level(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let parse = |level: &str| LEVELS.contains(&level).then(|| level.to_owned());
    let what = format!("a level: {}", LEVELS.join(", "));
    parsed(at, findings, parse, &what)
}

/// Returns the keys of the numbers that `toolhost call --usage` prints.
fn usage_keys() -> Vec<String> {
    // Numbers of HTTP and of changed files are left out if they are zero.
    let mut usage = Usage::default();
    (usage.http_requests, usage.http_sent, usage.http_received) = (1, 1, 1);
    let from = String::new();
    let kinds = [
        FileChangeKind::Created,
        FileChangeKind::Changed,
        FileChangeKind::Deleted,
        FileChangeKind::Renamed { from },
    ];
    let changes = kinds.map(|kind| FileChange::new("", kind));
    usage.changes.files.extend(changes);
    let Ok(Json::Object(usage)) = serde_json::to_value(usage) else {
        return Vec::new();
    };
    let numbers = usage.iter().filter(|(_, value)| value.is_number());
    numbers.map(|(key, _)| key.clone()).collect()
}

fn usage(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, u64)>> {
    at.mapping(findings, |fields| {
        let read = |key: String| {
            let most = fields.read(key.clone(), |at, findings| ceiling(&key, at, findings))?;
            Some((key, most))
        };
        Some(usage_keys().into_iter().filter_map(read).collect())
    })
}

fn ceiling(key: &str, at: &Cursor<'_>, findings: &mut Findings) -> Option<u64> {
    if matches!(at.node.value, Value::Text(_)) {
        let what = "a number, or a size such as 16MiB";
        return parsed(at, findings, parse_bytes, what);
    }
    number(at, key, 0, i128::from(u64::MAX), findings)
}

fn denials(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<String>> {
    list(at, findings, |item, findings| {
        let words = item.text(findings)?;
        if Denial::parse(words).is_none() {
            let texts: Vec<String> = Denial::fixed_texts().collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let help = match closest(words, &texts) {
                Some(close) => format!("did you mean '{close}'?"),
                None => format!("known are {}", texts.join(", ")),
            };
            let words = short(words);
            findings.invalid(item, format!("no denial is called '{words}'; {help}"));
        }
        Some(words.to_owned())
    })
}
