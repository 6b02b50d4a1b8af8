//! Reads a reference to a resource.

use toolhost_contract::{ResourceName, ToolErrorCode};

use crate::diagnostic::Place;
use crate::quote::short;
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;

/// Reads `"Tool/bash"`, `{ref: "Tool/bash"}`, `{kind: Tool, name: bash}` or `{ref: {kind, name}}`. `expected`
/// says which kinds `parse` knows.
pub(super) fn read<K>(
    at: &Cursor<'_>,
    parse: impl Fn(&str) -> Option<K>,
    expected: &str,
    findings: &mut Findings,
) -> Option<(K, ResourceName, Place)> {
    let at = match at.node.get("ref") {
        Some(_) => &at.known_fields(&["ref"], findings)?.get("ref")?,
        None => at,
    };
    let code = ToolErrorCode::ConfigRef;
    let (kind, name) = if let Value::Text(whole) = &at.node.value {
        let Some(parts) = whole.split_once('/') else {
            findings.error(code, at, format!("'{}' has no kind", short(whole)));
            return None;
        };
        parts
    } else if let Value::Map(_) = &at.node.value {
        let fields = at.known_fields(&["kind", "name"], findings)?;
        let mut part = |key: &str| fields.required(key, findings)?.text(findings);
        let (kind, name) = (part("kind"), part("name"));
        (kind?, name?)
    } else {
        let found = at.node.value.kind();
        findings.error(code, at, format!("expected a reference but got {found}"));
        return None;
    };
    let Some(kind) = parse(kind) else {
        let kind = short(kind);
        findings.error(code, at, format!("{expected}, not '{kind}'"));
        return None;
    };
    let name = findings.parsed(code, at, ResourceName::parse(name))?;
    Some((kind, name, findings.place(at)))
}
