//! What calls need of their host and their agent.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use toolhost_contract::{Locale, ResourceName, ToolName};
use toolhost_sandbox::Sandbox;

use super::pending_port::PendingPort;
use super::permit::Permit;
use super::workdir::WorkdirProvider;
use super::write_protection::WriteProtection;
use crate::catalog::ToolCatalog;
use crate::registry::ToolRegistry;
use crate::registry::overlay::{CurrentOverlay, Overlay};
use toolhost_contract::Redactor;
use toolhost_manifest::bundle::WriteGuard;
use toolhost_manifest::policy::{CredentialProvider, Policy};

/// What calls need of their host.
pub(crate) struct HostScope {
    pub(crate) sandbox: Sandbox,
    pub(crate) policy: Arc<Policy>,
    pub(crate) credentials: Arc<dyn CredentialProvider>,
    /// Removes the policy's secrets, and those that calls got.
    pub(crate) redactor: Redactor,
    pub(crate) protection: WriteProtection,
    pub(crate) pending: Arc<dyn PendingPort>,
    pub(crate) workdirs: Arc<dyn WorkdirProvider>,
}

/// What calls need of their agent.
pub(crate) struct AgentScope {
    pub(crate) name: String,
    /// The manifest of the agent's bundle.
    pub(crate) bundle: PathBuf,
    pub(crate) registry: Arc<ToolRegistry>,
    /// The tools that the bundle gives to the agent.
    pub(crate) catalog: ToolCatalog,
    /// The tools of which one must succeed in each turn.
    pub(crate) required: Vec<ToolName>,
    /// What extensions add.
    pub(crate) overlay: CurrentOverlay,
    pub(crate) permits: HashMap<ResourceName, Permit>,
    pub(crate) host: Arc<HostScope>,
    /// Protects the bundle's files while the agent is alive.
    pub(crate) _guard: Arc<WriteGuard>,
    pub(crate) locale: Locale,
    pub(crate) registry_calls: RegistryCalls,
}

/// Whether tools outside the step's catalog may be called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegistryCalls {
    /// They are refused.
    Refused,
    /// The policy allows them; each call is an audit event.
    Allowed,
}

impl std::fmt::Debug for AgentScope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentScope")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl AgentScope {
    /// Returns what the policy gives to a tool. A tool that an extension added is resolved now.
    pub(crate) fn permit(&self, tool: &ResourceName) -> Permit {
        match self.permits.get(tool) {
            Some(permit) => permit.clone(),
            None => Permit::of(&self.host.policy, &self.name, tool),
        }
    }

    /// Returns the tools that a step starts with: the bundle's, then those that extensions registered.
    ///
    /// Spec: tool-spec-v2 §2.1(2), §12.3.
    pub(crate) fn step_catalog(&self, overlay: &Overlay) -> ToolCatalog {
        let mut dynamic = overlay.items().peekable();
        if dynamic.peek().is_none() {
            return self.catalog.clone();
        }
        let declared = self.catalog.items().iter();
        declared.chain(dynamic).cloned().collect()
    }
}
