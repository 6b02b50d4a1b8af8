//! Reads values that several parts of a case share.

use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;
use toolhost_contract::text;
use toolhost_manifest::reader::{Cursor, Fields, Findings};
use toolhost_manifest::yaml::Value;

/// Longest text quoted in a finding, in characters.
pub(super) const QUOTED_MAX: usize = 80;

/// Largest compiled regular expression, in bytes.
const REGEX_MAX: usize = 1 << 20;

/// Reads the value of a key, if the key is present.
pub(super) fn optional<T>(
    fields: &Fields<'_>,
    key: &str,
    findings: &mut Findings,
    read: impl FnOnce(&Cursor<'_>, &mut Findings) -> Option<T>,
) -> Option<T> {
    read(&fields.get(key)?, findings)
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
    let mut all = Vec::new();
    for (key, at_key, value) in at.fields(findings)?.entries() {
        check_key(key, &at_key, findings);
        if let Some(read) = read(&value, findings) {
            all.push((key.to_owned(), read));
        }
    }
    Some(all)
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

/// Reads a text.
pub(super) fn string(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    at.text(findings).map(str::to_owned)
}

/// Reads `true`.
pub(super) fn directory(at: &Cursor<'_>, findings: &mut Findings) -> Option<()> {
    if at.boolean(findings)? {
        return Some(());
    }
    findings.invalid(at, "dir must be true, or left out");
    None
}

pub(super) fn base64(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<u8>> {
    let mut text = at.text(findings)?.to_owned();
    // The text may be a block of several lines.
    text.retain(|c| !c.is_ascii_whitespace());
    match data_encoding::BASE64.decode(text.as_bytes()) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            findings.invalid(at, format!("invalid base64: {error}"));
            None
        }
    }
}

pub(super) fn regex(at: &Cursor<'_>, findings: &mut Findings) -> Option<Regex> {
    let pattern = at.text(findings)?;
    match RegexBuilder::new(pattern).size_limit(REGEX_MAX).build() {
        Ok(regex) => Some(regex),
        Err(error) => {
            let reason = error.to_string();
            let reason = reason.lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            let reason = text::shorten(reason, 200);
            findings.invalid(at, format!("invalid regular expression: {reason}"));
            None
        }
    }
}

/// Refuses paths that are not relative to the workdir and beneath it.
pub(super) fn check_path(path: &str, at: &Cursor<'_>, findings: &mut Findings) {
    let is_name = |name: &str| !matches!(name, "" | "." | "..");
    if path.contains('\0') || !path.split('/').all(is_name) {
        let path = text::shorten(path, QUOTED_MAX);
        let message = format!("'{path}' is not a path in the workdir, such as notes/a.txt");
        findings.invalid(at, message);
    }
}
