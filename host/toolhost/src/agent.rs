//! An agent of a loaded bundle: its tools, and what extensions add to them.

mod access_words;
pub(crate) mod tool_access;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use toolhost_contract::{ResourceName, ToolName, ToolPattern, WorkdirChanges};
use toolhost_manifest::policy::{AskRules, ChangesetGrant, Placement, Policy, ToolBudgets};
use toolhost_runtime::{debug_fields, lock};
use toolhost_sandbox::{Grants, Limits};

use crate::catalog::ToolCatalog;
use crate::catalog::callable::CallableTools;
use crate::catalog::exposure::ToolExposure;
use crate::catalog::tool_names::SEARCH;
use crate::host::HostInner;
use crate::oauth::OAuthUse;
use crate::registry::loaded_tools::LoadedTools;
use crate::registry::overlay::{CurrentOverlay, Overlay};
use crate::workspace::BundleKey;

/// What the policy grants to one tool of one agent, and its limits.
#[derive(Debug, Clone, Default)]
pub(crate) struct ToolPermit {
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    /// Whether the tool may use other agents.
    pub(crate) agents: bool,
    /// The tools that it may call; none if it may call no tool.
    pub(crate) tools: Option<Arc<[ToolPattern]>>,
    /// The OAuthApps whose tokens the host sets on the tool's requests.
    pub(crate) oauth: Arc<[OAuthUse]>,
    /// Whether the policy sets the deadline; otherwise it is the default.
    pub(crate) sets_deadline: bool,
    /// When changes of the workdir take effect.
    pub(crate) changes: WorkdirChanges,
    /// Which calls wait for consent; none if none does.
    pub(crate) ask: Option<Arc<AskRules>>,
    /// The budgets that its calls count for; none if there are none.
    pub(crate) budgets: Option<Arc<ToolBudgets>>,
    /// Where its calls run.
    pub(crate) placement: Placement,
}

impl ToolPermit {
    pub(crate) fn of(policy: &Policy, agent: &str, tool: &ResourceName) -> Self {
        let (grants, limits) = policy.resolve(agent, tool);
        let budgets = policy.budgets_of(agent, tool);
        Self {
            grants,
            limits,
            agents: policy.grants_agents(agent, tool),
            tools: policy.callable_tools(agent, tool).cloned(),
            oauth: Arc::default(),
            sets_deadline: policy.sets_deadline(agent, tool),
            changes: policy.workdir_changes(agent, tool),
            ask: policy.ask_rules(agent, tool).cloned(),
            placement: policy.placement(agent, tool),
            budgets: (!budgets.budgets.is_empty()).then(|| Arc::new(budgets)),
        }
    }
}

/// An agent and the tools that its steps start with. Cheap to clone: every clone is the same agent,
/// with the same extensions. So is the agent of this name in a later load of the same bundle, but for its
/// own tools and their grants.
///
/// ```text
/// Agent ── instance ▶ Instance ── open_turn ▶ Turn ── open_step ▶ Step ── execute ▶ ToolResult
/// ```
///
/// ```no_run
/// # fn example(host: toolhost::Host, bundle: toolhost::LoadedBundle) -> Result<(), Box<dyn std::error::Error>> {
/// let agent = bundle.agent("coder")?; // or bundle.only_agent()?
/// let tools = agent.catalog().to_openai(); // what its next step shows to the model
/// let instance = agent.instance("user-1", host.workdir("/srv/project")?);
/// # let _ = (tools, instance);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Agent(pub(crate) Arc<AgentInner>);

pub(crate) struct AgentInner {
    pub(crate) name: String,
    /// What is kept for the instances of the agent's bundle is kept under it.
    pub(crate) bundle: BundleKey,
    /// The tools of the bundle, and the protection of its files.
    pub(crate) tools: Arc<LoadedTools>,
    /// The tools that the bundle gives to the agent.
    pub(crate) catalog: ToolCatalog,
    /// The tools of which one must succeed in each turn.
    pub(crate) required: Vec<ToolName>,
    /// What extensions add.
    pub(crate) overlay: Arc<CurrentOverlay>,
    pub(crate) merged: MergedCatalog,
    pub(crate) permits: HashMap<ResourceName, Arc<ToolPermit>>,
    pub(crate) host: Arc<HostInner>,
}

