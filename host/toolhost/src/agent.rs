//! An agent of a loaded bundle: its tools, and what extensions add to them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use toolhost_contract::{Locale, ResourceName, ToolName};
use toolhost_sandbox::{Grants, Limits, Workdir};

use crate::catalog::ToolCatalog;
use crate::extension::{ExtensionApi, ExtensionError};
use crate::host::HostInner;
use crate::instance::Instance;
use crate::registry::ToolRegistry;
use crate::registry::overlay::{Current, Overlay};
use toolhost_manifest::bundle::WriteGuard;
use toolhost_manifest::policy::Policy;

/// What the policy gives to one tool of one agent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Permit {
    pub(crate) grants: Grants,
    pub(crate) limits: Limits,
    /// Whether it may talk to other agents.
    pub(crate) agents: bool,
    /// Whether the operator set the deadline.
    pub(crate) deadline_said: bool,
}

impl Permit {
    pub(crate) fn of(policy: &Policy, agent: &str, tool: &ResourceName) -> Self {
        let (grants, limits) = policy.resolve(agent, tool);
        Self {
            grants,
            limits,
            agents: policy.grants_agents(agent, tool),
            deadline_said: policy.says_deadline(agent, tool),
        }
    }
}

/// An agent and the tools its steps start with. Cheap to clone: every clone is the same agent, with
/// the same extensions.
///
/// ```text
/// Agent ── instance ▶ Instance ── open_turn ▶ Turn ── open_step ▶ Step ── execute ▶ ToolResult
/// ```
#[derive(Debug, Clone)]
pub struct Agent(pub(crate) Arc<AgentInner>);

pub(crate) struct AgentInner {
    pub(crate) name: String,
    /// The bundle it is of, by its manifest.
    pub(crate) bundle: PathBuf,
    pub(crate) registry: Arc<ToolRegistry>,
    pub(crate) catalog: ToolCatalog,
    pub(crate) required: Vec<ToolName>,
    pub(crate) overlay: Current,
    pub(crate) permits: HashMap<ResourceName, Permit>,
    pub(crate) host: Arc<HostInner>,
    /// Kept from guests while the agent lives.
    pub(crate) _guarded: Arc<WriteGuard>,
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

impl AgentInner {
    /// What the policy gives to a tool; of a tool the bundle does not have it is asked now.
    pub(crate) fn permit(&self, tool: &ResourceName) -> Permit {
        match self.permits.get(tool) {
            Some(permit) => permit.clone(),
            None => Permit::of(&self.host.policy, &self.name, tool),
        }
    }

    /// What a step starts with: the bundle's tools, then those that extensions registered.
    ///
    /// Spec: tool-spec-v2 §2.1(2), §12.3.
    pub(crate) fn shown(&self, overlay: &Overlay) -> ToolCatalog {
        let mut dynamic = overlay.items().peekable();
        if dynamic.peek().is_none() {
            return self.catalog.clone();
        }
        let declared = self.catalog.items().iter();
        declared.chain(dynamic).cloned().collect()
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

/// Removes an extension whose registration failed, or panicked.
struct Unfinished<'a>(Option<(&'a Agent, &'a str)>);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if let Some((agent, name)) = self.0 {
            agent.remove_extension(name);
        }
    }
}

impl Agent {
    /// Name of the agent.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The tools that its next step starts with.
    #[must_use]
    pub fn catalog(&self) -> ToolCatalog {
        self.0.shown(&self.0.overlay.snapshot())
    }

    /// The tools of which at least one must have succeeded before a turn may end; `requiredTools`
    /// of the Agent resource.
    #[must_use]
    pub fn required_tools(&self) -> &[ToolName] {
        &self.0.required
    }

    /// An instance of the agent: whoever has the same key shares its state and pending results.
    ///
    /// `workdir` becomes the guests' `/`: one from [`Host::workdir`](crate::Host::workdir) or
    /// [`LoadedBundle::instance_workspace`](crate::LoadedBundle::instance_workspace). Where the host
    /// has a state root, the instance's events are logged in its directory there, whatever its
    /// workdir is.
    #[must_use]
    pub fn instance(&self, key: impl Into<String>, workdir: Workdir) -> Instance {
        Instance::new(self.clone(), key.into(), workdir)
    }

    /// Adds an extension, which registers tools and middleware. Where it fails, nothing of it stays.
    ///
    /// # Errors
    /// [`ExtensionError`] where the name is taken, or of the extension's own.
    ///
    /// Spec: tool-spec-v2 §8.4, §12.
    pub fn extend(
        &self,
        name: &str,
        register: impl FnOnce(&ExtensionApi) -> Result<(), ExtensionError>,
    ) -> Result<(), ExtensionError> {
        let entered: Arc<str> = name.into();
        self.0.overlay.change(|overlay| {
            if overlay.enter(&entered) {
                return Ok(());
            }
            Err(ExtensionError::Registered {
                agent: self.0.name.clone(),
                extension: name.to_owned(),
            })
        })?;
        let mut unfinished = Unfinished(Some((self, name)));
        register(&ExtensionApi::new(entered, self))?;
        unfinished.0 = None;
        Ok(())
    }

    /// Removes an extension with its tools and middleware, from the next step on; says whether it
    /// was there.
    pub fn remove_extension(&self, name: &str) -> bool {
        let removed: Result<bool, std::convert::Infallible> =
            self.0.overlay.change(|overlay| Ok(overlay.leave(name)));
        removed.unwrap_or(false)
    }
}
