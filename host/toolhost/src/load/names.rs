//! Finds tools whose names extensions of an earlier load have taken.

use std::sync::Arc;

use toolhost_contract::ToolErrorCode;
use toolhost_manifest::bundle::{Diagnostic, IMPLICIT_AGENT, OpenBundle, Place};

use crate::registry::ToolRegistry;
use crate::registry::agent_overlays::AgentOverlays;
use crate::registry::overlay::{CurrentOverlay, TakenName};

/// Returns the overlay of each agent of a bundle, by its name.
pub(super) fn overlays_of(
    open: &OpenBundle,
    overlays: &AgentOverlays,
) -> Vec<(String, Arc<CurrentOverlay>)> {
    let agents = open.bundle().agents().iter();
    let mut names: Vec<_> = agents
        .map(|agent| agent.metadata.name.to_string())
        .collect();
    if names.is_empty() {
        names.push(IMPLICIT_AGENT.to_owned());
    }
    let named = |name: String| {
        let overlay = overlays.of(&name);
        (name, overlay)
    };
    names.into_iter().map(named).collect()
}

/// Declares the tools of a bundle to its agents, and returns a finding for each whose name an extension
/// has.
pub(super) fn taken_names(
    open: &OpenBundle,
    registry: &Arc<ToolRegistry>,
    overlays: &[(String, Arc<CurrentOverlay>)],
) -> Vec<Diagnostic> {
    let mut findings = Vec::new();
    for (agent, overlay) in overlays {
        let taken = overlay.declare(registry).err().unwrap_or_default();
        findings.extend(taken.iter().map(|taken| finding(open, agent, taken)));
    }
    findings
}

fn finding(open: &OpenBundle, agent: &str, taken: &TakenName) -> Diagnostic {
    let TakenName { tool, extension } = taken;
    let message =
        format!("the tool name {tool} is taken by extension '{extension}' of agent {agent}");
    let place = place(open, taken).unwrap_or_else(|| Place::file(open.name()));
    Diagnostic::error(ToolErrorCode::ConfigDuplicate, place, message)
        .with_help("Rename the Tool or its export, or remove the extension.")
}

/// Returns the place of the export.
fn place(open: &OpenBundle, taken: &TakenName) -> Option<Place> {
    let name = taken.tool.resource();
    let mut tools = open.bundle().tools().iter();
    let tool = tools.find(|tool| tool.metadata.name == *name)?;
    let mut exports = tool.spec.exports.iter();
    let index = exports.position(|export| export.name == *taken.tool.export())?;
    open.bundle().places(name)?.exports.get(index).cloned()
}
