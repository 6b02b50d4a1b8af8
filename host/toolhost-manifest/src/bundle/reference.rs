//! Reads a reference to a resource.

use std::collections::HashMap;

use toolhost_contract::suggest::closest;
use toolhost_contract::{ResourceName, ToolErrorCode};

use super::kind::Kind;
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;
use toolhost_contract::text::short;

/// Reads `"Tool/bash"`, `{ref: "Tool/bash"}`, `{kind: Tool, name: bash}` or `{ref: {kind, name}}`. `expected`
/// names the kinds.
pub(super) fn read(
    at: &Cursor<'_>,
    kinds: &[Kind],
    expected: &str,
    findings: &mut Findings,
) -> Option<(Kind, ResourceName, Place)> {
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
    let Some(kind) = kinds.iter().find(|known| known.as_str() == kind) else {
        let kind = short(kind);
        findings.error(code, at, format!("{expected}, not '{kind}'"));
        return None;
    };
    let name = findings.parsed(code, at, ResourceName::parse(name))?;
    Some((*kind, name, findings.place(at)))
}

/// Records that a reference leads to nothing in the bundle.
pub(super) fn add_undeclared(
    kind: Kind,
    name: &ResourceName,
    place: Place,
    declared: &HashMap<ResourceName, Place>,
    findings: &mut Findings,
) {
    // If the list of findings is full, the search would be wasted.
    let known = declared.keys().filter(|_| !findings.is_full());
    let mut known: Vec<&str> = known.map(ResourceName::as_str).collect();
    // Of two names at the same distance, the same one is suggested each time.
    known.sort_unstable();
    let kind = kind.as_str();
    let message = format!("{kind}/{name} is not declared in this bundle");
    let missing = Diagnostic::error(ToolErrorCode::ConfigRefNotFound, place, message);
    findings.add(match closest(name.as_str(), &known) {
        Some(close) => missing.with_help(format!("Did you mean {kind}/{close}?")),
        None => missing,
    });
}
