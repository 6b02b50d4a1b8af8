//! Reads mappings whose keys are the names of resources.

use std::collections::BTreeMap;

use toolhost_contract::{ResourceName, ToolErrorCode};

use crate::diagnostic::Place;
use crate::reader::{Cursor, Fields, Findings};

/// Reads a mapping from resource names to mappings, and leaves out invalid ones. `read` gets the place of the name.
pub(super) fn named<'n, T>(
    at: &Cursor<'n>,
    findings: &mut Findings,
    read: impl Fn(&mut Fields<'n, '_>, Place) -> Option<T>,
) -> Option<BTreeMap<ResourceName, T>> {
    let mut by_name = BTreeMap::new();
    for (name, at_key, value) in at.entries(findings)? {
        let place = findings.place(&at_key);
        let value = value.mapping(findings, |fields| read(fields, place));
        let name = ResourceName::parse(name);
        let name = findings.parsed(ToolErrorCode::ConfigName, &at_key, name);
        by_name.extend(name.zip(value));
    }
    Some(by_name)
}
