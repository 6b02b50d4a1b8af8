//! Reads mappings whose keys are the names of resources.

use std::collections::BTreeMap;

use toolhost_contract::{ResourceName, ToolErrorCode};

use crate::diagnostic::Place;
use crate::reader::{Fields, Findings};

/// Reads a mapping from resource names to mappings.
pub(super) fn named<'n, T>(
    above: &Fields<'n>,
    key: &str,
    findings: &mut Findings,
    read: impl Fn(&Fields<'n>, Place, &mut Findings) -> T,
) -> BTreeMap<ResourceName, T> {
    let mut by_name = BTreeMap::new();
    let Some(fields) = above.get(key).and_then(|at| at.fields(findings)) else {
        return by_name;
    };
    for (name, at_key, value) in fields.entries() {
        let Some(rules) = value.fields(findings) else {
            continue;
        };
        let read = read(&rules, findings.place(&at_key), findings);
        let name = ResourceName::parse(name);
        if let Some(name) = findings.parsed(ToolErrorCode::ConfigName, &at_key, name) {
            by_name.insert(name, read);
        }
    }
    by_name
}
