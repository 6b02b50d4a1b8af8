//! What every resource has: apiVersion, kind and metadata.

use std::collections::BTreeMap;
use std::fmt;

use toolhost_contract::{ResourceMetadata, ResourceName, ToolErrorCode};

use crate::closest;
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings};
use toolhost_contract::text;

/// The version of the resources that is read here.
const API_VERSION: &str = "goondan.ai/v1";

/// Kinds of the specification that toolhost leaves to others.
const KINDS_OF_OTHERS: [&str; 11] = [
    "Package",
    "Model",
    "Extension",
    "Swarm",
    "Connector",
    "Connection",
    "OAuthApp",
    "Trigger",
    "MCPServer",
    "ResourceType",
    "ExtensionHandler",
];

/// Longest text quoted, in characters.
const QUOTED_MAX: usize = 80;

/// Kinds that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Tool,
    Agent,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tool => "Tool",
            Self::Agent => "Agent",
        })
    }
}

/// A document of a kind that is read.
#[derive(Debug)]
pub(super) struct Document<'n> {
    pub(super) kind: Kind,
    pub(super) fields: Fields<'n>,
}

/// A resource's metadata, and where its name stands.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) metadata: ResourceMetadata,
    pub(super) place: Place,
}

/// Reads what a document says it is; none where that is wrong, or left to others.
pub(super) fn read<'n>(document: &Cursor<'n>, findings: &mut Findings) -> Option<Document<'n>> {
    let fields = document.fields(findings)?;
    read_api_version(&fields, findings);
    let kind = read_kind(&fields, findings)?;
    fields.refuse_unknown(&["apiVersion", "kind", "metadata", "spec"], findings);
    Some(Document { kind, fields })
}

fn read_api_version(fields: &Fields<'_>, findings: &mut Findings) {
    let code = ToolErrorCode::ConfigApiVersion;
    let Some(at) = fields.get("apiVersion") else {
        findings.error(code, &fields.at, "'apiVersion' is missing");
        return;
    };
    match at.text(findings) {
        None | Some(API_VERSION) => {}
        Some(old) if old.ends_with("/v1alpha1") => {
            let old = text::shorten(old, QUOTED_MAX);
            findings.error(code, &at, format!("apiVersion '{old}' was removed in v2"));
        }
        Some(other) => {
            let other = text::shorten(other, QUOTED_MAX);
            findings.error(code, &at, format!("unknown apiVersion '{other}'"));
        }
    }
}

fn read_kind(fields: &Fields<'_>, findings: &mut Findings) -> Option<Kind> {
    let at = fields.required("kind", findings)?;
    let kind = at.text(findings)?;
    match kind {
        "Tool" => return Some(Kind::Tool),
        "Agent" => return Some(Kind::Agent),
        _ => {}
    }
    let place = findings.place(&at);
    if KINDS_OF_OTHERS.contains(&kind) {
        let message = format!("kind {kind} is ignored: toolhost reads Tool and Agent");
        let note = Diagnostic::note(ToolErrorCode::ConfigSchema, place, message);
        findings.add(note.with_help("Nothing to do: other parts of the runtime read it."));
        return None;
    }
    let message = format!("unknown kind '{}'", text::shorten(kind, QUOTED_MAX));
    let close = closest(kind, &["Tool", "Agent"]).or_else(|| closest(kind, &KINDS_OF_OTHERS));
    let help = match close {
        Some(close) => format!("Did you mean {close}?"),
        None => "Write kind: Tool or kind: Agent.".to_owned(),
    };
    findings.add(Diagnostic::error(ToolErrorCode::ConfigSchema, place, message).with_help(help));
    None
}

/// Reads `metadata`; none where it has no valid name.
pub(super) fn read_metadata(fields: &Fields<'_>, findings: &mut Findings) -> Option<Named> {
    let metadata = fields.required("metadata", findings)?.fields(findings)?;
    metadata.refuse_unknown(&["name", "labels"], findings);
    let labels = metadata
        .get("labels")
        .map(|labels| read_labels(&labels, findings))
        .unwrap_or_default();
    let at = metadata.required("name", findings)?;
    let name = at.name(ResourceName::parse, findings)?;
    Some(Named {
        metadata: ResourceMetadata { name, labels },
        place: findings.place(&at),
    })
}

fn read_labels(labels: &Cursor<'_>, findings: &mut Findings) -> BTreeMap<String, String> {
    let Some(labels) = labels.fields(findings) else {
        return BTreeMap::new();
    };
    labels
        .entries()
        .filter_map(|(key, _, value)| Some((key.to_owned(), value.text(findings)?.to_owned())))
        .collect()
}
