//! What the component of a tool can reach, from its imports and the policy.

use toolhost_contract::{Grants, HttpGrant, ToolName, WorkdirAccess};

use crate::agent::Agent;
use crate::registry::{CatalogTool, RegisteredTool, Runs};

/// What a tool of an agent can reach: what its component imports, as far as the policy grants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolAccess {
    /// Whether it can read files of the workdir.
    pub files: bool,
    /// Whether it can change files of the workdir.
    pub writes_files: bool,
    /// Whether it can send HTTP requests.
    pub network: bool,
    /// Whether it can send HTTP requests with methods other than `GET` and `HEAD`.
    pub changes_servers: bool,
    /// Whether it can send requests to other agents.
    pub agents: bool,
    /// Whether it can call other tools.
    pub tools: bool,
}

/// Whether a component with these imports uses files.
pub(crate) fn uses_files(imports: &[String]) -> bool {
    imports
        .iter()
        .any(|name| name.starts_with("wasi:filesystem/types@"))
}

impl ToolAccess {
    /// `asks_agents` and `calls_tools` are whether the policy grants requests to other agents, and calls of other tools.
    pub(crate) fn of(
        imports: &[String],
        grants: &Grants,
        (asks_agents, calls_tools): (bool, bool),
    ) -> Self {
        let imported = |prefix: &str| imports.iter().any(|name| name.starts_with(prefix));
        let files = uses_files(imports);
        let http = grants.http.as_deref();
        let http = http.filter(|_| imported("wasi:http/outgoing-handler@"));
        let only_reads = |http: &HttpGrant| http.allow.iter().all(|rule| rule.allows_only_reads());
        Self {
            files,
            writes_files: files && grants.workdir == WorkdirAccess::ReadWrite,
            network: http.is_some(),
            changes_servers: http.is_some_and(|http| !only_reads(http)),
            agents: asks_agents && imported("goondan:tool/agents@"),
            tools: calls_tools && imported("goondan:tool/tools@"),
        }
    }

    /// Whether it changes no files and no servers, sends nothing to other agents, and calls no other tools. MCP clients get it as the
    /// annotation `readOnlyHint`.
    #[must_use]
    pub fn is_read_only(self) -> bool {
        !self.writes_files && !self.changes_servers && !self.agents && !self.tools
    }
}

impl Agent {
    /// Returns what a tool of the bundle can reach; nothing for the tool `tools__search` of
    /// [`catalog_tools`](crate::catalog_tools). Returns none for another tool that the bundle does not have, as one
    /// that an extension registered is not limited.
    pub fn tool_access(&self, tool: &str) -> Option<ToolAccess> {
        let registry = self.0.tools.registry()?;
        let Some(tool) = registry.get(tool) else {
            let overlay = self.0.overlay.snapshot();
            return match overlay.get(tool)?.runs {
                Runs::Catalog {
                    tool: CatalogTool::Search,
                    ..
                } => Some(ToolAccess::of(&[], &Grants::none(), (false, false))),
                Runs::Catalog { .. } | Runs::Component(_) | Runs::Native { .. } => None,
            };
        };
        match &tool.runs {
            Runs::Component(component) => {
                let permit = self.0.permit(tool.item.name.resource());
                let imports = &component.facts().imports;
                Some(ToolAccess::of(
                    imports,
                    &permit.grants,
                    (permit.agents, permit.tools.is_some()),
                ))
            }
            Runs::Native { .. } | Runs::Catalog { .. } => None,
        }
    }

    /// Returns whether this tool can return pending results: of its own, or because its calls may wait for
    /// [consent](crate::approvals).
    pub fn tool_can_be_pending(&self, tool: &str) -> bool {
        let registry = self.0.tools.registry();
        let registered = registry.as_ref().and_then(|registry| registry.get(tool));
        registered.is_some_and(RegisteredTool::polls) || self.tool_can_wait(tool)
    }

    /// Whether calls of a tool may wait for consent.
    pub(super) fn tool_can_wait(&self, tool: &str) -> bool {
        let Ok(tool) = ToolName::parse(tool) else {
            return false;
        };
        let permit = self.0.permit(tool.resource());
        permit.ask.as_ref().is_some_and(|rules| rules.may_ask())
    }

    /// Returns whether a call of this tool would wait until its component is compiled: see
    /// [`Host::load_to_serve`](crate::Host::load_to_serve).
    pub fn tool_is_compiling(&self, tool: &str) -> bool {
        let registry = self.0.tools.registry();
        let tool = registry.as_ref().and_then(|registry| registry.get(tool));
        tool.is_some_and(|tool| tool.compiling().is_some())
    }

    /// Returns whether calls of any tool of the agent may wait for [consent](crate::approvals).
    pub fn asks(&self) -> bool {
        let catalog = self.catalog();
        let mut names = catalog.items().iter().map(|item| item.name.as_str());
        names.any(|name| self.tool_can_wait(name))
    }

    /// Returns whether any tool of the agent can return [pending results](Self::tool_can_be_pending).
    pub fn can_be_pending(&self) -> bool {
        let catalog = self.catalog();
        let mut names = catalog.items().iter().map(|item| item.name.as_str());
        names.any(|name| self.tool_can_be_pending(name))
    }
}
