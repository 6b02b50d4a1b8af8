//! Loads a bundle: reads and checks it, prepares its components, and assembles its agents. What reads files
//! or computes runs on the sandbox's threads.

mod agents;
mod compile_later;
mod component;
pub(crate) mod described;
pub(crate) mod inspect;
mod lock;
mod mcp_servers;
mod names;
mod register;
mod ungranted;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolhost_contract::{ResourceName, ToolErrorCode};
use toolhost_manifest::bundle::{
    Bundle, ChangedFiles, Diagnostic, LoadError, MANIFEST, OpenBundle, Place, ReadError, WriteGuard,
};
use toolhost_manifest::policy::Policy;
use toolhost_sandbox::SandboxError;

use crate::background::served;
use crate::extension::ExtensionApi;
use crate::extension::extend::extend;
use crate::host::{Host, HostInner};
use crate::loaded_bundle::{LoadedBundle, LoadedInner};
use crate::oauth::granted;
use crate::registry::agent_overlays::AgentOverlays;
use crate::registry::loaded_tools::LoadedTools;
use crate::registry::{RegisteredTool, ToolRegistry};
use crate::workers::terms::terms;
use crate::workspace::{BundleKey, WORKSPACES};
use agents::BundleParts;
use component::{Component, Components, Needed, PreparedComponent, prepare_all};
use names::{overlays_of, taken_names};
use register::{LoadedParts, register};
use ungranted::not_granted;

impl Host {
    /// Loads a bundle, whole or not at all: a YAML file, or a directory that contains `goondan.yaml`.
    ///
    /// Every component is compiled, or mapped from the sandbox's cache, and its handlers are listed.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once.
    pub async fn load(&self, path: impl AsRef<Path>) -> Result<LoadedBundle, LoadError> {
        let changes = ChangedFiles::default();
        load(&self.0, path.as_ref(), changes, None, Needed::All).await
    }

    /// Loads a bundle as [`Self::load`] does, but prepares only the components of some Tools: for a program that
    /// makes one call and ends. Names that no Tool has are ignored. The catalogs have the tools of what was prepared
    /// alone; [`LoadedBundle::reload`] prepares all.
    ///
    /// The manifest, the policy and its names, the age of each entry, and the signatures of packages are checked for
    /// the whole bundle; all its files are write-protected. Components of other Tools are read, and not compiled: their
    /// handlers, imports and differences from `toolhost.lock` are not known. So [`LoadedBundle::lock`],
    /// [`LoadedBundle::components`] and [`LoadedBundle::diagnostics`] leave them out.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once.
    pub async fn load_tools(
        &self,
        path: impl AsRef<Path>,
        tools: &[ResourceName],
    ) -> Result<LoadedBundle, LoadError> {
        let changes = ChangedFiles::default();
        load(&self.0, path.as_ref(), changes, None, Needed::Of(tools)).await
    }

    /// Loads a bundle as [`Self::load`] does, but does not wait for components to be compiled: for a program that shows
    /// its tools at once. A component that is not in the cache is compiled in the background, if the manifest has the
    /// description and the parameters of each of its exports. A call waits for its own component, which is then
    /// compiled before others. Without such calls, they are compiled in the order of the manifest.
    ///
    /// Everything that needs no compiled code is checked by the load: digests, signatures, `toolhost.lock`, limits, and
    /// the names and versions of imports and exports. What only the compiler and `describe` tell, such as that a handler
    /// is missing, is the error of each call of the component and
    /// [`LoadProgress::Failed`](crate::LoadProgress::Failed). At most 256 MiB of components wait; the load compiles
    /// others itself.
    ///
    /// What somebody [approves](crate::approvals) of the calls of its instances is done within a second as long as the bundle,
    /// or a reload of it, is there: a server need not keep an instance, and an earlier process may have made the call.
    ///
    /// [`LoadedBundle::compiling`] lists what is not compiled yet. [`LoadedBundle::reload`] waits for all.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once.
    pub async fn load_to_serve(&self, path: impl AsRef<Path>) -> Result<LoadedBundle, LoadError> {
        let changes = ChangedFiles::default();
        load(&self.0, path.as_ref(), changes, None, Needed::AllLater).await
    }

    /// Loads a bundle without its Tools, whose entries need not be there: for a program that answers clients while it builds
    /// them. [`LoadedBundle::reload`] loads all.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once.
    pub async fn load_without_tools(
        &self,
        path: impl AsRef<Path>,
    ) -> Result<LoadedBundle, LoadError> {
        let changes = ChangedFiles::default();
        load(&self.0, path.as_ref(), changes, None, Needed::Nothing).await
    }

    /// Loads a bundle again from its path, as [`LoadedBundle::reload`] does, but under the policy of this
    /// host: see [`Host::with_policy`].
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once. The bundle that was loaded before is unaffected.
    pub async fn reload(&self, bundle: &LoadedBundle) -> Result<LoadedBundle, LoadError> {
        let changes = ChangedFiles::default();
        let previous = Some(bundle.clone());
        load(&self.0, bundle.source(), changes, previous, Needed::All).await
    }
}

