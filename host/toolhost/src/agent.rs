//! An agent of a loaded bundle: its tools, and what extensions add to them.

use std::sync::Arc;

use toolhost_contract::ToolName;

use crate::call::agent_scope::AgentScope;
use crate::catalog::ToolCatalog;
use crate::host::HostInner;

/// An agent and the tools that its steps start with. Cheap to clone: every clone is the same agent,
/// with the same extensions.
///
/// ```text
/// Agent ── instance ▶ Instance ── open_turn ▶ Turn ── open_step ▶ Step ── execute ▶ ToolResult
/// ```
#[derive(Debug, Clone)]
pub struct Agent {
    pub(crate) scope: Arc<AgentScope>,
    pub(crate) host: Arc<HostInner>,
}

impl Agent {
    /// Name of the agent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.scope.name
    }

    /// The tools that the agent's next step starts with.
    #[must_use]
    pub fn catalog(&self) -> ToolCatalog {
        self.scope.step_catalog(&self.scope.overlay.snapshot())
    }

    /// The tools of which at least one must succeed before a turn may end: `requiredTools` of the
    /// Agent resource.
    #[must_use]
    pub fn required_tools(&self) -> &[ToolName] {
        &self.scope.required
    }

    /// Removes an extension with its tools and middleware, from the next step on. Returns whether it
    /// was there.
    pub fn remove_extension(&self, name: &str) -> bool {
        self.scope.overlay.remove(name)
    }
}
