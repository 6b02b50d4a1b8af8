//! Makes the agents of a bundle, each with its catalog and its permits.

use std::sync::Arc;

use toolhost_contract::{AgentResource, ResourceName, ToolCatalogItem, ToolName, ToolResource};
use toolhost_manifest::bundle::{Bundle, IMPLICIT_AGENT};

use crate::agent::{Agent, AgentInner, MergedCatalog, ToolPermit};
use crate::catalog::ToolCatalog;
use crate::host::HostInner;
use crate::loaded_bundle::Declares;
use crate::oauth::{OAuthApp, granted};
use crate::registry::agent_overlays::AgentOverlays;
use crate::registry::loaded_tools::LoadedTools;
use crate::workspace::BundleKey;

/// What the agents of a bundle share.
pub(super) struct BundleParts<'a> {
    pub(super) host: &'a Arc<HostInner>,
    pub(super) bundle: &'a Bundle,
    pub(super) key: &'a BundleKey,
    pub(super) tools: Arc<LoadedTools>,
    /// All tools, in the order declared.
    pub(super) items: Vec<ToolCatalogItem>,
    pub(super) overlays: &'a AgentOverlays,
    /// The OAuthApps that the policy grants.
    pub(super) oauth_apps: &'a [Arc<OAuthApp>],
}

impl BundleParts<'_> {
    /// Makes the agents that the bundle declares, or the implicit one with all tools.
    pub(super) fn agents(&self) -> (Vec<Agent>, Declares) {
        let declared = |agent: &AgentResource| {
            let (name, spec) = (&agent.metadata.name, &agent.spec);
            self.agent(name.as_str(), &spec.tools, &spec.required_tools)
        };
        let agents: Vec<Agent> = self.bundle.agents().iter().map(declared).collect();
        if !agents.is_empty() {
            return (agents, Declares::Agents);
        }
        let tools = self.bundle.tools().iter();
        let tools: Vec<_> = tools.map(|tool| tool.metadata.name.clone()).collect();
        let implicit = self.agent(IMPLICIT_AGENT, &tools, &[]);
        (vec![implicit], Declares::OnlyTools)
    }

    fn agent(&self, name: &str, tools: &[ResourceName], required: &[ToolName]) -> Agent {
        let of = |tool: &ResourceName| -> Vec<ToolCatalogItem> {
            let own = |item: &&ToolCatalogItem| item.name.resource() == tool;
            self.items.iter().filter(own).cloned().collect()
        };
        let permit = |tool: &ToolResource| {
            let tool = &tool.metadata.name;
            let policy = &self.host.policy;
            let permit = ToolPermit {
                oauth: granted::uses(policy, self.oauth_apps, name, tool),
                ..ToolPermit::of(policy, name, tool)
            };
            (tool.clone(), Arc::new(permit))
        };
        Agent(Arc::new(AgentInner {
            name: name.to_owned(),
            bundle: self.key.clone(),
            tools: Arc::clone(&self.tools),
            catalog: tools.iter().flat_map(of).collect::<ToolCatalog>(),
            permits: self.bundle.tools().iter().map(permit).collect(),
            required: required.to_vec(),
            overlay: self.overlays.of(name),
            merged: MergedCatalog::default(),
            host: Arc::clone(self.host),
        }))
    }
}
