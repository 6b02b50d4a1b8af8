//! Reads the expectations of a case.

use regex::Regex;
use serde_json::Value as Json;
use toolhost_contract::{Denial, FileChange, FileChangeKind, ToolStatus, Usage, text};
use toolhost_manifest::closest;
use toolhost_manifest::policy::parse_bytes;
use toolhost_manifest::reader::{Cursor, Fields, Findings};
use toolhost_manifest::yaml::Value;

use super::values::{
    QUOTED_MAX, base64, check_path, directory, json, list, map, number, only_one, optional, parsed,
    refuse, regex, string,
};
use crate::case::{ErrorIs, Expect, FileIs, LogIs, TextIs};

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

pub(super) fn expect(at: &Cursor<'_>, findings: &mut Findings) -> Option<Expect> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&KEYS, findings);
    let expect = Expect {
        status: optional(&fields, "status", findings, status),
        output: optional(&fields, "output", findings, json),
        output_contains: optional(&fields, "outputContains", findings, json),
        output_at: optional(&fields, "outputAt", findings, output_at).unwrap_or_default(),
        output_matches: optional(&fields, "outputMatches", findings, output_matches)
            .unwrap_or_default(),
        error: optional(&fields, "error", findings, error),
        files: optional(&fields, "files", findings, files).unwrap_or_default(),
        log: optional(&fields, "log", findings, log).unwrap_or_default(),
        usage: optional(&fields, "usage", findings, usage).unwrap_or_default(),
        denials: optional(&fields, "denials", findings, denials),
    };
    refuse_contradictions(&fields, &expect, findings);
    Some(expect)
}

/// Refuses an expected output without status `ok`, and an expected error without status `error`: neither
/// would be checked.
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
            let message = format!("a result of status '{status}' has none: only '{of}' has one");
            findings.invalid(&at, message);
        }
    }
}

fn status(at: &Cursor<'_>, findings: &mut Findings) -> Option<ToolStatus> {
    let mut all = [ToolStatus::Ok, ToolStatus::Error, ToolStatus::Pending].into_iter();
    let parse = |name: &str| all.find(|status| status.as_str() == name);
    parsed(at, findings, parse, "a status: ok, error or pending")
}

fn check_pointer(pointer: &str, at: &Cursor<'_>, findings: &mut Findings) {
    if !pointer.is_empty() && !pointer.starts_with('/') {
        let example = text::shorten(pointer, QUOTED_MAX);
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
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["matches"], findings);
    let at = fields.required("matches", findings)?;
    regex(&at, findings).map(TextIs::Matching)
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
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["code", "message", "suggestion"], findings);
    Some(ErrorIs {
        code: optional(&fields, "code", findings, string),
        message: optional(&fields, "message", findings, text_is),
        suggestion: optional(&fields, "suggestion", findings, text_is),
        is_code_alone: false,
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
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["level", "text", "matches"], findings);
    let level = optional(&fields, "level", findings, level);
    let text = match (fields.get("text"), fields.get("matches")) {
        (Some(at), None) => TextIs::Exactly(string(&at, findings)?),
        (None, Some(at)) => TextIs::Matching(regex(&at, findings)?),
        (None, None) | (Some(_), Some(_)) => {
            findings.invalid(at, "give either text or matches");
            return None;
        }
    };
    Some(LogIs { level, text })
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
    let fields = at.fields(findings)?;
    let known = usage_keys();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    fields.refuse_unknown(&known, findings);
    let entries = fields.entries();
    let ceilings = entries
        .filter_map(|(key, _, value)| Some((key.to_owned(), ceiling(key, &value, findings)?)));
    Some(ceilings.collect())
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
            let known: Vec<String> = Denial::fixed_texts().collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let help = match closest(words, &known) {
                Some(close) => format!("did you mean '{close}'?"),
                None => format!("known are {}", known.join(", ")),
            };
            let words = text::shorten(words, QUOTED_MAX);
            findings.invalid(item, format!("no denial is called '{words}'; {help}"));
        }
        Some(words.to_owned())
    })
}
