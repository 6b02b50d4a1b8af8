//! A loaded bundle: its agents, and the workspaces of their instances.

pub(crate) mod replay;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use toolhost_contract::{McpServerResource, ResourceName};
use toolhost_files::PrivateDir;
use toolhost_sandbox::{ComponentFacts, Workdir, WorkdirError};

use crate::agent::Agent;
use crate::host::{Host, HostInner};
use crate::oauth::{CallbackError, Granted, OAuthApp};
use crate::registry::RegisteredTool;
use crate::registry::agent_overlays::AgentOverlays;
use crate::registry::loaded_tools::LoadedTools;
use crate::workspace::BundleKey;
use toolhost_contract::suggest::closest;
use toolhost_manifest::bundle::{Bundle, Diagnostic, YamlSource};
use toolhost_manifest::lock::{Lock, ServerLock};
use toolhost_manifest::policy::McpGrant;
use toolhost_runtime::debug_fields;

/// Why a bundle has no such agent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// No agent has this name.
    #[error("the bundle has no agent '{name}'{}; it has {}", similar(.name, .known), .known.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Names of the bundle's agents.
        known: Vec<String>,
    },
    /// The bundle has several agents, and none was named.
    #[error("the bundle has several agents: {}; name one", .known.join(", "))]
    Several {
        /// Names of the bundle's agents.
        known: Vec<String>,
    },
}

/// Returns the agent that was probably meant, as part of an error: ` (did you mean 'coder'?)`.
fn similar(name: &str, names: &[String]) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let closest = closest(name, &names);
    closest.map_or_else(String::new, |agent| format!(" (did you mean '{agent}'?)"))
}

/// Why an instance has no workspace.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkspaceError {
    /// The host was built without a state root.
    #[error("the host has no state root for workspaces")]
    NoStateRoot,
    /// The directory could not be created, or one on the path to it from the state root is a link, belongs to
    /// another user or can be written by others.
    #[error("the workspace {} cannot be used", .path.display())]
    Make {
        /// Path of the workspace.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The directory of a bundle's instances could not be read.
    #[error("the instances in {} could not be read", .path.display())]
    List {
        /// The directory.
        path: PathBuf,
        /// The reason.
        #[source]
        source: std::io::Error,
    },
    /// The directory could not be opened.
    #[error(transparent)]
    Open(#[from] WorkdirError),
}

/// A bundle whose tools can all run. Cheap to clone; it never changes.
///
/// ```no_run
/// # async fn example(host: toolhost::Host) -> Result<(), Box<dyn std::error::Error>> {
/// let bundle = host.load("bundle").await?;
/// for agent in bundle.agents() {
///     println!("{}: {} tools", agent.name(), agent.catalog().items().len());
/// }
/// for warning in bundle.diagnostics() {
///     eprintln!("{warning}");
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct LoadedBundle(pub(crate) Arc<LoadedInner>);

pub(crate) struct LoadedInner {
    pub(crate) host: Arc<HostInner>,
    /// Whether a server has loaded it, which opens instances when they are asked for.
    pub(crate) is_served: bool,
    /// The path that was loaded, as the runtime gave it.
    pub(crate) source: PathBuf,
    /// What the workspaces of the instances are kept under.
    pub(crate) key: BundleKey,
    pub(crate) bundle: Bundle,
    pub(crate) sources: Vec<YamlSource>,
    pub(crate) agents: Vec<Agent>,
    pub(crate) tools: Arc<LoadedTools>,
    pub(crate) declares: Declares,
    pub(crate) components: Vec<(String, ComponentFacts)>,
    pub(crate) lock: Lock,
    pub(crate) mcp_servers: Vec<GrantedMcpServer>,
    pub(crate) oauth_apps: Vec<Arc<OAuthApp>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What extensions add to the agents.
    pub(crate) overlays: Arc<AgentOverlays>,
}

/// An MCP server of a bundle that the policy grants.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct GrantedMcpServer {
    /// The resource of the bundle.
    pub resource: McpServerResource,
    /// How the server is reached: the policy's command or URL, which the resource's equals.
    pub grant: McpGrant,
    /// The agents that have its tools.
    pub agents: Vec<String>,
    /// What the bundle's lock has of it. None without a lock: nothing is compared.
    pub lock: Option<ServerLock>,
}

/// Whether a bundle declares agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Declares {
    /// It has Agent resources.
    Agents,
    /// It has none: one implicit agent `default` has all its tools.
    OnlyTools,
}

