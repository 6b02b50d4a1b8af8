//! Reads the references of `kind: Agent` to tools.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use toolhost_contract::{
    AgentSpec, McpServerResource, ResourceName, ToolErrorCode, ToolName, ToolResource, text,
};

use super::kind::ResourceKind;
use super::reference;
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings};
use toolhost_contract::suggest::{closest, did_you_mean};

/// Maximum number of exports in a help text. A Tool may have thousands.
const EXPORTS_SHOWN: usize = 20;

/// The tools that an Agent names, with their places.
#[derive(Debug, Default)]
pub(super) struct References {
    tools: Vec<(ResourceKind, ResourceName, Place)>,
    required: Vec<(ToolName, Place)>,
}

/// Reads `spec.tools` and `spec.requiredTools`. Other parts of the runtime read the other keys.
pub(super) fn read_spec(fields: &mut Fields<'_, '_>) -> Option<References> {
    fields.allow_others();
    Some(References {
        tools: fields.read("tools", read_tools).unwrap_or_default(),
        required: fields
            .read("requiredTools", read_required)
            .unwrap_or_default(),
    })
}

/// The resources of a bundle to which an Agent may refer.
pub(super) struct Declared<'a> {
    /// The names of all Tools, also of those with an invalid spec.
    pub(super) tools: &'a HashMap<ResourceName, Place>,
    /// The names of all McpServers, also of those with an invalid spec.
    pub(super) mcp_servers: &'a HashMap<ResourceName, Place>,
    /// The Tools with a valid spec, whose exports are known.
    pub(super) readable_tools: &'a [&'a ToolResource],
    /// The McpServers with a valid spec.
    pub(super) readable_servers: &'a [&'a McpServerResource],
}

fn read_tools(
    at: &Cursor<'_>,
    findings: &mut Findings,
) -> Option<Vec<(ResourceKind, ResourceName, Place)>> {
    let kinds = [ResourceKind::Tool, ResourceKind::McpServer];
    let expected = "an Agent's tools are of kind Tool or McpServer";
    let mut references: Vec<(ResourceKind, ResourceName, Place)> = Vec::new();
    let mut first_places: HashMap<(ResourceKind, ResourceName), Place> = HashMap::new();
    for item in at.items(findings)? {
        let Some((kind, tool, place)) = reference::read(&item, &kinds, expected, findings) else {
            continue;
        };
        if let Some(first) = first_places.get(&(kind, tool.clone())) {
            let message = format!("duplicate reference to {}/{tool}", kind.as_str());
            let warning = Diagnostic::warning(ToolErrorCode::ConfigDuplicate, place, message);
            let warning = warning.with_help("Remove one of the two.");
            findings.add(warning.with_related("listed here first", first.clone()));
            continue;
        }
        first_places.insert((kind, tool.clone()), place.clone());
        references.push((kind, tool, place));
    }
    Some(references)
}

/// Reads the names of tools as a model calls them, such as `bash__exec`.
fn read_required(at: &Cursor<'_>, findings: &mut Findings) -> Option<Vec<(ToolName, Place)>> {
    let items = at.items(findings)?.into_iter();
    let read = |at: Cursor<'_>| {
        let name = at.name(ToolName::parse, findings)?;
        Some((name, findings.place(&at)))
    };
    Some(items.filter_map(read).collect())
}

/// Resolves the tools that an Agent names.
pub(super) fn resolve(
    references: References,
    declared: &Declared<'_>,
    findings: &mut Findings,
) -> AgentSpec {
    let mut spec = AgentSpec::default();
    let code = ToolErrorCode::ConfigRefNotFound;
    for (kind, name, place) in references.tools {
        let (names, resolved) = match kind {
            ResourceKind::McpServer => (declared.mcp_servers, &mut spec.mcp_servers),
            // Others are not read.
            ResourceKind::Tool | ResourceKind::Agent | ResourceKind::OAuthApp => {
                (declared.tools, &mut spec.tools)
            }
        };
        if names.contains_key(&name) {
            resolved.push(name);
            continue;
        }
        reference::add_undeclared(kind, &name, place, names, findings);
    }
    let own_tools = LazyCell::new({
        let tools = spec.tools.clone();
        move || tools_of(&tools, declared)
    });
    for (name, place) in references.required {
        // If the list of findings is full, the search would be wasted.
        let exports = || {
            if findings.is_full() {
                [].as_slice()
            } else {
                own_tools.as_slice()
            }
        };
        let Some(help) = unavailable(&name, &spec, declared, exports) else {
            spec.required_tools.push(name);
            continue;
        };
        let message = format!("the required tool {name} is not among the agent's tools");
        findings.add(Diagnostic::error(code, place, message).with_help(help));
    }
    spec
}

/// Returns how to make a required tool available; `None` if it is available, or a server may have it.
/// `own_tools` returns the names of the tools of the agent's Tools.
fn unavailable<'n>(
    name: &ToolName,
    spec: &AgentSpec,
    declared: &Declared<'_>,
    own_tools: impl FnOnce() -> &'n [String],
) -> Option<String> {
    let (resource, export) = (name.resource(), name.export());
    let mut servers = declared.readable_servers.iter();
    if let Some(server) = servers.find(|server| server.spec.prefix == *resource) {
        let server = &server.metadata.name;
        let has_server = spec.mcp_servers.contains(server);
        return (!has_server).then(|| format!("Add \"McpServer/{server}\" to spec.tools."));
    }
    if !declared.tools.contains_key(resource) {
        let candidates: Vec<&str> = own_tools().iter().map(String::as_str).collect();
        let add = || format!("Add \"Tool/{resource}\" to spec.tools.");
        return Some(did_you_mean(name.as_str(), &candidates).unwrap_or_else(add));
    }
    if !spec.tools.contains(resource) {
        return Some(format!("Add \"Tool/{resource}\" to spec.tools."));
    }
    // The exports of a Tool with an invalid spec are unknown; its own errors are reported.
    let mut tools = declared.readable_tools.iter();
    let tool = tools.find(|tool| tool.metadata.name == *resource)?;
    let exports = &tool.spec.exports;
    // A component that is not built yet may describe it.
    if exports.is_empty() || exports.iter().any(|it| it.name == *export) {
        return None;
    }
    let candidates: Vec<&str> = exports.iter().map(|it| it.name.as_str()).collect();
    if let Some(close) = closest(export.as_str(), &candidates) {
        return Some(format!("Did you mean '{resource}__{close}'?"));
    }
    let names = exports.iter().map(|it| it.name.as_str());
    let names = text::listed(names, EXPORTS_SHOWN);
    Some(format!("Tool/{resource} exports {names}."))
}

/// Returns the names of the tools of these Tools.
fn tools_of(resources: &[ResourceName], declared: &Declared<'_>) -> Vec<String> {
    let resources: HashSet<&ResourceName> = resources.iter().collect();
    let tools = declared.readable_tools.iter();
    let tools = tools.filter(|tool| resources.contains(&tool.metadata.name));
    let names = tools.flat_map(|tool| {
        let resource = &tool.metadata.name;
        let exports = tool.spec.exports.iter();
        exports.map(move |export| format!("{resource}__{}", export.name))
    });
    names.collect()
}
