//! Reads a resource: `apiVersion`, `kind` and `metadata`, which every one has, and `spec`.

use std::collections::BTreeMap;

use toolhost_contract::{
    McpServerSpec, OAuthAppSpec, ResourceMetadata, ResourceName, ToolErrorCode, ToolSpec,
};

use super::agent::{self, References};
use super::kind::{Named, ResourceKind};
use super::tool::{self, ToolPlaces};
use super::{mcp_server, oauth_app};
use crate::diagnostic::Diagnostic;
use crate::reader::{Cursor, Fields, Findings};
use toolhost_contract::suggest::closest;
use toolhost_contract::text::short;

const API_VERSION: &str = "goondan.ai/v1";

/// Kinds of the specification that other parts of the runtime read.
const OTHER_KINDS: [&str; 10] = [
    "Package",
    "Model",
    "Extension",
    "Swarm",
    "Connector",
    "Connection",
    "Trigger",
    "MCPServer",
    "ResourceType",
    "ExtensionHandler",
];

/// The `spec` of a resource; `None` if anything in it is invalid.
#[derive(Debug)]
pub(super) enum Spec {
    Tool(Option<(ToolSpec, ToolPlaces)>),
    Agent(References),
    McpServer(Option<McpServerSpec>),
    OAuthApp(Option<OAuthAppSpec>),
}

/// Reads a resource; `None` if it is of another kind. Its metadata is `None` without a valid name.
pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<(ResourceKind, Option<Named>, Spec)> {
    check_api_version(fields);
    let Some(kind) = fields.required("kind", read_kind) else {
        fields.allow_others();
        return None;
    };
    let named = fields.required("metadata", read_metadata);
    let name = named.as_ref();
    let spec = match kind {
        ResourceKind::Tool => Spec::Tool(fields.required("spec", |at, findings| {
            at.mapping(findings, |spec| tool::read_spec(spec, name))
        })),
        ResourceKind::Agent => {
            let spec = fields.required("spec", |at, findings| {
                at.mapping(findings, agent::read_spec)
            });
            Spec::Agent(spec.unwrap_or_default())
        }
        ResourceKind::McpServer => Spec::McpServer(fields.required("spec", |at, findings| {
            at.mapping(findings, |spec| mcp_server::read_spec(spec, name))
        })),
        ResourceKind::OAuthApp => Spec::OAuthApp(fields.required("spec", |at, findings| {
            at.mapping(findings, oauth_app::read_spec)
        })),
    };
    Some((kind, named, spec))
}

fn check_api_version(fields: &mut Fields<'_, '_>) {
    let code = ToolErrorCode::ConfigApiVersion;
    let Some(at) = fields.get("apiVersion") else {
        let message = "'apiVersion' is missing";
        return fields.findings.error(code, &fields.at, message);
    };
    let version = at.text(fields.findings);
    let Some(version) = version.filter(|version| *version != API_VERSION) else {
        return;
    };
    let message = if version.ends_with("/v1alpha1") {
        format!("apiVersion '{}' was removed in v2", short(version))
    } else {
        format!("unknown apiVersion '{}'", short(version))
    };
    fields.findings.error(code, &at, message);
}

fn read_kind(at: &Cursor<'_>, findings: &mut Findings) -> Option<ResourceKind> {
    let name = at.text(findings)?;
    if let Some(kind) = ResourceKind::ALL
        .into_iter()
        .find(|kind| kind.as_str() == name)
    {
        return Some(kind);
    }
    let (code, place) = (ToolErrorCode::ConfigSchema, findings.place(at));
    if OTHER_KINDS.contains(&name) {
        let message =
            format!("kind {name} is ignored: toolhost reads Tool, Agent, McpServer and OAuthApp");
        let note = Diagnostic::note(code, place, message);
        findings.add(note.with_help(match name {
            "MCPServer" => "Write kind: McpServer if toolhost is to use the tools of the server.",
            _ => "Nothing to do: other parts of the runtime read it.",
        }));
        return None;
    }
    let message = format!("unknown kind '{}'", short(name));
    let close = closest(name, &ResourceKind::ALL.map(ResourceKind::as_str));
    let help = match close.or_else(|| closest(name, &OTHER_KINDS)) {
        Some(close) => format!("Did you mean {close}?"),
        None => "Write kind: Tool, kind: Agent, kind: McpServer or kind: OAuthApp.".to_owned(),
    };
    findings.add(Diagnostic::error(code, place, message).with_help(help));
    None
}

fn read_metadata(at: &Cursor<'_>, findings: &mut Findings) -> Option<Named> {
    at.mapping(findings, |fields| {
        let labels = fields.read("labels", read_labels).unwrap_or_default();
        let (name, place) = fields.required("name", |at, findings| {
            let name = at.name(ResourceName::parse, findings)?;
            Some((name, findings.place(at)))
        })?;
        let metadata = ResourceMetadata { name, labels };
        Some(Named { metadata, place })
    })
}

fn read_labels(at: &Cursor<'_>, findings: &mut Findings) -> Option<BTreeMap<String, String>> {
    let labels = at.entries(findings)?.into_iter();
    let label =
        |(key, _, value): (&str, _, Cursor<'_>)| Some((key.to_owned(), value.string(findings)?));
    Some(labels.filter_map(label).collect())
}
