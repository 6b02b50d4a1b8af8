//! Reads the cases of a case file.

mod expect;
mod http;
mod search;
mod values;

use std::collections::HashMap;

use serde_json::Value as Json;
use toolhost_contract::text::short;
use toolhost_contract::{JsonObject, ToolErrorCode};
use toolhost_manifest::reader::{Cursor, Fields, Findings};
use toolhost_manifest::yaml::{Node, Value};
use toolhost_manifest::{Diagnostic, Place, YamlSource, policy};

use crate::case::Case;
use crate::work_tree::Content;
use values::{base64, check_path, context, directory, filled, map, number, only_one};

/// Largest file, in bytes.
const FILE_MAX: usize = 16 << 20;

/// The help for a file without cases.
const EXAMPLE: &str = "Write a list: - {name: says hi, tool: notes__say, args: {text: hi}, expect: {output: {text: hi}}}";

/// What is wrong with a file without cases.
const NO_CASES: &str = "the file has no cases";

/// Reads all cases, or returns all findings.
pub(super) fn cases(source: &YamlSource) -> Result<(Node, Vec<Case>), Vec<Diagnostic>> {
    let mut findings = Findings::new(source);
    let result = document(&mut findings, source).map(|node| (all(&node, &mut findings), node));
    match (result, findings.into_list()) {
        (Some((cases, node)), list) if list.is_empty() => Ok((node, cases)),
        (_, list) => Err(list),
    }
}

fn document(findings: &mut Findings, source: &YamlSource) -> Option<Node> {
    let one = "a case file is one document: a list of cases";
    let next = "Write all cases into one list, or into several files.";
    let node = findings.only_document(FILE_MAX, one, Some(next)).ok()?;
    if node.is_none() {
        add_example(findings, Place::file(source.name()), NO_CASES);
    }
    node
}

fn add_example(findings: &mut Findings, place: Place, message: &str) {
    let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
    findings.add(error.with_help(EXAMPLE));
}

fn all(node: &Node, findings: &mut Findings) -> Vec<Case> {
    let at = Cursor::new(node, "");
    let place = findings.place(&at);
    if !matches!(node.value, Value::List(_)) {
        let message = format!("expected a list of cases but got {}", node.value.kind());
        add_example(findings, place, &message);
        return Vec::new();
    }
    let items = at.items(findings).unwrap_or_default();
    if items.is_empty() {
        add_example(findings, place, NO_CASES);
    }
    let mut named: HashMap<String, Place> = HashMap::new();
    let cases = items.iter().filter_map(|item| case(item, findings));
    let cases: Vec<Case> = cases.collect();
    for Case { name, place, .. } in &cases {
        let first = named.entry(name.clone()).or_insert_with(|| place.clone());
        if first == place {
            continue;
        }
        let name = short(name);
        let message = format!("another case is called '{name}'");
        let error = Diagnostic::error(ToolErrorCode::ConfigDuplicate, place.clone(), message);
        let error = error.with_related("named here first", first.clone());
        findings.add(error.with_help("Give each case a unique name."));
    }
    cases
}

fn case(at: &Cursor<'_>, findings: &mut Findings) -> Option<Case> {
    at.mapping(findings, |fields| {
        if fields.at.node.get("search").is_some() {
            return search::case(fields);
        }
        let name = fields.required("name", filled);
        let tool = fields.required("tool", filled);
        let has = |key| fields.at.node.get(key).is_some();
        let is_whole = has("name") && has("tool");
        let place = fields.findings.place(&fields.at);
        let (name, place) = name.unwrap_or_else(|| (String::new(), place.clone()));
        let (tool, tool_place) = tool.unwrap_or_else(|| (String::new(), place.clone()));
        let case = Case {
            name,
            place,
            tool,
            tool_place,
            args: fields.read("args", object).unwrap_or_default(),
            context: fields.read("context", context).unwrap_or_default(),
            files: fields.read("files", files).unwrap_or_default(),
            policy: fields.read("policy", policy::read_at),
            http: fields.read("http", http::responses).unwrap_or_default(),
            expect: fields.read("expect", expect::expect).unwrap_or_default(),
            repeat: times(fields, "repeat", 1000),
            parallel: times(fields, "parallel", 64),
            search: None,
        };
        is_whole.then_some(case)
    })
}

fn times(fields: &mut Fields<'_, '_>, key: &'static str, most: i128) -> u32 {
    let times = fields.read(key, |at, findings| number(at, key, 1, most, findings));
    times.and_then(|it| u32::try_from(it).ok()).unwrap_or(1)
}

fn object(at: &Cursor<'_>, findings: &mut Findings) -> Option<JsonObject> {
    if let Json::Object(members) = at.node.to_json() {
        return Some(members);
    }
    at.expected("a mapping", findings)
}

fn files(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(String, Content)>> {
    map(at, findings, check_path, content)
}

fn content(at: &Cursor<'_>, findings: &mut Findings) -> Option<Content> {
    if let Value::Text(text) = &at.node.value {
        return Some(Content::File(text.clone().into_bytes()));
    }
    if !matches!(at.node.value, Value::Map(_)) {
        return at.expected("the text of a file, {base64: …} or {dir: true}", findings);
    }
    match only_one(at, &["base64", "dir"], findings)? {
        ("base64", at) => base64(&at, findings).map(Content::File),
        (_, at) => directory(&at, findings).map(|()| Content::Directory),
    }
}
