//! Reads the cases of a case file.

mod expect;
mod http;
mod values;

use std::collections::HashMap;

use toolhost_contract::{JsonObject, ToolErrorCode, text};
use toolhost_manifest::reader::{Cursor, Fields, Findings};
use toolhost_manifest::yaml::{Node, Value};
use toolhost_manifest::{Diagnostic, Place, YamlSource, policy};

use crate::case::{Case, CaseContext};
use crate::work_tree::Content;
use values::{
    QUOTED_MAX, base64, check_path, directory, json, map, number, only_one, optional, string,
};

/// Largest file, in bytes.
const FILE_MAX: usize = 16 << 20;

/// Keys of a case.
const KEYS: [&str; 10] = [
    "name", "tool", "args", "context", "files", "policy", "http", "expect", "repeat", "parallel",
];

/// The help for a file without cases.
const EXAMPLE: &str = "Write a list: - {name: says hi, tool: notes__say, args: {text: hi}, expect: {output: {text: hi}}}";

/// What is wrong with a file without cases.
const NO_CASES: &str = "the file has no cases";

/// Reads all cases, or returns all findings.
pub(super) fn cases(source: &YamlSource) -> Result<(Node, Vec<Case>), Vec<Diagnostic>> {
    let mut findings = Findings::new(source);
    let read = document(&mut findings, source).map(|node| (all(&node, &mut findings), node));
    match (read, findings.into_list()) {
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
        let name = text::shorten(name, QUOTED_MAX);
        let message = format!("another case is called '{name}'");
        let error = Diagnostic::error(ToolErrorCode::ConfigDuplicate, place.clone(), message);
        let error = error.with_related("named here first", first.clone());
        findings.add(error.with_help("Give each case a unique name."));
    }
    cases
}

fn case(at: &Cursor<'_>, findings: &mut Findings) -> Option<Case> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&KEYS, findings);
    let name_at = fields.required("name", findings);
    let tool_at = fields.required("tool", findings);
    let case = Case {
        name: filled(name_at.as_ref(), findings),
        place: findings.place(name_at.as_ref().unwrap_or(at)),
        tool: filled(tool_at.as_ref(), findings),
        tool_place: findings.place(tool_at.as_ref().unwrap_or(at)),
        args: optional(&fields, "args", findings, object).unwrap_or_default(),
        context: optional(&fields, "context", findings, context).unwrap_or_default(),
        files: optional(&fields, "files", findings, files).unwrap_or_default(),
        policy: optional(&fields, "policy", findings, policy::read_at),
        http: optional(&fields, "http", findings, http::responses).unwrap_or_default(),
        expect: optional(&fields, "expect", findings, expect::expect).unwrap_or_default(),
        repeat: times(&fields, "repeat", 1000, findings),
        parallel: times(&fields, "parallel", 64, findings),
    };
    (name_at.is_some() && tool_at.is_some()).then_some(case)
}

/// Reads a text that is not blank.
fn filled(at: Option<&Cursor<'_>>, findings: &mut Findings) -> String {
    let text = at.and_then(|at| Some((at, at.text(findings)?)));
    let Some((at, text)) = text else {
        return String::new();
    };
    if text.trim().is_empty() {
        findings.invalid(at, "must not be empty");
    }
    text.to_owned()
}

fn times(fields: &Fields<'_>, key: &str, most: i128, findings: &mut Findings) -> u32 {
    let times = fields.get(key);
    let times = times.and_then(|at| number(&at, key, 1, most, findings));
    times.and_then(|it| u32::try_from(it).ok()).unwrap_or(1)
}

fn object(at: &Cursor<'_>, findings: &mut Findings) -> Option<JsonObject> {
    at.fields(findings)?;
    json(at, findings)?.as_object().cloned()
}

fn context(at: &Cursor<'_>, findings: &mut Findings) -> Option<CaseContext> {
    let fields = at.fields(findings)?;
    let keys = ["agentName", "instanceKey", "turnId", "traceId", "message"];
    fields.refuse_unknown(&keys, findings);
    let mut text = |key| optional(&fields, key, findings, string);
    Some(CaseContext {
        agent_name: text("agentName"),
        instance_key: text("instanceKey"),
        turn_id: text("turnId"),
        trace_id: text("traceId"),
        message: text("message"),
        agent_place: fields.get("agentName").map(|at| findings.place(&at)),
    })
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
