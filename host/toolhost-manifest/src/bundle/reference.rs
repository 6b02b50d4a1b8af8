//! Reads a reference to a resource.

use toolhost_contract::{ResourceName, ToolErrorCode};

use crate::diagnostic::Place;
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;
use toolhost_contract::text::short;

/// Reads `"Tool/bash"`, `{ref: "Tool/bash"}`, `{kind: Tool, name: bash}` or `{ref: {kind, name}}`. `expected`
/// says which kinds `parse` knows.
pub(super) fn read<K>(
    at: &Cursor<'_>,
    parse: impl Fn(&str) -> Option<K>,
    expected: &str,
    findings: &mut Findings,
) -> Option<(K, ResourceName, Place)> {
    let at = match at.node.get("ref") {
        Some(_) => &at.mapping(findings, |fields| fields.get("ref"))?,
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
        at.mapping(findings, |fields| {
            let kind = fields.required("kind", Cursor::text);
            let name = fields.required("name", Cursor::text);
            kind.zip(name)
        })?
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