impl LoadedBundle {
    /// Loads the bundle again, whole or not at all, from the path that [`Host::load`] got, and returns it
    /// as another `LoadedBundle`. This one does not change: agents, instances, turns and calls that came
    /// from it continue with its tools, and its files stay protected until the last of them is dropped, or
    /// [`Self::unload`] has ended.
    ///
    /// A component whose bytes have not changed is used as it is. Others are compiled, or mapped from the
    /// sandbox's cache.
    ///
    /// These are shared by both:
    ///
    /// - The extensions of each agent, by the agent's name: what was added with
    ///   [`Agent::extend`](crate::Agent::extend) before, and what is added to either later. If the bundle
    ///   now has a tool with the name of an extension's tool, it does not load (`E_CONFIG_DUPLICATE_NAME`).
    ///   An agent with a new name has no extensions: see [`Agent::extensions`](crate::Agent::extensions).
    ///   If an agent is missing, [`Self::agent`] is an error; if it comes back, so do its extensions.
    /// - The workspaces and pending calls of instances, by agent and key, even if a link on the path now
    ///   leads elsewhere.
    ///
    /// [`LiveBundle`](crate::LiveBundle) holds the current one.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once.
    pub async fn reload(&self) -> Result<Self, LoadError> {
        self.host().reload(self).await
    }

    /// Loads the bundle as [`Self::reload`] does, but with changed files in the place of its own:
    /// whether a bundle loads can be known before its files are changed. Changes no file. Messages have the
    /// paths of the bundle.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once.
    ///
    /// Spec: requirements-v1 §12.4.
    pub async fn reload_with(&self, changes: ChangedFiles) -> Result<Self, LoadError> {
        let previous = Some(self.clone());
        load(&self.0.host, self.source(), changes, previous, Needed::All).await
    }
}

/// Loads the bundle at a path. `previous` is an earlier load of it.
async fn load(
    host: &Arc<HostInner>,
    source: &Path,
    changes: ChangedFiles,
    previous: Option<LoadedBundle>,
    needed: Needed<'_>,
) -> Result<LoadedBundle, LoadError> {
    let (path, shipped) = (source.to_owned(), Arc::clone(&host.shipped));
    let open = host
        .sandbox
        .threads()
        .compute(move || Bundle::open_with(&path, changes, &*shipped));
    let open = open.await.map_err(|error| failed(source, error.into()))??;
    let open = Arc::new(open);
    let is_served = match &previous {
        Some(previous) => previous.0.is_served,
        None => matches!(needed, Needed::AllLater | Needed::Nothing),
    };
    let earlier = previous.as_ref().map(|bundle| component::of(&bundle.0));
    let components = prepare_all(host, &open, &earlier.unwrap_or_default(), needed).await;
    let Components {
        of_tools,
        files,
        later,
        digests,
    } = components;
    let (host_of_bundle, path) = (Arc::clone(host), source.to_owned());
    let bundle_files = Arc::clone(&open);
    let assemble = move || {
        let components = (of_tools, files, digests);
        let from = (path, is_served);
        assemble(
            &host_of_bundle,
            &bundle_files,
            components,
            from,
            previous.as_ref(),
        )
    };
    let assembled = host.sandbox.threads().compute(assemble).await;
    let bundle = assembled.map_err(|error| failed(source, error.into()))??;
    later.start(host, open);
    if bundle.0.is_served {
        served::release(&bundle);
    }
    Ok(bundle)
}

/// The sandbox had no thread, or reading the bundle panicked.
fn failed(path: &Path, error: SandboxError) -> LoadError {
    LoadError::Read {
        path: path.to_owned(),
        source: ReadError::Io(io::Error::other(error)),
    }
}

/// Returns the overlays of a bundle that is loaded for the first time.
fn first_overlays(host: &HostInner) -> Arc<AgentOverlays> {
    let overlays = AgentOverlays::default();
    if let Some(log) = host.audit_log.clone() {
        let register = |api: &ExtensionApi| api.pipeline().tool_call(i32::MIN, log);
        // Nothing else has its name or is registered yet.
        let _ = extend(&overlays.initial, "", "audit-log", register);
    }
    Arc::new(overlays)
}

