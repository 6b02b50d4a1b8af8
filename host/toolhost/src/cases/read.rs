//! Reads a case file.

mod expect;
mod http;

use std::collections::HashMap;

use serde_json::Value as Json;
use toolhost_contract::{JsonObject, ToolErrorCode};

use super::{Case, CaseContext, Content};
use toolhost_contract::text;
use toolhost_manifest::bundle::{Diagnostic, Place, YamlSource};
use toolhost_manifest::policy;
use toolhost_manifest::reader::{Cursor, Fields, Findings, Unread};
use toolhost_manifest::yaml::{Node, Value};

/// Largest file, in bytes.
const FILE_MAX: usize = 16 << 20;

/// Longest text quoted, in characters.
const QUOTED_MAX: usize = 80;

/// Keys of a case.
const KEYS: [&str; 10] = [
    "name", "tool", "args", "context", "files", "policy", "http", "expect", "repeat", "parallel",
];

/// Shown where a file holds no case.
const EXAMPLE: &str = "Write a list: - {name: says hi, tool: notes__say, args: {text: hi}, expect: {output: {text: hi}}}";

/// Reads the cases; every finding at once.
pub(super) fn cases(source: &YamlSource) -> Result<(Node, Vec<Case>), Vec<Diagnostic>> {
    let mut findings = Findings::new(source);
    let read = document(&mut findings, source).map(|node| (list(&node, &mut findings), node));
    match (read, findings.into_list()) {
        (Some((cases, node)), list) if list.is_empty() => Ok((node, cases)),
        (_, list) => Err(list),
    }
}

fn document(findings: &mut Findings, source: &YamlSource) -> Option<Node> {
    let one = "a case file is one document: a list of cases";
    let next = "Write all cases into one list, or into several files.";
    match findings.only_document(FILE_MAX, one, Some(next)) {
        Ok(Some(node)) => Some(node),
        Ok(None) => {
            let place = Place::file(source.name());
            let error =
                Diagnostic::error(ToolErrorCode::ConfigSchema, place, "the file holds no case");
            findings.add(error.with_help(EXAMPLE));
            None
        }
        Err(Unread) => None,
    }
}

fn list(node: &Node, findings: &mut Findings) -> Vec<Case> {
    let at = Cursor::new(node, "");
    if !matches!(node.value, Value::List(_)) {
        let place = findings.place(&at);
        let message = format!("expected a list of cases but got {}", node.value.kind());
        let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
        findings.add(error.with_help(EXAMPLE));
        return Vec::new();
    }
    let items = at.items(findings).unwrap_or_default();
    if items.is_empty() {
        let error = Diagnostic::error(
            ToolErrorCode::ConfigSchema,
            findings.place(&at),
            "the file holds no case",
        );
        findings.add(error.with_help(EXAMPLE));
    }
    let mut named: HashMap<String, Place> = HashMap::new();
    let mut cases = Vec::new();
    for item in items {
        let Some(case) = case(&item, findings) else {
            continue;
        };
        if let Some(first) = named.get(&case.name) {
            let shown = text::shorten(&case.name, QUOTED_MAX);
            let error = Diagnostic::error(
                ToolErrorCode::ConfigDuplicate,
                case.place.clone(),
                format!("another case is called '{shown}'"),
            );
            let error = error.with_related("named here first", first.clone());
            findings.add(error.with_help("Give each case a name of its own."));
        }
        let place = case.place.clone();
        named.entry(case.name.clone()).or_insert(place);
        cases.push(case);
    }
    cases
}

