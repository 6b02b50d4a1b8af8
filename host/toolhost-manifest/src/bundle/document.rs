//! Reads the keys that every resource has: `apiVersion`, `kind` and `metadata`.

use std::collections::BTreeMap;

use toolhost_contract::{ResourceMetadata, ResourceName, ToolErrorCode};

use crate::diagnostic::{Diagnostic, Place};
use crate::quote::short;
use crate::reader::{Cursor, Fields, Findings};
use crate::suggest::closest;

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

/// A kind of resource that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tool,
    Agent,
    McpServer,
    OAuthApp,
}

impl Kind {
    const NAMES: [&str; 4] = ["Tool", "Agent", "McpServer", "OAuthApp"];
}

/// The metadata of a resource, and the place of its name.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) metadata: ResourceMetadata,
    pub(super) place: Place,
}

/// Reads the kind of a document, and its keys; `None` if it is of another kind.
pub(super) fn read<'n>(
    document: &Cursor<'n>,
    findings: &mut Findings,
) -> Option<(Kind, Fields<'n>)> {
    let fields = document.fields(findings)?;
    check_api_version(&fields, findings);
    let kind = read_kind(&fields, findings)?;
    fields.refuse_unknown(&["apiVersion", "kind", "metadata", "spec"], findings);
    Some((kind, fields))
}

fn check_api_version(fields: &Fields<'_>, findings: &mut Findings) {
    let code = ToolErrorCode::ConfigApiVersion;
    let Some(at) = fields.get("apiVersion") else {
        findings.error(code, &fields.at, "'apiVersion' is missing");
        return;
    };
    let Some(version) = at.text(findings).filter(|version| *version != API_VERSION) else {
        return;
    };
    let message = if version.ends_with("/v1alpha1") {
        format!("apiVersion '{}' was removed in v2", short(version))
    } else {
        format!("unknown apiVersion '{}'", short(version))
    };
    findings.error(code, &at, message);
}

fn read_kind(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let at = fields.required("kind", findings)?;
    let kind = at.text(findings)?;
    match kind {
        "Tool" => return Some(Kind::Tool),
        "Agent" => return Some(Kind::Agent),
        "McpServer" => return Some(Kind::McpServer),
        "OAuthApp" => return Some(Kind::OAuthApp),
        _ => {}
    }
    let (code, place) = (ToolErrorCode::ConfigSchema, findings.place(&at));
    if OTHER_KINDS.contains(&kind) {
        let message =
            format!("kind {kind} is ignored: toolhost reads Tool, Agent, McpServer and OAuthApp");
        let note = Diagnostic::note(code, place, message);
        findings.add(note.with_help(match kind {
            "MCPServer" => "Write kind: McpServer if toolhost is to use the tools of the server.",
            _ => "Nothing to do: other parts of the runtime read it.",
        }));
        return None;
    }
    let message = format!("unknown kind '{}'", short(kind));
    let close = closest(kind, &Kind::NAMES).or_else(|| closest(kind, &OTHER_KINDS));
    let help = match close {
        Some(close) => format!("Did you mean {close}?"),
        None => "Write kind: Tool, kind: Agent, kind: McpServer or kind: OAuthApp.".to_owned(),
    };
    findings.add(Diagnostic::error(code, place, message).with_help(help));
    None
}

/// Reads `metadata`; `None` if it has no valid name.
pub(super) fn read_metadata(fields: &Fields<'_>, findings: &mut Findings) -> Option<Named> {
    let metadata = fields.required("metadata", findings)?;
    let metadata = metadata.known_fields(&["name", "labels"], findings)?;
    let labels = metadata.optional("labels", findings, read_labels);
    let at = metadata.required("name", findings)?;
    let name = at.name(ResourceName::parse, findings)?;
    Some(Named {
        metadata: ResourceMetadata {
            name,
            labels: labels.flatten().unwrap_or_default(),
        },
        place: findings.place(&at),
    })
}

fn read_labels(at: &Cursor<'_>, findings: &mut Findings) -> Option<BTreeMap<String, String>> {
    let labels = at.fields(findings)?;
    let label = |(key, _, value): (&str, _, Cursor<'_>)| {
        Some((key.to_owned(), value.text(findings)?.to_owned()))
    };
    Some(labels.entries().filter_map(label).collect())
}
