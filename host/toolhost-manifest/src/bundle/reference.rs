//! Reads a reference to a resource.

use std::collections::HashMap;

use toolhost_contract::suggest::closest;
use toolhost_contract::{ResourceName, ToolErrorCode};

use super::kind::ResourceKind;
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Findings};
use crate::yaml::Value;
use toolhost_contract::text::short;

/// Reads `"Tool/bash"`, `{ref: "Tool/bash"}`, `{kind: Tool, name: bash}` or `{ref: {kind, name}}`. `expected`
/// names the kinds.
pub(super) fn read(
    at: &Cursor<'_>,
    kinds: &[ResourceKind],
    expected: &str,
    findings: &mut Findings,
) -> Option<(ResourceKind, ResourceName, Place)> {
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
        let got = at.node.value.kind();
        findings.error(code, at, format!("expected a reference but got {got}"));
        return None;
    };
    let Some(kind) = kinds.iter().find(|candidate| candidate.as_str() == kind) else {
        let kind = short(kind);
        findings.error(code, at, format!("{expected}, not '{kind}'"));
        return None;
    };
    let name = findings.parsed(code, at, ResourceName::parse(name))?;
    Some((*kind, name, findings.place(at)))
}

/// Records that a reference leads to nothing in the bundle.
pub(super) fn add_undeclared(
    kind: ResourceKind,
    name: &ResourceName,
    place: Place,
    declared: &HashMap<ResourceName, Place>,
    findings: &mut Findings,
) {
    // If the list of findings is full, the search would be wasted.
    let names = declared.keys().filter(|_| !findings.is_full());
    let mut names: Vec<&str> = names.map(ResourceName::as_str).collect();
    // Sorted, so that the same one of two equally similar names is suggested each time.
    names.sort_unstable();
    let kind = kind.as_str();
    let message = format!("{kind}/{name} is not declared in this bundle");
    let missing = Diagnostic::error(ToolErrorCode::ConfigRefNotFound, place, message);
    findings.add(match closest(name.as_str(), &names) {
        Some(close) => missing.with_help(format!("Did you mean {kind}/{close}?")),
        None => missing,
    });
}