fn case(at: &Cursor<'_>, findings: &mut Findings) -> Option<Case> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&KEYS, findings);
    let name_at = fields.required("name", findings);
    let tool_at = fields.required("tool", findings);
    let read = Case {
        name: name_at
            .as_ref()
            .and_then(|at| said(at, findings))
            .unwrap_or_default(),
        place: findings.place(name_at.as_ref().unwrap_or(at)),
        tool: tool_at
            .as_ref()
            .and_then(|at| said(at, findings))
            .unwrap_or_default(),
        tool_place: findings.place(tool_at.as_ref().unwrap_or(at)),
        args: fields
            .get("args")
            .and_then(|at| object(&at, findings))
            .unwrap_or_default(),
        context: fields
            .get("context")
            .and_then(|at| context(&at, findings))
            .unwrap_or_default(),
        files: fields
            .get("files")
            .and_then(|at| files(&at, findings))
            .unwrap_or_default(),
        policy: fields
            .get("policy")
            .and_then(|at| policy::read_at(&at, findings)),
        http: fields
            .get("http")
            .and_then(|at| http::answers(&at, findings))
            .unwrap_or_default(),
        expect: fields
            .get("expect")
            .and_then(|at| expect::expect(&at, findings))
            .unwrap_or_default(),
        repeat: times(&fields, "repeat", 1000, findings),
        parallel: times(&fields, "parallel", 64, findings),
    };
    (name_at.is_some() && tool_at.is_some()).then_some(read)
}

/// A text that says something.
fn said(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let text = at.text(findings)?;
    if text.trim().is_empty() {
        findings.invalid(at, "it is empty");
        return None;
    }
    Some(text.to_owned())
}

fn times(fields: &Fields<'_>, key: &str, most: i128, findings: &mut Findings) -> u32 {
    let Some(at) = fields.get(key) else { return 1 };
    match number(&at, key, 1, most, findings) {
        Some(times) => u32::try_from(times).unwrap_or(1),
        None => 1,
    }
}

/// An integer of a range.
fn number(
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

/// A value as JSON. The parser refuses what JSON cannot hold.
fn json(at: &Cursor<'_>, _: &mut Findings) -> Option<Json> {
    Some(at.node.to_json())
}

fn object(at: &Cursor<'_>, findings: &mut Findings) -> Option<JsonObject> {
    at.fields(findings)?;
    match json(at, findings)? {
        Json::Object(object) => Some(object),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => None,
    }
}

fn context(at: &Cursor<'_>, findings: &mut Findings) -> Option<CaseContext> {
    let fields = at.fields(findings)?;
    let keys = ["agentName", "instanceKey", "turnId", "traceId", "message"];
    fields.refuse_unknown(&keys, findings);
    let mut text = |key| {
        let at = fields.get(key)?;
        at.text(findings).map(str::to_owned)
    };
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
    let mut files = Vec::new();
    for (path, at_key, value) in at.fields(findings)?.entries() {
        check_path(path, &at_key, findings);
        if let Some(content) = content(&value, findings) {
            files.push((path.to_owned(), content));
        }
    }
    Some(files)
}

fn content(at: &Cursor<'_>, findings: &mut Findings) -> Option<Content> {
    match &at.node.value {
        Value::Text(text) => return Some(Content::File(text.clone().into_bytes())),
        Value::Map(_) => (),
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::List(_) => {
            return at.expected("the text of a file, {base64: …} or {dir: true}", findings);
        }
    }
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["base64", "dir"], findings);
    match (fields.get("base64"), fields.get("dir")) {
        (Some(at), None) => base64(&at, findings).map(Content::File),
        (None, Some(at)) => directory(&at, findings).map(|()| Content::Directory),
        (None, None) | (Some(_), Some(_)) => {
            findings.invalid(at, "say one of base64 and dir");
            None
        }
    }
}

fn directory(at: &Cursor<'_>, findings: &mut Findings) -> Option<()> {
    if at.boolean(findings)? {
        return Some(());
    }
    findings.invalid(at, "dir is true, or not said");
    None
}

fn base64(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<u8>> {
    let mut text = at.text(findings)?.to_owned();
    // In a block of several lines.
    text.retain(|c| !c.is_ascii_whitespace());
    match data_encoding::BASE64.decode(text.as_bytes()) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            findings.invalid(at, format!("it is not base64: {error}"));
            None
        }
    }
}

/// A path names something in the workdir, as the tool sees it or relative to it.
fn check_path(path: &str, at: &Cursor<'_>, findings: &mut Findings) {
    let fine = !path.is_empty()
        && !path.contains('\0')
        && path
            .split('/')
            .all(|name| !name.is_empty() && name != "." && name != "..");
    if !fine {
        let shown = text::shorten(path, QUOTED_MAX);
        let message = format!("'{shown}' is not a path in the workdir, such as notes/a.txt");
        findings.invalid(at, message);
    }
}