/// Registers the tools of a bundle and makes its agents.
fn assemble(
    host: &Arc<HostInner>,
    open: &OpenBundle,
    (of_tools, files, digests): (Vec<PreparedComponent>, Vec<PathBuf>, Option<Vec<[u8; 32]>>),
    (source, is_served): (PathBuf, bool),
    previous: Option<&LoadedBundle>,
) -> Result<LoadedBundle, LoadError> {
    let previous = previous.map(|bundle| &*bundle.0);
    let mut parts = register_tools(&host.policy, open, of_tools);
    let items = parts.tools.iter().map(|tool| tool.item.clone()).collect();
    let named = |tool: RegisteredTool| (tool.item.name.clone(), tool);
    let registry = std::mem::take(&mut parts.tools).into_iter().map(named);
    let registry: Arc<ToolRegistry> = Arc::new(registry.collect());
    let overlays = previous.map_or_else(
        || first_overlays(host),
        |bundle| Arc::clone(&bundle.overlays),
    );
    let of_agents = overlays_of(open, &overlays);
    let taken = taken_names(open, &registry, &of_agents);
    parts.diagnostics.extend(taken);
    let mut mcp_servers = mcp_servers::granted(&host.policy, open.bundle(), &mut parts.diagnostics);
    let oauth_apps = granted::granted(&host.policy, open.bundle(), &mut parts.diagnostics);
    let lock = lock::now(&host.policy, open, &parts, &mcp_servers);
    if !host.ignores_lock {
        match lock::read(&host.policy, open) {
            Ok(None) => {}
            Ok(Some(reviewed)) => {
                let differences = lock::check(&host.policy, open, &reviewed, &lock);
                parts.diagnostics.extend(differences);
                for server in &mut mcp_servers {
                    let name = &server.resource.metadata.name;
                    server.lock = Some(lock::of_server(&host.policy, &reviewed, name));
                }
            }
            Err(finding) => parts.diagnostics.add(*finding),
        }
    }
    let guard = match guard(open, &parts, files) {
        Ok(guard) => host.protection.guard(guard),
        Err(finding) => {
            parts.diagnostics.extend(finding.map(|finding| *finding));
            return Err(LoadError::Invalid {
                sources: open.sources(),
                diagnostics: parts.diagnostics.into_vec(open.name()),
            });
        }
    };
    let path = previous.map_or_else(|| manifest(&source), |bundle| bundle.key.path().to_owned());
    let key = BundleKey::new(host.policy.workspace(), path);
    take_over(host, &key)?;
    let terms = digests.map(|digests| terms(&host.policy, &key, open, &digests));
    let tools = Arc::new(LoadedTools::new(registry, guard, terms));
    let shared = BundleParts {
        host,
        bundle: open.bundle(),
        key: &key,
        tools: Arc::clone(&tools),
        items,
        overlays: &overlays,
        oauth_apps: &oauth_apps,
    };
    let (agents, declares) = shared.agents();
    Ok(LoadedBundle(Arc::new(LoadedInner {
        host: Arc::clone(host),
        is_served,
        source,
        bundle: open.bundle().clone(),
        sources: open.sources(),
        agents,
        tools,
        declares,
        components: parts.components,
        lock,
        mcp_servers,
        oauth_apps,
        diagnostics: parts.diagnostics.into_vec(open.name()),
        key,
        overlays,
    })))
}

/// Registers the tools of a bundle, whose components are in the order of its Tools.
fn register_tools(
    policy: &Policy,
    open: &OpenBundle,
    components: Vec<PreparedComponent>,
) -> LoadedParts {
    let mut parts = LoadedParts::default();
    let remarks = open.bundle().diagnostics().iter().cloned();
    parts.diagnostics.extend(remarks);
    parts
        .diagnostics
        .extend(policy.unknown_names(open.bundle()));
    for (tool, component) in open.bundle().tools().iter().zip(components) {
        match component {
            Ok(None) => {}
            Ok(Some(component)) => {
                let Component { loaded, package } = component;
                register(open, tool, &loaded, &mut parts);
                if let Some(package) = package {
                    parts.packages.push((tool.metadata.name.clone(), package));
                }
                let ungranted = not_granted(policy, open, tool, &loaded.facts().imports);
                parts.diagnostics.extend(ungranted);
            }
            Err(finding) => parts.diagnostics.add(*finding),
        }
    }
    parts
}

/// Protects the files of a bundle without errors. `files` are those that its entries were built of.
///
/// # Errors
/// None if the bundle has errors; the finding if its files cannot be protected.
fn guard(
    open: &OpenBundle,
    parts: &LoadedParts,
    files: Vec<PathBuf>,
) -> Result<WriteGuard, Option<Box<Diagnostic>>> {
    if parts.diagnostics.holds_errors() {
        return Err(None);
    }
    let guard = open.guarded(files);
    match guard.now() {
        Ok(_) => Ok(guard),
        Err(error) => {
            let message = format!("the files of the bundle cannot be write-protected: {error}");
            let place = Place::file(open.name());
            let code = ToolErrorCode::ConfigEntry;
            Err(Some(Box::new(Diagnostic::error(code, place, message))))
        }
    }
}

/// Moves workspaces that were kept under the path of the manifest to the name that the policy gives.
fn take_over(host: &HostInner, key: &BundleKey) -> Result<(), LoadError> {
    let Some(root) = &host.state_root else {
        return Ok(());
    };
    match key.take_over(root) {
        Ok(false) => {}
        Ok(true) => {
            let workspace = key.directory();
            let manifest = key.path().display();
            tracing::info!(%workspace, %manifest, "the workspaces of the bundle were moved to their name");
        }
        Err(error) => {
            return Err(LoadError::Read {
                path: root.join(WORKSPACES),
                source: ReadError::Io(error),
            });
        }
    }
    Ok(())
}

/// Returns the canonical path of the manifest: one bundle has one set of workspaces.
pub(crate) fn manifest(source: &Path) -> PathBuf {
    let manifest = if source.is_dir() {
        source.join(MANIFEST)
    } else {
        source.to_owned()
    };
    manifest.canonicalize().unwrap_or(manifest)
}