debug_fields!(LoadedBundle, this => path: this.0.key.path(), agents: this.0.agents);

impl LoadedBundle {
    /// Returns the agent of this name.
    ///
    /// # Errors
    /// [`AgentError::Unknown`] lists the bundle's agents.
    pub fn agent(&self, name: &str) -> Result<Agent, AgentError> {
        let found = self.0.agents.iter().find(|agent| agent.name() == name);
        found.cloned().ok_or_else(|| AgentError::Unknown {
            name: name.to_owned(),
            known: self.names(),
        })
    }

    /// Returns the only agent: the one declared, or the implicit `default` with every tool.
    ///
    /// # Errors
    /// [`AgentError::Several`] lists the bundle's agents.
    pub fn only_agent(&self) -> Result<Agent, AgentError> {
        match self.0.agents.as_slice() {
            [only] => Ok(only.clone()),
            _ => Err(AgentError::Several {
                known: self.names(),
            }),
        }
    }

    /// All agents, in the order declared.
    pub fn agents(&self) -> &[Agent] {
        &self.0.agents
    }

    /// Returns whether the bundle declares agents.
    pub fn declares(&self) -> Declares {
        self.0.declares
    }

    /// The host that loaded the bundle.
    pub fn host(&self) -> Host {
        Host(Arc::clone(&self.0.host))
    }

    /// The path that was loaded, as it was given to [`Host::load`].
    pub fn source(&self) -> &Path {
        &self.0.source
    }

