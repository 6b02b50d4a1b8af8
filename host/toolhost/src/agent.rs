//! An agent of a loaded bundle, and its steps.

use std::collections::HashMap;
use std::sync::Arc;

use toolhost_contract::{Locale, ResourceName, ToolCall, ToolResult};
use toolhost_sandbox::{Grants, Limits, WriteProtected};

use crate::bundle::Guarded;
use crate::catalog::ToolCatalog;
use crate::context::CallContext;
use crate::executor;
use crate::host::HostInner;
use crate::registry::{RegisteredTool, ToolRegistry};

/// What the policy gives to one tool of one agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Permit {
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
}

/// An agent and the tools its steps start with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Agent(pub(crate) Arc<AgentInner>);

pub(crate) struct AgentInner {
    pub(crate) name: String,
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) catalog: ToolCatalog,
    pub(crate) permits: HashMap<ResourceName, Permit>,
    /// For a tool of which nothing is known: nothing granted, default limits.
    pub(crate) no_permit: Permit,
    pub(crate) host: Arc<HostInner>,
    /// Kept from guests while the agent lives.
    pub(crate) _guarded: Arc<Guarded>,
    pub(crate) locale: Locale,
    pub(crate) registry_calls: RegistryCalls,
}

impl std::fmt::Debug for AgentInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentInner")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

/// Whether calls outside the catalog are admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RegistryCalls {
    /// They are refused.
    Refused,
    /// The policy allows them; each is an audit event.
    Allowed,
}

impl Agent {
    /// Name of the agent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Opens a step: a snapshot of the catalog, against which its calls are admitted, and of what is
    /// write-protected: the files of every bundle this host has loaded, as they are now.
    ///
    /// Spec: tool-spec-v2 §2.1.
    #[must_use]
    pub fn open_step(&self) -> Step {
        Step(Scope {
            catalog: self.0.catalog.clone(),
            protected: self.0.host.protected(),
            agent: Arc::clone(&self.0),
        })
    }
}

/// One step of an agent: what a model is shown, and what it may call.
#[derive(Debug, Clone)]
pub struct Step(Scope);

/// What a call is executed in.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) catalog: ToolCatalog,
    protected: WriteProtected,
    agent: Arc<AgentInner>,
}

impl Scope {
    pub(crate) fn agent_name(&self) -> &str {
        &self.agent.name
    }

    pub(crate) fn locale(&self) -> Locale {
        self.agent.locale
    }

    pub(crate) fn allows_registry_calls(&self) -> bool {
        self.agent.registry_calls == RegistryCalls::Allowed
    }

    pub(crate) fn registry(&self) -> &ToolRegistry {
        &self.agent.registry
    }

    pub(crate) fn protected(&self) -> &WriteProtected {
        &self.protected
    }

    pub(crate) fn permit(&self, tool: &RegisteredTool) -> &Permit {
        let permits = &self.agent.permits;
        permits
            .get(tool.item.name.resource())
            .unwrap_or(&self.agent.no_permit)
    }
}

impl Step {
    /// What the model is shown in this step.
    #[must_use]
    pub fn catalog(&self) -> &ToolCatalog {
        &self.0.catalog
    }

    /// Executes a call. Whatever happens, the answer is a [`ToolResult`].
    ///
    /// Runs where it is awaited, on any executor. Calls of one step may run at the same time.
    /// Dropping the future stops the guest and gives back what it held.
    ///
    /// Spec: tool-spec-v2 §8, §9, §10.
    pub async fn execute(&self, call: ToolCall, context: &CallContext) -> ToolResult {
        executor::execute(&self.0, call, context).await
    }
}
