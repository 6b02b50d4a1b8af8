//! Loads a bundle: reads and checks it, prepares its components, and assembles its agents.

mod register;
mod ungranted;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use toolhost_contract::{
    AgentResource, ResourceName, ToolCatalogItem, ToolErrorCode, ToolName, ToolResource,
};
use toolhost_sandbox::{PrepareError, PreparedTool};

use crate::agent::{Agent, AgentInner, Permit};
use crate::call::failure::prepare_error_code;
use crate::catalog::ToolCatalog;
use crate::host::{Host, HostInner, LoadProgress};
use crate::loaded_bundle::{Declares, LoadedBundle, LoadedInner};
use crate::registry::overlay::CurrentOverlay;
use crate::registry::{RegisteredTool, ToolRegistry};
use register::{Found, entry_shown, register};
use toolhost_manifest::bundle::{
    Bundle, Diagnostic, IMPLICIT_AGENT, LoadError, MANIFEST, OpenBundle, Place, WriteGuard,
};
use ungranted::not_granted;

impl Host {
    /// Loads a bundle, whole or not at all: a YAML file, or a directory that contains `goondan.yaml`.
    ///
    /// Every component is compiled, or mapped from the sandbox's cache, and its handlers are listed.
    ///
    /// # Errors
    /// [`LoadError`] contains all findings at once.
    pub async fn load(&self, path: impl AsRef<Path>) -> Result<LoadedBundle, LoadError> {
        load(&self.0, path.as_ref()).await
    }
}

async fn load(host: &Arc<HostInner>, path: &Path) -> Result<LoadedBundle, LoadError> {
    let open = Bundle::open(path)?;
    // The canonical path of the manifest: one bundle has one set of workspaces.
    let manifest = if path.is_dir() {
        path.join(MANIFEST)
    } else {
        path.to_owned()
    };
    let path = manifest.canonicalize().unwrap_or(manifest);
    let policy = &host.policy;
    let mut found = Found::default();
    let known = open.bundle().diagnostics().iter().cloned();
    found.diagnostics.extend(known);
    found
        .diagnostics
        .extend(policy.unknown_names(open.bundle()));
    let mut by_entry = HashMap::new();
    for tool in open.bundle().tools() {
        match component(host, &open, tool, &mut by_entry, &mut found).await {
            Ok(component) => {
                register(&open, tool, &component, &mut found);
                let ungranted = not_granted(policy, &open, tool, &component);
                found.diagnostics.extend(ungranted);
            }
            Err(finding) => found.diagnostics.add(*finding),
        }
    }
    if found.diagnostics.holds_errors() {
        return Err(invalid(&open, found));
    }
    let guard = open.guarded(std::mem::take(&mut found.files));
    if let Err(error) = guard.now() {
        let message = format!("the files of the bundle cannot be write-protected: {error}");
        let place = Place::file(open.yaml().name());
        let code = ToolErrorCode::ConfigEntry;
        found
            .diagnostics
            .add(Diagnostic::error(code, place, message));
        return Err(invalid(&open, found));
    }
    Ok(assemble(host, &open, path, found, guard))
}

fn invalid(open: &OpenBundle, found: Found) -> LoadError {
    LoadError::Invalid {
        yaml: open.yaml().clone(),
        diagnostics: found.diagnostics.into_vec(open.yaml().name()),
    }
}

/// Prepares a Tool's component. Tools of one entry share it.
async fn component(
    host: &HostInner,
    open: &OpenBundle,
    tool: &ToolResource,
    by_entry: &mut HashMap<String, PreparedTool>,
    found: &mut Found,
) -> Result<PreparedTool, Box<Diagnostic>> {
    if let Some(known) = by_entry.get(&tool.spec.entry) {
        return Ok(known.clone());
    }
    let sandbox = &host.sandbox;
    let most = sandbox.compile_limits().bytes;
    let entry = host.components.read(open, tool, most).await?;
    let name = &tool.metadata.name;
    host.report(&LoadProgress::Preparing {
        tool: name.clone(),
        bytes: entry.component.len() as u64,
    });
    let started = Instant::now();
    let prepared = sandbox.prepare(entry.component).await;
    let (prepared, origin) = prepared.map_err(|error| not_prepared(open, tool, &error))?;
    host.report(&LoadProgress::Prepared {
        tool: name.clone(),
        origin,
        took: started.elapsed(),
    });
    found.files.extend(entry.files);
    by_entry.insert(tool.spec.entry.clone(), prepared.clone());
    Ok(prepared)
}

fn not_prepared(open: &OpenBundle, tool: &ToolResource, error: &PrepareError) -> Diagnostic {
    let (name, entry) = (&tool.metadata.name, entry_shown(tool));
    let message = format!("tool {name}: {entry}: {error}");
    Diagnostic::error(prepare_error_code(error), open.entry_place(tool), message)
}

/// Creates the loaded bundle: one registry, and each agent's catalog and permits.
fn assemble(
    host: &Arc<HostInner>,
    open: &OpenBundle,
    path: PathBuf,
    found: Found,
    guard: WriteGuard,
) -> LoadedBundle {
    let bundle = open.bundle();
    let all: Vec<ToolCatalogItem> = found.tools.iter().map(|tool| tool.item.clone()).collect();
    let named = |tool: RegisteredTool| (tool.item.name.clone(), tool);
    let registry: ToolRegistry = found.tools.into_iter().map(named).collect();
    let registry = Arc::new(registry);
    let guard = host.protection.guard(guard);
    let make = |name: &str, tools: &[ResourceName], required: &[ToolName]| {
        let of = |tool: &ResourceName| -> Vec<ToolCatalogItem> {
            let own = |item: &&ToolCatalogItem| item.name.resource() == tool;
            all.iter().filter(own).cloned().collect()
        };
        let permit = |tool: &ResourceName| (tool.clone(), Permit::of(&host.policy, name, tool));
        Agent(Arc::new(AgentInner {
            name: name.to_owned(),
            bundle: path.clone(),
            registry: Arc::clone(&registry),
            catalog: tools.iter().flat_map(of).collect::<ToolCatalog>(),
            permits: bundle
                .tools()
                .iter()
                .map(|tool| permit(&tool.metadata.name))
                .collect(),
            required: required.to_vec(),
            overlay: CurrentOverlay::default(),
            host: Arc::clone(host),
            _guard: Arc::clone(&guard),
        }))
    };
    let declared = |agent: &AgentResource| {
        let (name, spec) = (&agent.metadata.name, &agent.spec);
        make(name.as_str(), &spec.tools, &spec.required_tools)
    };
    let agents: Vec<Agent> = bundle.agents().iter().map(declared).collect();
    let (agents, declares) = if agents.is_empty() {
        let tools: Vec<_> = bundle
            .tools()
            .iter()
            .map(|t| t.metadata.name.clone())
            .collect();
        (vec![make(IMPLICIT_AGENT, &tools, &[])], Declares::OnlyTools)
    } else {
        (agents, Declares::Agents)
    };
    LoadedBundle(Arc::new(LoadedInner {
        host: Arc::clone(host),
        path,
        bundle: bundle.clone(),
        yaml: open.yaml().clone(),
        agents,
        declares,
        components: found.components,
        diagnostics: found.diagnostics.into_vec(open.yaml().name()),
    }))
}
