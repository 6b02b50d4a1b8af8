//! Bundles: the resources of a YAML file, and of those that it includes.
//!
//! Parsing does no I/O, and returns all findings at once. A bundle with an error is not loaded. Opening
//! reads the files; all files that the bundle names are opened beneath its directory.

mod agent;
pub mod built;
mod cases;
pub mod described;
mod document;
mod guarded;
pub mod host_files;
mod kind;
mod manifests;
mod mcp_server;
mod oauth_app;
mod open;
mod other_file;
pub mod package;
mod reference;
mod resources;
mod section;
mod shipped;
mod tool;

use std::path::PathBuf;

use toolhost_contract::{
    AgentResource, McpServerResource, OAuthAppResource, ResourceName, ToolResource,
};

pub use guarded::WriteGuard;
pub use manifests::MANIFEST;
pub use open::{Entry, LoadError, OpenBundle, SourceEntry};
pub use other_file::{CORE_MODULE_HELP, OtherFile};
pub use package::{PackageOrigin, PackageReference};
pub use shipped::{NoShippedBundles, ShippedBundles};
pub use tool::ToolPlaces;
pub use toolhost_files::{ChangedFiles, ReadError};

pub use crate::diagnostic::{Diagnostic, Place, Position, Related, Severity, Span};
pub use crate::yaml::YamlSource;
use manifests::{Manifest, NamedFiles, NoFiles};
use resources::Resources;

/// The name of the agent of a bundle without Agents.
pub const IMPLICIT_AGENT: &str = "default";

/// The valid resources of a bundle, in the order declared.
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
    /// The places of `tools`, in the same order.
    places: Vec<ToolPlaces>,
    mcp_servers: Vec<(McpServerResource, Place)>,
    oauth_apps: Vec<(OAuthAppResource, Place)>,
    remarks: Vec<Diagnostic>,
}

impl Bundle {
    /// Parses a bundle that includes no others: [`Bundle::open`] reads those.
    ///
    /// # Errors
    /// All findings in the order of the file, with warnings and notes, if at least one is an error.
    pub fn parse(source: &YamlSource) -> Result<Self, Vec<Diagnostic>> {
        let manifest = Manifest {
            path: PathBuf::from(MANIFEST),
            yaml: source.clone(),
            hides_folder: false,
        };
        Self::of(manifest, &mut NoFiles)
    }

    /// Parses a manifest, and those that it includes.
    fn of(manifest: Manifest, files: &mut dyn NamedFiles) -> Result<Self, Vec<Diagnostic>> {
        let Resources {
            tools,
            agents,
            mcp_servers,
            oauth_apps,
            findings,
        } = resources::read(manifest, files);
        if findings.iter().any(Diagnostic::is_error) {
            return Err(findings);
        }
        let (tools, places) = tools.into_iter().unzip();
        Ok(Self {
            tools,
            agents,
            places,
            mcp_servers,
            oauth_apps,
            remarks: findings,
        })
    }

    /// Returns the Tools, in the order declared; at least one, unless there are McpServers.
    pub fn tools(&self) -> &[ToolResource] {
        &self.tools
    }

    /// Returns the Agents, in the order declared.
    pub fn agents(&self) -> &[AgentResource] {
        &self.agents
    }

    /// Returns the McpServers, in the order declared, each with the place of its name.
    pub fn mcp_servers(&self) -> &[(McpServerResource, Place)] {
        &self.mcp_servers
    }

    /// Returns the OAuthApps, in the order declared, each with the place of its name.
    pub fn oauth_apps(&self) -> &[(OAuthAppResource, Place)] {
        &self.oauth_apps
    }

    /// Returns the warnings and notes.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.remarks
    }

    /// Returns the places of the parts of a Tool.
    pub fn places(&self, tool: &ResourceName) -> Option<&ToolPlaces> {
        let mut tools = self.tools.iter().zip(&self.places);
        let (_, places) = tools.find(|(resource, _)| resource.metadata.name == *tool)?;
        Some(places)
    }
}

#[cfg(test)]
mod tests;