    /// The identity of the bundle: what is kept for its instances is kept under this key. It is made of the policy's
    /// [`workspace`](toolhost_manifest::Policy::workspace), or else of the path of the manifest when the bundle was
    /// first loaded.
    pub fn key(&self) -> Cow<'_, str> {
        self.0.key.text()
    }

    /// The bundle's resources.
    pub fn bundle(&self) -> &Bundle {
        &self.0.bundle
    }

    /// Returns the texts of the manifest and of those that it includes, for displaying their lines. The
    /// manifest is the first.
    pub fn sources(&self) -> &[YamlSource] {
        &self.0.sources
    }

    /// Returns the lock of the Tools and of the grants as they are now. What MCP servers say is not in it: their tools
    /// are known when they run.
    pub fn lock(&self) -> &Lock {
        &self.0.lock
    }

    /// The name of each Tool, and the facts of its component.
    pub fn components(&self) -> &[(String, ComponentFacts)] {
        &self.0.components
    }

    /// Returns the Tools whose components are not compiled yet: see [`Host::load_to_serve`].
    pub fn compiling(&self) -> BTreeSet<ResourceName> {
        let registry = self.0.tools.registry();
        let tools = registry.iter().flat_map(|registry| registry.values());
        let compiling = tools.filter(|tool| tool.compiling().is_some());
        compiling
            .map(|tool| tool.item.name.resource().clone())
            .collect()
    }

    /// Waits until every component was compiled, or refused.
    pub async fn compiled(&self) {
        let registry = self.0.tools.registry();
        let tools = registry.iter().flat_map(|registry| registry.values());
        let compiling: Vec<_> = tools.filter_map(RegisteredTool::compiling).collect();
        for component in compiling {
            // A call of the component gets the error.
            let _can_be_called = component.compiled().await.is_ok();
        }
    }

    /// The MCP servers that the policy grants, in the order declared. Loading starts none of them:
    /// `toolhost-mcp-client` does.
    pub fn mcp_servers(&self) -> &[GrantedMcpServer] {
        &self.0.mcp_servers
    }

    /// The OAuthApps that the policy grants, in the order declared.
    pub fn oauth_apps(&self) -> impl Iterator<Item = &OAuthApp> {
        self.0.oauth_apps.iter().map(|app| &**app)
    }

    /// Completes an authorization: call this where the redirect URL of an OAuthApp is served, with the query of
    /// the request, which is what follows `?`. The grant is stored, and the event `auth.granted` is sent.
    ///
    /// # Errors
    /// [`CallbackError`]: nothing was stored. [`CallbackError::UnknownSession`] also if the host was built
    /// without [`HostBuilder::oauth`](crate::HostBuilder::oauth).
    ///
    /// Spec: requirements-v1 §12.6.4.
    pub async fn oauth_callback(&self, query: &str) -> Result<Granted, CallbackError> {
        let apps: Vec<OAuthApp> = self.oauth_apps().cloned().collect();
        match &self.0.host.oauth {
            Some(oauth) => oauth.callback(query, &apps).await,
            None => Err(CallbackError::UnknownSession),
        }
    }

    /// Warnings and notes. An error would have failed the load.
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.0.diagnostics
    }

    /// Opens an instance's own workspace beneath the state root, and creates it if missing. Any key is
    /// valid; no two keys share a workspace. Makes a few system calls on the caller's thread: use
    /// `spawn_blocking` if the state root is on a network file system.
    ///
    /// # Errors
    /// [`WorkspaceError`] if there is no state root, or the workspace cannot be created or opened.
    ///
    /// Spec: tool-spec-v2 §2.5(1).
    pub fn instance_workspace(&self, instance_key: &str) -> Result<Workdir, WorkspaceError> {
        let root = self.0.host.state_root.as_ref();
        let root = root.ok_or(WorkspaceError::NoStateRoot)?;
        let path = self.instance_path(instance_key)?;
        match PrivateDir::make_beneath(root, &path) {
            Ok(_) => Ok(self.0.host.sandbox.open_own_workdir(&path)?),
            Err(source) => Err(WorkspaceError::Make { path, source }),
        }
    }

    /// Returns the path of an instance's own workspace, which may not exist yet.
    ///
    /// # Errors
    /// [`WorkspaceError::NoStateRoot`].
    pub fn instance_path(&self, instance_key: &str) -> Result<PathBuf, WorkspaceError> {
        let root = self.0.host.state_root.as_ref();
        let root = root.ok_or(WorkspaceError::NoStateRoot)?;
        Ok(self.0.key.workspace(root, instance_key))
    }

    /// Counts the bundle's instances that have a directory beneath the state root.
    ///
    /// # Errors
    /// [`WorkspaceError`] if there is no state root, or the directory of instances cannot be read.
    pub fn instance_count(&self) -> Result<usize, WorkspaceError> {
        let root = self.0.host.state_root.as_ref();
        let root = root.ok_or(WorkspaceError::NoStateRoot)?;
        let path = self.0.key.instances(root);
        match std::fs::read_dir(&path) {
            Ok(entries) => Ok(entries.count()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
            Err(source) => Err(WorkspaceError::List { path, source }),
        }
    }

    /// Unloads this load of the bundle: refuses new turns, steps and calls with `E_TOOL_UNLOADED`, waits for
    /// the calls that run, and then frees the compiled code of the components and releases the protection
    /// of the files, although agents, instances, turns and steps of the load may still be there.
    ///
    /// - Without this, all of it is freed when the last agent, instance, turn or call of the load is dropped.
    /// - Calls end at their deadline at the latest. To end them at once, cancel the
    ///   [tokens](crate::TurnStart::with_cancellation) of their turns; cancel calls that were submitted.
    ///   Middleware of calls has no deadline: a layer that waits for an approval is waited for.
    /// - Other loads of the bundle, such as a [reload](Self::reload), are not affected. A component that they
    ///   use too stays in memory.
    /// - A component's own pending call cannot be polled meanwhile; its handle stays valid for a later load.
    /// - MCP servers that `toolhost-mcp-client` started for this load are stopped.
    /// - Extensions stay with the agents, by name. Their tools cannot be called through this load.
    ///
    /// If the future is dropped, new turns and calls stay refused; call this again to wait. A tool must not
    /// await this in a call of its own bundle, because the call would wait for itself.
    ///
    /// ```no_run
    /// # async fn example(host: toolhost::Host) -> Result<(), Box<dyn std::error::Error>> {
    /// let bundle = host.load("bundle").await?;
    /// let agent = bundle.only_agent()?; // may be held somewhere
    /// bundle.unload().await;
    /// let workdir = host.workdir("/srv/project")?;
    /// let refused = agent.instance("user-1", workdir).open_turn("turn-1").await;
    /// assert!(refused.is_err()); // E_TOOL_UNLOADED
    /// # Ok(())
    /// # }
    /// ```
    pub async fn unload(&self) {
        self.0.tools.unload().await;
    }

    /// Returns a token that is cancelled when this load was [unloaded](Self::unload): for what a runtime
    /// keeps beside the bundle, such as processes of its own. Cancelling it has no effect on the bundle.
    pub fn unloaded(&self) -> CancellationToken {
        self.0.tools.unloaded().child_token()
    }

    fn names(&self) -> Vec<String> {
        let names = self.0.agents.iter().map(Agent::name);
        names.map(str::to_owned).collect()
    }
}
