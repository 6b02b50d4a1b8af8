//! The agent whose tools are served, and the instances of its clients.

use std::sync::Arc;

use toolhost::{Agent, AgentError, BundleChanges, Instance, LiveBundle, LoadedBundle, Workdir};

use crate::instance_error::InstanceError;
use crate::workspaces::Workspaces;

/// Instances of a bundle beyond which no new one is made, by default.
const INSTANCES_MAX: usize = 10_000;

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
    max_instances: usize,
    workspaces: Arc<Workspaces>,
}

impl ServedAgent {
    /// Serves the only agent of a bundle.
    pub fn new(bundle: LiveBundle) -> Self {
        Self {
            bundle,
            agent: None,
            only: None,
            max_instances: INSTANCES_MAX,
            workspaces: Arc::default(),
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

    /// Sets the number of the bundle's instances beneath the state root from which on no new one is made.
    /// Clients that may name their instance would otherwise make directories without end. Default: 10,000.
    #[must_use]
    pub fn max_instances(self, max: usize) -> Self {
        Self {
            max_instances: max,
            ..self
        }
    }

    /// Returns the agent, with the tools as they are now.
    pub(crate) fn current_agent(&self) -> Result<Agent, AgentError> {
        self.named_in(&self.bundle.current())
    }

    /// Returns the agent for requests of an instance, with the tools as they are now.
    pub(crate) fn agent_for(&self, key: &str) -> Result<Agent, InstanceError> {
        self.agent_of(&self.bundle.current(), key)
    }

    /// Returns the instance of a request, with the tools as they are now.
    pub(crate) async fn instance(&self, key: &str) -> Result<Instance, InstanceError> {
        let bundle = self.bundle.current();
        let agent = self.agent_of(&bundle, key)?;
        let workdir = match &self.only {
            Some((_, workdir)) => workdir.clone(),
            None => {
                let opening = self.workspaces.open(&bundle, key, self.max_instances);
                opening.await.inspect_err(|error| {
                    let error: &(dyn std::error::Error + 'static) = error;
                    tracing::warn!(key, error, "an instance cannot be opened");
                })?
            }
        };
        Ok(agent.instance(key, workdir))
    }

    fn agent_of(&self, bundle: &LoadedBundle, key: &str) -> Result<Agent, InstanceError> {
        if self.only.as_ref().is_some_and(|(only, _)| **only != *key) {
            let key = key.to_owned();
            return Err(InstanceError::Unknown { key });
        }
        Ok(self.named_in(bundle)?)
    }

    fn named_in(&self, bundle: &LoadedBundle) -> Result<Agent, AgentError> {
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
