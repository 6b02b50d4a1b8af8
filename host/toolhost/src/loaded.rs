//! A bundle that loaded: its agents, and the workspaces of their instances.

use std::path::PathBuf;
use std::sync::Arc;

use toolhost_sandbox::{ComponentFacts, Workdir, WorkdirError};

use crate::agent::Agent;
use crate::host::HostInner;
use crate::workspace::instance_workspace;
use toolhost_manifest::bundle::{Bundle, Diagnostic, YamlSource};
use toolhost_store::make_private;

/// Why there is no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// None of that name.
    #[error("the bundle has no agent '{name}'; it has {}", .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// The agents there are.
        known: Vec<String>,
    },
    /// More than one, and none was named.
    #[error("the bundle has several agents: {}; name one", .known.join(", "))]
    Several {
        /// The agents there are.
        known: Vec<String>,
    },
}

/// Why an instance has no workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The host was built without a state root.
    #[error("the host has no state root to keep workspaces in")]
    NoStateRoot,
    /// It cannot be made.
    #[error("the workspace {} cannot be made", .path.display())]
    Make {
        /// The path.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] WorkdirError),
}

/// A bundle whose every tool can run. Cheap to clone, immutable.
#[derive(Clone)]
pub struct LoadedBundle(pub(crate) Arc<LoadedInner>);

pub(crate) struct LoadedInner {
    pub(crate) host: Arc<HostInner>,
    pub(crate) path: PathBuf,
    pub(crate) bundle: Bundle,
    pub(crate) yaml: YamlSource,
    pub(crate) agents: Vec<Agent>,
    pub(crate) declares: Declares,
    pub(crate) components: Vec<(String, ComponentFacts)>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Whether the bundle declares its agents.
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
    /// The agent of this name.
    ///
    /// # Errors
    /// [`AgentError::Unknown`] lists those there are.
    pub fn agent(&self, name: &str) -> Result<Agent, AgentError> {
        let found = self.0.agents.iter().find(|agent| agent.name() == name);
        found.cloned().ok_or_else(|| AgentError::Unknown {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// The only agent: the one declared, or, where none is, an implicit `default` with every tool.
    ///
    /// # Errors
    /// [`AgentError::Several`] lists them.
    pub fn only_agent(&self) -> Result<Agent, AgentError> {
        match self.0.agents.as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(AgentError::Several {
                known: self.names(),
            }),
        }
    }

    /// Every agent, in the order declared.
    #[must_use]
    pub fn agents(&self) -> &[Agent] {
        &self.0.agents
    }

    /// Whether the bundle declares its agents.
    #[must_use]
    pub fn declares(&self) -> Declares {
        self.0.declares
    }

    /// What the bundle declares.
    #[must_use]
    pub fn bundle(&self) -> &Bundle {
        &self.0.bundle
    }

    /// The manifest's text, for whoever shows its lines.
    #[must_use]
    pub fn yaml(&self) -> &YamlSource {
        &self.0.yaml
    }

    /// Each Tool's name and what its component is.
    #[must_use]
    pub fn components(&self) -> &[(String, ComponentFacts)] {
        &self.0.components
    }

    /// Warnings and notes; errors would have kept it from loading.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// Opens an instance's own workspace beneath the state root, made where it is missing.
    ///
    /// Any key is fine: no two share a workspace.
    ///
    /// # Errors
    /// [`WorkspaceError`] where there is no state root, or it cannot be made.
    ///
    /// Spec: tool-spec-v2 §2.5(1).
    pub fn instance_workspace(&self, instance_key: &str) -> Result<Workdir, WorkspaceError> {
        let path = self.instance_path(instance_key)?;
        make_private(&path).map_err(|source| WorkspaceError::Make {
            path: path.clone(),
            source,
        })?;
        Ok(self.0.host.sandbox.open_own_workdir(&path)?)
    }

    /// Where an instance's own workspace is; it need not exist yet.
    ///
    /// # Errors
    /// [`WorkspaceError::NoStateRoot`].
    pub fn instance_path(&self, instance_key: &str) -> Result<PathBuf, WorkspaceError> {
        let root = self.0.host.state_root.as_ref();
        let root = root.ok_or(WorkspaceError::NoStateRoot)?;
        Ok(instance_workspace(root, &self.0.path, instance_key))
    }

    fn names(&self) -> Vec<String> {
        let names = self.0.agents.iter().map(Agent::name);
        names.map(str::to_owned).collect()
    }
}
