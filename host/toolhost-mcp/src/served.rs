//! The agent whose tools are served, and the instances of its clients.

use std::sync::Arc;

use toolhost::{
    Agent, AgentError, BundleChanges, Instance, LiveBundle, LoadedBundle, Workdir, WorkspaceError,
};

/// The agent whose tools a server serves. Each request gets an instance by its key.
///
/// By default every key has a workspace of its own beneath the host's state root, as
/// [`LoadedBundle::instance_workspace`](toolhost::LoadedBundle::instance_workspace) opens it: two keys never
/// share one. With [`ServedAgent::only_workdir`] one key is served.
#[derive(Debug, Clone)]
pub struct ServedAgent {
    bundle: LiveBundle,
    agent: Option<String>,
    only: Option<(Arc<str>, Workdir)>,
}

/// Why a request gets no instance.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// One instance is served, and the request names another one.
    #[error("this server has no instance '{key}'")]
    Unknown {
        /// Key of the request.
        key: String,
    },
    /// The bundle has no such agent any more.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The workspace of the instance cannot be opened.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

impl ServedAgent {
    /// Serves the only agent of a bundle.
    #[must_use]
    pub fn new(bundle: LiveBundle) -> Self {
        Self {
            bundle,
            agent: None,
            only: None,
        }
    }

    /// Serves the agent of this name.
    #[must_use]
    pub fn agent(self, name: impl Into<String>) -> Self {
        Self {
            agent: Some(name.into()),
            ..self
        }
    }

    /// Serves one instance, in this workdir. Requests of other keys are refused.
    #[must_use]
    pub fn only_workdir(self, key: impl Into<Arc<str>>, workdir: Workdir) -> Self {
        Self {
            only: Some((key.into(), workdir)),
            ..self
        }
    }

    /// Returns the instance of a request, with the tools as they are now.
    pub(crate) fn instance(&self, key: &str) -> Result<Instance, InstanceError> {
        let bundle = self.bundle.current();
        let workdir = match &self.only {
            Some((only, workdir)) if **only == *key => workdir.clone(),
            Some(_) => {
                return Err(InstanceError::Unknown {
                    key: key.to_owned(),
                });
            }
            None => bundle.instance_workspace(key)?,
        };
        Ok(self.agent_of(&bundle)?.instance(key, workdir))
    }

    /// Returns the agent as it is now.
    pub(crate) fn current_agent(&self) -> Result<Agent, AgentError> {
        self.agent_of(&self.bundle.current())
    }

    fn agent_of(&self, bundle: &LoadedBundle) -> Result<Agent, AgentError> {
        match &self.agent {
            Some(name) => bundle.agent(name),
            None => bundle.only_agent(),
        }
    }

    /// Returns the bundle as it is now.
    pub(crate) fn bundle(&self) -> LoadedBundle {
        self.bundle.current()
    }

    /// Reports changes of the tools from now on.
    pub(crate) fn changes(&self) -> BundleChanges {
        self.bundle.changes()
    }
}
