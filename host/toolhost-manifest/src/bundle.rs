//! The bundle: the resources of one YAML file, checked as a whole.
//!
//! Parsing is pure and finds everything at once; a bundle with one error does not load. Opening
//! reads the file, and from then on everything the bundle names is opened beneath its directory.

mod agent;
pub mod built;
pub mod component_source;
mod document;
mod guarded;
mod open;
mod read;
mod resources;
mod tool;

use std::collections::HashMap;

use toolhost_contract::{AgentResource, ResourceName, ToolResource};

pub use guarded::WriteGuard;
pub use open::{Entry, LoadError, MANIFEST, OpenBundle, SourceEntry};
pub use read::ReadError;
pub use tool::ToolPlaces;

pub use crate::diagnostic::{Diagnostic, Place, Position, Related, Severity, Span};
pub use crate::yaml::YamlSource;
use resources::Resources;

/// Name of the agent of a bundle that declares none.
pub const IMPLICIT_AGENT: &str = "default";

/// The resources of a bundle, in the order declared; every rule of the specification holds.
///
/// ```
/// use toolhost_manifest::{Bundle, YamlSource};
/// let source = YamlSource::new("goondan.yaml", "
/// apiVersion: goondan.ai/v1
/// kind: Tool
/// metadata: {name: text}
/// spec: {entry: ./text.wasm, exports: [{name: upper}]}
/// ");
/// let bundle = Bundle::parse(&source).expect("every rule holds");
/// assert_eq!(bundle.tools()[0].metadata.name.as_str(), "text");
/// ```
///
/// Spec: tool-spec-v2 §4, §15.
#[derive(Debug, Clone)]
pub struct Bundle {
    tools: Vec<ToolResource>,
    agents: Vec<AgentResource>,
    places: HashMap<ResourceName, ToolPlaces>,
    remarks: Vec<Diagnostic>,
}

impl Bundle {
    /// Parses a bundle.
    ///
    /// # Errors
    /// Every finding at once, remarks among them, in the order of the file, where at least one is an
    /// error.
    pub fn parse(source: &YamlSource) -> Result<Self, Vec<Diagnostic>> {
        let Resources {
            tools,
            agents,
            findings,
        } = resources::read(source);
        if findings.iter().any(Diagnostic::is_error) {
            return Err(findings);
        }
        let named = tools
            .iter()
            .map(|(tool, places)| (tool.metadata.name.clone(), places.clone()));
        Ok(Self {
            places: named.collect(),
            tools: tools.into_iter().map(|(tool, _)| tool).collect(),
            agents,
            remarks: findings,
        })
    }

    /// The Tools, in the order declared; at least one.
    #[must_use]
    pub fn tools(&self) -> &[ToolResource] {
        &self.tools
    }

    /// The Agents, in the order declared.
    #[must_use]
    pub fn agents(&self) -> &[AgentResource] {
        &self.agents
    }

    /// Notes and warnings.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.remarks
    }

    /// Where the parts of a Tool stand.
    #[must_use]
    pub fn places(&self, tool: &ResourceName) -> Option<&ToolPlaces> {
        self.places.get(tool)
    }
}

#[cfg(test)]
mod tests;
