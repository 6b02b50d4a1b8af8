//! Reads `kind: Agent`, as far as tools are concerned.

use std::collections::{HashMap, HashSet};

use toolhost_contract::{AgentSpec, ResourceName, ToolErrorCode, ToolName, ToolResource};

use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings};
use crate::yaml::Value;
use toolhost_contract::text;

/// Longest text quoted, in characters.
const QUOTED_MAX: usize = 80;

/// Most exports listed of a Tool: it may have thousands, and be named a thousand times.
const EXPORTS_SHOWN: usize = 20;

/// A Tool that an Agent names, and where.
#[derive(Debug, Clone)]
pub(super) struct ToolReference {
    pub(super) tool: ResourceName,
    pub(super) place: Place,
}

/// What an Agent says of tools, and where.
#[derive(Debug, Clone, Default)]
pub(super) struct References {
    tools: Vec<ToolReference>,
    required: Vec<(ToolName, Place)>,
}

/// Reads `spec.tools` and `spec.requiredTools`; what else an Agent has is for other parts of the
/// runtime.
pub(super) fn read_spec(resource: &Fields<'_>, findings: &mut Findings) -> References {
    let spec = resource.required("spec", findings);
    let Some(spec) = spec.and_then(|spec| spec.fields(findings)) else {
        return References::default();
    };
    References {
        tools: read_tools(&spec, findings),
        required: read_required(&spec, findings),
    }
}

fn read_tools(spec: &Fields<'_>, findings: &mut Findings) -> Vec<ToolReference> {
    let tools = spec
        .get("tools")
        .and_then(|tools| tools.items(findings))
        .unwrap_or_default();
    let mut references: Vec<ToolReference> = Vec::new();
    let mut listed: HashMap<ResourceName, Place> = HashMap::new();
    for item in tools {
        let Some(reference) = read_reference(&item, findings) else {
            continue;
        };
        let place = reference.place.clone();
        if let Some(first) = listed.get(&reference.tool) {
            let message = format!("duplicate reference to Tool/{}", reference.tool);
            let code = ToolErrorCode::ConfigDuplicate;
            let warning =
                Diagnostic::warning(code, place, message).with_help("Remove one of the two.");
            findings.add(warning.with_related("here first", first.clone()));
            continue;
        }
        listed.insert(reference.tool.clone(), place);
        references.push(reference);
    }
    references
}

/// Reads the names of tools as a model calls them, such as `bash__exec`.
fn read_required(spec: &Fields<'_>, findings: &mut Findings) -> Vec<(ToolName, Place)> {
    let names = spec
        .get("requiredTools")
        .and_then(|names| names.items(findings))
        .unwrap_or_default();
    let mut required = Vec::new();
    for at in names {
        let Some(name) = at.text(findings) else {
            continue;
        };
        match ToolName::parse(name) {
            Ok(name) => required.push((name, findings.place(&at))),
            Err(error) => {
                let message = quoted(&error.to_string());
                findings.error(ToolErrorCode::ConfigName, &at, message);
            }
        }
    }
    required
}

/// Reads `"Tool/bash"`, `{ref: "Tool/bash"}`, `{kind: Tool, name: bash}` or `{ref: {kind, name}}`.
fn read_reference(at: &Cursor<'_>, findings: &mut Findings) -> Option<ToolReference> {
    let inner = at
        .node
        .get("ref")
        .map(|node| Cursor::new(node, format!("{}.ref", at.path)));
    if inner.is_some() {
        at.fields(findings)?.refuse_unknown(&["ref"], findings);
    }
    let target = inner.unwrap_or_else(|| at.clone());
    let (kind, name) = match &target.node.value {
        Value::Text(whole) => match whole.split_once('/') {
            Some((kind, name)) => (kind, name),
            None => {
                return invalid(
                    &target,
                    &format!("'{}' has no kind", quoted(whole)),
                    findings,
                );
            }
        },
        Value::Map(_) => {
            let fields = target.fields(findings)?;
            fields.refuse_unknown(&["kind", "name"], findings);
            let mut part = |key: &str| fields.required(key, findings)?.text(findings);
            let (kind, name) = (part("kind"), part("name"));
            (kind?, name?)
        }
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::List(_) => {
            let found = target.node.value.kind();
            return invalid(
                &target,
                &format!("expected a reference but got {found}"),
                findings,
            );
        }
    };
    if kind != "Tool" {
        let message = format!("an Agent's tools are of kind Tool, not '{}'", quoted(kind));
        return invalid(&target, &message, findings);
    }
    match ResourceName::parse(name) {
        Ok(tool) => Some(ToolReference {
            tool,
            place: findings.place(&target),
        }),
        Err(error) => invalid(&target, &quoted(&error.to_string()), findings),
    }
}

fn invalid<T>(at: &Cursor<'_>, message: &str, findings: &mut Findings) -> Option<T> {
    findings.error(ToolErrorCode::ConfigRef, at, message);
    None
}

fn quoted(text: &str) -> String {
    text::shorten(text, QUOTED_MAX)
}

/// Resolves what an Agent names against the Tools that the bundle declares. `readable` are those of
/// them whose spec could be read: only of these the exports are known.
pub(super) fn resolve(
    references: References,
    declared: &HashSet<ResourceName>,
    readable: &[&ToolResource],
    findings: &mut Findings,
) -> AgentSpec {
    let mut spec = AgentSpec::default();
    for reference in references.tools {
        if declared.contains(&reference.tool) {
            spec.tools.push(reference.tool);
            continue;
        }
        let explained = declared.iter().filter(|_| !findings.is_full());
        let mut known: Vec<&str> = explained.map(ResourceName::as_str).collect();
        // Of two names as close, the same one is meant each time.
        known.sort_unstable();
        let message = format!("Tool/{} is not declared in this bundle", reference.tool);
        let code = ToolErrorCode::ConfigRefNotFound;
        let missing = Diagnostic::error(code, reference.place, message);
        findings.add(match crate::closest(reference.tool.as_str(), &known) {
            Some(close) => missing.with_help(format!("Did you mean Tool/{close}?")),
            None => missing,
        });
    }
    for (name, place) in references.required {
        match unavailable(&name, &spec, readable) {
            Some(help) => {
                let message = format!("the required tool {name} is not among the agent's tools");
                let code = ToolErrorCode::ConfigRefNotFound;
                findings.add(Diagnostic::error(code, place, message).with_help(help));
            }
            None => spec.required_tools.push(name),
        }
    }
    spec
}

/// Says how to make a required tool available; none where it is.
fn unavailable(name: &ToolName, spec: &AgentSpec, readable: &[&ToolResource]) -> Option<String> {
    let (resource, export) = (name.resource(), name.export());
    if !spec.tools.contains(resource) {
        return Some(format!("Add \"Tool/{resource}\" to spec.tools."));
    }
    // Of a Tool that cannot be read this is not known, and its own errors come first.
    let tool = readable
        .iter()
        .find(|tool| tool.metadata.name == *resource)?;
    let exports = &tool.spec.exports;
    if exports.iter().any(|known| known.name == *export) {
        return None;
    }
    let names = exports.iter().map(|known| known.name.as_str());
    let names = text::listed(names, EXPORTS_SHOWN);
    Some(format!("Tool/{resource} exports {names}."))
}
