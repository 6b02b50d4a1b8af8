//! Reads values that several parts of a case share.

use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;
use toolhost_contract::text::{self, short};
use toolhost_manifest::Place;
use toolhost_manifest::reader::{Cursor, Findings};
use toolhost_manifest::yaml::Value;

use crate::case::CaseContext;

/// Largest compiled regular expression, in bytes.
const REGEX_MAX: usize = 1 << 20;

/// Reads a text that is not blank, with its place.
pub(super) fn filled(at: &Cursor<'_>, findings: &mut Findings) -> Option<(String, Place)> {
    let text = at.string(findings).unwrap_or_default();
    if matches!(at.node.value, Value::Text(_)) && text.trim().is_empty() {
        findings.invalid(at, "must not be empty");
    }
    Some((text, findings.place(at)))
}

/// Reads the context of a case.
pub(super) fn context(at: &Cursor<'_>, findings: &mut Findings) -> Option<CaseContext> {
    at.mapping(findings, |fields| {
        Some(CaseContext {
            agent_name: fields.read("agentName", Cursor::string),
            instance_key: fields.read("instanceKey", Cursor::string),
            turn_id: fields.read("turnId", Cursor::string),
            trace_id: fields.read("traceId", Cursor::string),
            message: fields.read("message", Cursor::string),
            agent_place: fields.read("agentName", |at, findings| Some(findings.place(at))),
        })
    })
}

/// Reads the items of a list, and leaves out those with errors.
pub(super) fn list<T>(
    at: &Cursor<'_>,
    findings: &mut Findings,
    read: fn(&Cursor<'_>, &mut Findings) -> Option<T>,
) -> Option<Vec<T>> {
    let items = at.items(findings)?;
    Some(items.iter().filter_map(|at| read(at, findings)).collect())
}

/// Reads a mapping whose keys pass `check_key`, and leaves out values with errors.
pub(super) fn map<T>(
    at: &Cursor<'_>,
    findings: &mut Findings,
    check_key: fn(&str, &Cursor<'_>, &mut Findings),
    read: fn(&Cursor<'_>, &mut Findings) -> Option<T>,
) -> Option<Vec<(String, T)>> {
    let mut pairs = Vec::new();
    for (key, at_key, value) in at.entries(findings)? {
        check_key(key, &at_key, findings);
        if let Some(read) = read(&value, findings) {
            pairs.push((key.to_owned(), read));
        }
    }
    Some(pairs)
}

/// Reads an integer of a range.
pub(super) fn number(
    at: &Cursor<'_>,
    key: &str,
    least: i128,
    most: i128,
    findings: &mut Findings,
) -> Option<u64> {
    let Value::Integer(number) = at.node.value else {
        return at.expected("an integer", findings);
    };
    if !(least..=most).contains(&number) {
        findings.invalid(at, format!("'{key}' must be {least} to {most}"));
        return None;
    }
    u64::try_from(number).ok()
}

/// Reads any value. The YAML parser refuses values that JSON cannot hold.
pub(super) fn json(at: &Cursor<'_>, _: &mut Findings) -> Option<Json> {
    Some(at.node.to_json())
}

/// Reads a text that `parse` accepts. `what` ends the message about another text: `'x' is not …`.
pub(super) fn parsed<T>(
    at: &Cursor<'_>,
    findings: &mut Findings,
    parse: impl FnOnce(&str) -> Option<T>,
    what: &str,
) -> Option<T> {
    let text = at.text(findings)?;
    let parsed = parse(text);
    if parsed.is_none() {
        refuse(text, at, what, findings);
    }
    parsed
}

/// Records that a text is not what its place needs.
pub(super) fn refuse(text: &str, at: &Cursor<'_>, what: &str, findings: &mut Findings) {
    let text = short(text);
    findings.invalid(at, format!("'{text}' is not {what}"));
}

/// Reads a mapping with exactly one of these keys. Returns the key and its value.
pub(super) fn only_one<'n>(
    at: &Cursor<'n>,
    keys: &[&'static str],
    findings: &mut Findings,
) -> Option<(&'static str, Cursor<'n>)> {
    let message = format!("give one of {}", keys.join(", "));
    at.mapping(findings, |fields| fields.one_of(keys, &message))
}

/// Reads `true`.
pub(super) fn directory(at: &Cursor<'_>, findings: &mut Findings) -> Option<()> {
    if at.boolean(findings)? {
        return Some(());
    }
    findings.invalid(at, "dir must be true, or left out");
    None
}

/// Reads bytes in base64, which may be a block of several lines.
pub(super) fn base64(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<u8>> {
    let mut text = at.text(findings)?.to_owned();
    text.retain(|c| !c.is_ascii_whitespace());
    let bytes = data_encoding::BASE64.decode(text.as_bytes());
    let bytes = bytes.map_err(|error| findings.invalid(at, format!("invalid base64: {error}")));
    bytes.ok()
}

/// Reads a regular expression.
pub(super) fn regex(at: &Cursor<'_>, findings: &mut Findings) -> Option<Regex> {
    let pattern = at.text(findings)?;
    let regex = RegexBuilder::new(pattern).size_limit(REGEX_MAX).build();
    let regex = regex.map_err(|error| {
        let reason = error.to_string();
        let reason = reason.lines().last().unwrap_or_default();
        let reason = text::shorten(reason.trim_start_matches("error: "), 200);
        findings.invalid(at, format!("invalid regular expression: {reason}"));
    });
    regex.ok()
}

/// Refuses paths that are not relative to the workdir and beneath it.
pub(super) fn check_path(path: &str, at: &Cursor<'_>, findings: &mut Findings) {
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    if path.contains('\0') || !path.split('/').all(is_name) {
        refuse(
            path,
            at,
            "a path in the workdir, such as notes/a.txt",
            findings,
        );
    }
}
