//! A loaded bundle: its agents, and the workspaces of their instances.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhost_contract::McpServerResource;
use toolhost_sandbox::{ComponentFacts, Workdir, WorkdirError};
use toolhost_store::make_private;

use crate::agent::Agent;
use crate::host::{Host, HostInner};
use crate::registry::agent_overlays::AgentOverlays;
use crate::workspace::{instance_workspace, instances_directory};
use toolhost_manifest::bundle::{Bundle, Diagnostic, YamlSource};
use toolhost_manifest::policy::McpGrant;

/// Why a bundle has no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No agent has this name.
    #[error("the bundle has no agent '{name}'; it has {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Names of the bundle's agents.
        known: Vec<String>,
    },
    /// The bundle has several agents, and none was named.
    #[error("the bundle has several agents: {}; name one", .known.join(", "))]
    Several {
        /// Names of the bundle's agents.
        known: Vec<String>,
    },
}

/// Why an instance has no workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The host was built without a state root.
    #[error("the host has no state root for workspaces")]
    NoStateRoot,
    /// The directory could not be created.
    #[error("the workspace {} could not be created", .path.display())]
    Make {
        /// Path of the workspace.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The directory of a bundle's instances could not be read.
    #[error("the instances in {} could not be read", .path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// The directory could not be opened.
    #[error(transparent)]
    Open(#[from] WorkdirError),
}

/// A bundle whose tools can all run. Cheap to clone; it never changes.
#[derive(Clone)]
pub struct LoadedBundle(pub(crate) Arc<LoadedInner>);

pub(crate) struct LoadedInner {
    pub(crate) host: Arc<HostInner>,
    /// The path that was loaded, as the runtime gave it.
    pub(crate) source: PathBuf,
    /// The manifest when the bundle was first loaded. It names the workspaces of the instances.
    pub(crate) path: PathBuf,
    pub(crate) bundle: Bundle,
    pub(crate) yaml: YamlSource,
    pub(crate) agents: Vec<Agent>,
    pub(crate) declares: Declares,
    pub(crate) components: Vec<(String, ComponentFacts)>,
    pub(crate) mcp_servers: Vec<GrantedMcpServer>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What extensions add to the agents.
    pub(crate) overlays: Arc<AgentOverlays>,
}

/// An MCP server of a bundle that the policy grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedMcpServer {
    /// The resource of the bundle.
    pub resource: McpServerResource,
    /// How the server is reached: the policy's command or URL, which the resource's equals.
    pub grant: McpGrant,
    /// The agents that have its tools.
    pub agents: Vec<String>,
}

/// Whether a bundle declares agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declares {
    /// It has Agent resources.
    Agents,
    /// It has none: one implicit agent `default` has all its tools.
    OnlyTools,
}

impl std::fmt::Debug for LoadedBundle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoadedBundle")
            .field("path", &self.0.path)
            .field("agents", &self.0.agents)
            .finish_non_exhaustive()
    }
}

impl LoadedBundle {
    /// Returns the agent of this name.
    ///
    /// # Errors
    /// [`AgentError::Unknown`] lists the bundle's agents.
    pub fn agent(&self, name: &str) -> Result<Agent, AgentError> {
        let found = self.0.agents.iter().find(|agent| agent.name() == name);
        found.cloned().ok_or_else(|| AgentError::Unknown {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// Returns the only agent: the one declared, or the implicit `default` with every tool.
    ///
    /// # Errors
    /// [`AgentError::Several`] lists the bundle's agents.
    pub fn only_agent(&self) -> Result<Agent, AgentError> {
        match self.0.agents.as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(AgentError::Several {
                known: self.names(),
            }),
        }
    }

    /// All agents, in the order declared.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.0.agents
    }

    /// Returns whether the bundle declares agents.
    #[must_use]
    pub fn declares(&self) -> Declares {
        self.0.declares
    }

    /// The host that loaded the bundle.
    #[must_use]
    pub fn host(&self) -> Host {
        Host(Arc::clone(&self.0.host))
    }

    /// The path that was loaded, as it was given to [`Host::load`].
    #[must_use]
    pub fn source(&self) -> &Path {
        &self.0.source
    }

    /// The bundle's resources.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.0.bundle
    }

    /// The manifest's text, for showing its lines.
    #[must_use]
    pub fn yaml(&self) -> &YamlSource {
        &self.0.yaml
    }

    /// The name of each Tool, and the facts of its component.
    #[must_use]
    pub fn components(&self) -> &[(String, ComponentFacts)] {
        &self.0.components
    }

    /// The MCP servers that the policy grants, in the order declared. Loading starts none of them:
    /// `toolhost-mcp-client` does.
    #[must_use]
    pub fn mcp_servers(&self) -> &[GrantedMcpServer] {
        &self.0.mcp_servers
    }

    /// Warnings and notes. An error would have failed the load.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// Opens an instance's own workspace beneath the state root, and creates it if missing. Any key is
    /// valid; no two keys share a workspace.
    ///
    /// # Errors
    /// [`WorkspaceError`] if there is no state root, or the workspace cannot be created or opened.
    ///
    /// Spec: tool-spec-v2 §2.5(1).
    pub fn instance_workspace(&self, instance_key: &str) -> Result<Workdir, WorkspaceError> {
        let path = self.instance_path(instance_key)?;
        match make_private(&path) {
            Ok(()) => Ok(self.0.host.sandbox.open_own_workdir(&path)?),
            Err(source) => Err(WorkspaceError::Make { path, source }),
        }
    }

    /// Returns the path of an instance's own workspace, which may not exist yet.
    ///
    /// # Errors
    /// [`WorkspaceError::NoStateRoot`].
    pub fn instance_path(&self, instance_key: &str) -> Result<PathBuf, WorkspaceError> {
        let root = self.0.host.state_root.as_ref();
        let root = root.ok_or(WorkspaceError::NoStateRoot)?;
        Ok(instance_workspace(root, &self.0.path, instance_key))
    }

    /// Counts the bundle's instances that have a directory beneath the state root.
    ///
    /// # Errors
    /// [`WorkspaceError`] if there is no state root, or the directory of instances cannot be read.
    pub fn instance_count(&self) -> Result<usize, WorkspaceError> {
        let root = self.0.host.state_root.as_ref();
        let root = root.ok_or(WorkspaceError::NoStateRoot)?;
        let path = instances_directory(root, &self.0.path);
        match std::fs::read_dir(&path) {
            Ok(entries) => Ok(entries.count()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(source) => Err(WorkspaceError::List { path, source }),
        }
    }

    fn names(&self) -> Vec<String> {
        let names = self.0.agents.iter().map(Agent::name);
        names.map(str::to_owned).collect()
    }
}
