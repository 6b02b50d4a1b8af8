//! Reads a case that searches the tools of an agent.

use toolhost_contract::JsonObject;
use toolhost_manifest::reader::{Cursor, Fields, Findings};

use super::values::{context, filled, number};
use crate::case::{Case, Expect, SearchCase};

/// Among how many of the first hits the tool must be, by default and at most.
const WITHIN: usize = 5;
const WITHIN_MAX: i128 = 50;

pub(super) fn case(fields: &mut Fields<'_, '_>) -> Option<Case> {
    let name = fields.required("name", filled);
    let query = fields.required("search", filled);
    let finds = fields.required("finds", filled);
    let within = fields.read("within", within).unwrap_or(WITHIN);
    let context = fields.read("context", context).unwrap_or_default();
    let ((name, place), (query, _), (tool, tool_place)) = (name?, query?, finds?);
    Some(Case {
        name,
        place,
        tool,
        tool_place,
        args: JsonObject::new(),
        context,
        files: Vec::new(),
        policy: None,
        http: Vec::new(),
        expect: Expect::default(),
        repeat: 1,
        parallel: 1,
        search: Some(SearchCase { query, within }),
    })
}

fn within(at: &Cursor<'_>, findings: &mut Findings) -> Option<usize> {
    let within = number(at, "within", 1, WITHIN_MAX, findings)?;
    usize::try_from(within).ok()
}