/// The catalog with the tools of an overlay. Steps share it until the overlay changes, and with it what a search has read.
#[derive(Default)]
pub(crate) struct MergedCatalog(Mutex<Option<(Weak<Overlay>, ToolCatalog)>>);

impl MergedCatalog {
    fn of(&self, declared: &ToolCatalog, overlay: &Arc<Overlay>) -> ToolCatalog {
        let mut merged = lock(&self.0);
        if let Some((of, catalog)) = &*merged
            && of.as_ptr() == Arc::as_ptr(overlay)
        {
            return catalog.clone();
        }
        let items = declared.items().iter().chain(overlay.items());
        let catalog: ToolCatalog = items.cloned().collect();
        *merged = Some((Arc::downgrade(overlay), catalog.clone()));
        catalog
    }
}

debug_fields!(AgentInner, this => name: this.name);

impl AgentInner {
    /// Returns the permit of a tool. A tool that an extension added is resolved now.
    pub(crate) fn permit(&self, tool: &ResourceName) -> Arc<ToolPermit> {
        match self.permits.get(tool) {
            Some(permit) => Arc::clone(permit),
            None => Arc::new(ToolPermit::of(&self.host.policy, &self.name, tool)),
        }
    }

    /// Returns which tools a tool may call; none if it may call no tool.
    pub(crate) fn callable_by(&self, tool: &ResourceName) -> Option<CallableTools> {
        let grant = self.permit(tool).tools.clone()?;
        Some(CallableTools::new(grant, [tool.clone()].into()))
    }

    /// Returns what a model sees of a catalog.
    pub(crate) fn exposed(&self, catalog: &ToolCatalog, exposure: ToolExposure) -> ToolCatalog {
        if exposure != ToolExposure::Direct && catalog.get(SEARCH).is_none() {
            tracing::warn!(
                agent = self.name,
                "the model cannot search the tools: extend the agent with `catalog_tools`"
            );
        }
        if exposure == ToolExposure::Script && !catalog.runs_programs() {
            tracing::warn!(
                agent = self.name,
                "the model can run no programs: add the base tool `javascript` or `python`"
            );
        }
        catalog.exposed(exposure, |tool| self.callable_by(tool))
    }

    /// Returns the tools that a step starts with: the bundle's, then those that extensions registered.
    ///
    /// Spec: tool-spec-v2 §2.1(2), §12.3.
    pub(crate) fn step_catalog(&self, overlay: &Arc<Overlay>) -> ToolCatalog {
        if overlay.items().next().is_none() {
            return self.catalog.clone();
        }
        self.merged.of(&self.catalog, overlay)
    }
}

impl Agent {
    /// Name of the agent.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The tools that the agent's next step starts with.
    pub fn catalog(&self) -> ToolCatalog {
        self.0.step_catalog(&self.0.overlay.snapshot())
    }

    /// What a model sees of the tools that the agent's next step starts with: see
    /// [`TurnStart::with_exposure`](crate::TurnStart::with_exposure).
    pub fn exposed(&self, exposure: ToolExposure) -> ToolCatalog {
        self.0.exposed(&self.catalog(), exposure)
    }

    /// The tools of which at least one must succeed before a turn may end: `requiredTools` of the
    /// Agent resource.
    pub fn required_tools(&self) -> &[ToolName] {
        &self.0.required
    }

    /// Names of the agent's extensions, in the order added.
    pub fn extensions(&self) -> Vec<String> {
        let overlay = self.0.overlay.snapshot();
        let names = overlay.extensions().iter();
        names.map(ToString::to_string).collect()
    }

    /// Returns which files of its own bundle the policy lets the agent change through changesets; none if
    /// it may change none, which is the default.
    ///
    /// Spec: requirements-v1 §12.4.
    pub fn changeset_grant(&self) -> Option<&ChangesetGrant> {
        self.0.host.policy.changesets(self.name())
    }

    /// Removes an extension with its tools and middleware, from the next step on. Returns whether it
    /// was there.
    pub fn remove_extension(&self, name: &str) -> bool {
        self.0.overlay.remove(name)
    }
}
