//! From a path to a bundle whose every tool can run: read, check, prepare; all or nothing.

mod ungranted;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use toolhost_contract::{
    AgentResource, JsonSchemaObject, ResourceName, ToolCatalogItem, ToolErrorCode, ToolExportSpec,
    ToolName, ToolResource, ToolSource,
};
use toolhost_sandbox::{HandlerSpec, PrepareError, PreparedTool};

use crate::agent::{Agent, AgentInner, Permit, RegistryCalls};
use crate::call::failure::prepare_error_code;
use crate::catalog::{ToolCatalog, descriptions};
use crate::host::{HostInner, LoadProgress};
use crate::loaded::{Declares, LoadedBundle, LoadedInner};
use crate::registry::overlay::Current;
use crate::registry::{RegisteredTool, Runs, ToolRegistry};
use toolhost_contract::text;
use toolhost_manifest::DiagnosticList;
use toolhost_manifest::bundle::{
    Bundle, Diagnostic, IMPLICIT_AGENT, LoadError, MANIFEST, OpenBundle, Place, WriteGuard,
};
use toolhost_manifest::schema::{ArgsSchema, PatternBudget};
use ungranted::not_granted;

/// Longest entry quoted, in characters.
const ENTRY_SHOWN: usize = 200;

/// Most handlers listed of a component: it may serve hundreds, and be asked for a thousand others.
const HANDLERS_SHOWN: usize = 20;

/// Loads the bundle at a path.
pub(crate) async fn load(host: &Arc<HostInner>, path: &Path) -> Result<LoadedBundle, LoadError> {
    let open = Bundle::open(path)?;
    // One bundle has one set of workspaces, however its path is written.
    let manifest = if path.is_dir() {
        path.join(MANIFEST)
    } else {
        path.to_owned()
    };
    let path = manifest.canonicalize().unwrap_or(manifest);
    let mut found = Found::default();
    let known = open.bundle().diagnostics();
    found.diagnostics.extend(known.iter().cloned());
    found
        .diagnostics
        .extend(host.policy.unknown_names(open.bundle()));
    let mut by_entry = HashMap::new();
    for tool in open.bundle().tools() {
        match component(host, &open, tool, &mut by_entry, &mut found).await {
            Ok(component) => {
                register(&open, tool, &component, &mut found);
                found
                    .diagnostics
                    .extend(not_granted(host, &open, tool, &component));
            }
            Err(finding) => found.diagnostics.add(*finding),
        }
    }
    if found.diagnostics.holds_errors() {
        return Err(invalid(&open, found));
    }
    let guarded = open.guarded(std::mem::take(&mut found.files));
    if let Err(error) = guarded.now() {
        let message = format!("what the tools are built of cannot be kept from them: {error}");
        let place = Place::file(open.yaml().name());
        found.diagnostics.add(Diagnostic::error(
            ToolErrorCode::ConfigEntry,
            place,
            message,
        ));
        return Err(invalid(&open, found));
    }
    Ok(assemble(host, &open, path, found, guarded))
}

fn invalid(open: &OpenBundle, found: Found) -> LoadError {
    LoadError::Invalid {
        yaml: open.yaml().clone(),
        diagnostics: found.diagnostics.into_vec(open.yaml().name()),
    }
}

/// What loading has come to so far.
#[derive(Default)]
struct Found {
    tools: Vec<RegisteredTool>,
    components: Vec<(String, toolhost_sandbox::ComponentFacts)>,
    /// What entries were built of.
    files: Vec<PathBuf>,
    diagnostics: DiagnosticList,
    patterns: PatternBudget,
}

/// Prepares a Tool's component; Tools of one entry share it.
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
    let most = host.sandbox.compile_limits().bytes;
    let entry = open.read_entry(tool, most)?;
    let (entry, files) = (entry.component, entry.files);
    let name = &tool.metadata.name;
    host.say(&LoadProgress::Preparing {
        tool: name.clone(),
        bytes: entry.len() as u64,
    });
    let started = Instant::now();
    let prepared = host.sandbox.prepare(entry).await;
    let (prepared, origin) = prepared.map_err(|error| unloadable(open, tool, &error))?;
    host.say(&LoadProgress::Prepared {
        tool: name.clone(),
        origin,
        took: started.elapsed(),
    });
    found.files.extend(files);
    by_entry.insert(tool.spec.entry.clone(), prepared.clone());
    Ok(prepared)
}

fn unloadable(open: &OpenBundle, tool: &ToolResource, error: &PrepareError) -> Diagnostic {
    let (name, entry) = (&tool.metadata.name, entry_shown(tool));
    let message = format!("tool {name}: {entry}: {error}");
    Diagnostic::error(prepare_error_code(error), open.entry_place(tool), message)
}

/// Registers a Tool's exports, each with the handler that serves it.
///
/// Spec: tool-spec-v2 §15, export mapping.
fn register(open: &OpenBundle, tool: &ToolResource, component: &PreparedTool, found: &mut Found) {
    let name = &tool.metadata.name;
    found
        .components
        .push((name.to_string(), component.facts().clone()));
    let whole = || Place::file(open.yaml().name());
    let at = open.bundle().places(name);
    for (index, export) in tool.spec.exports.iter().enumerate() {
        let place = at.and_then(|p| p.exports.get(index)).cloned();
        let handler = component.handlers().iter().find(|h| h.name == export.name);
        let Some(handler) = handler else {
            let (message, code) = (
                not_served(tool, export, component),
                ToolErrorCode::ComponentHandler,
            );
            let place = place.unwrap_or_else(whole);
            found
                .diagnostics
                .add(Diagnostic::error(code, place, message));
            continue;
        };
        match registered(tool, export, handler, component, &mut found.patterns) {
            Ok(mut registered) => {
                if descriptions::bound(&mut registered.item) {
                    let place = place.unwrap_or_else(whole);
                    found.diagnostics.add(bounded(tool, export, place));
                }
                found.tools.push(registered);
            }
            Err(message) => {
                let (place, code) = (
                    place.unwrap_or_else(whole),
                    ToolErrorCode::ComponentDescribe,
                );
                found
                    .diagnostics
                    .add(Diagnostic::error(code, place, message));
            }
        }
    }
    let named = |handler: &HandlerSpec| tool.spec.exports.iter().any(|e| e.name == handler.name);
    let others = component.handlers().iter().filter(|h| !named(h));
    let others: Vec<_> = others.map(|handler| handler.name.as_str()).collect();
    if let Some(first) = others.first() {
        let shown = text::listed(others.iter().copied(), HANDLERS_SHOWN);
        let message = format!(
            "tool {name}: {} also serves what is not exported: {shown}",
            entry_shown(tool)
        );
        let (code, place) = (ToolErrorCode::ComponentExtraHandler, open.entry_place(tool));
        let note = Diagnostic::note(code, place, message);
        let help = format!("Add `- name: {first}` to spec.exports to show it to the model.");
        found.diagnostics.add(note.with_help(help));
    }
}

fn bounded(tool: &ToolResource, export: &ToolExportSpec, place: Place) -> Diagnostic {
    let (tool, export) = (&tool.metadata.name, &export.name);
    let message = format!(
        "tool {tool}: the descriptions of '{export}' are not shown as written: characters that act are escaped, and each is cut to {} bytes",
        descriptions::WORDS_MAX
    );
    let warning = Diagnostic::warning(ToolErrorCode::ComponentDescribe, place, message);
    warning.with_help("Shorten them, and write them without invisible and control characters.")
}

fn not_served(tool: &ToolResource, export: &ToolExportSpec, component: &PreparedTool) -> String {
    let served = component.handlers().iter().map(|h| h.name.as_str());
    let served = text::listed(served, HANDLERS_SHOWN);
    format!(
        "tool {}: handler '{}' is not served by {}, which serves {}",
        tool.metadata.name,
        export.name,
        entry_shown(tool),
        if served.is_empty() { "none" } else { &served }
    )
}

/// The entry, as findings quote it.
fn entry_shown(tool: &ToolResource) -> String {
    text::shorten(&tool.spec.entry, ENTRY_SHOWN)
}

/// What the manifest leaves out, `describe` may fill in.
fn registered(
    tool: &ToolResource,
    export: &ToolExportSpec,
    handler: &HandlerSpec,
    component: &PreparedTool,
    patterns: &mut PatternBudget,
) -> Result<RegisteredTool, String> {
    let described = || handler.parameters.as_deref().map(parameters).transpose();
    let parameters = match &export.parameters {
        Some(parameters) => Some(parameters.clone()),
        None => described().map_err(|reason| {
            format!(
                "describe gives '{}' parameters that cannot be used: {reason}",
                handler.name
            )
        })?,
    };
    let any = JsonSchemaObject::any_object;
    let schema = ArgsSchema::compile(parameters.as_ref().unwrap_or(&any()), patterns);
    let schema = schema.map_err(|reason| {
        format!(
            "the parameters of '{}' cannot be used: {reason}",
            handler.name
        )
    })?;
    let name = ToolName::new(tool.metadata.name.clone(), export.name.clone());
    Ok(RegisteredTool {
        item: ToolCatalogItem {
            name: name.map_err(|reason| reason.to_string())?,
            description: export
                .description
                .clone()
                .or_else(|| handler.description.clone()),
            parameters,
            source: Some(ToolSource::config(tool.metadata.name.as_str())),
        },
        schema: Arc::new(schema),
        error_message_limit: tool.spec.error_message_limit,
        runs: Runs::Component(component.clone()),
    })
}

fn parameters(json: &str) -> Result<JsonSchemaObject, String> {
    let schema = serde_json::from_str(json).map_err(|reason| reason.to_string())?;
    JsonSchemaObject::parse(schema).map_err(|reason| reason.to_string())
}

/// Puts the loaded bundle together: one registry, and each agent's catalog and permits.
fn assemble(
    host: &Arc<HostInner>,
    open: &OpenBundle,
    path: PathBuf,
    found: Found,
    guarded: WriteGuard,
) -> LoadedBundle {
    let bundle = open.bundle();
    let all: Vec<ToolCatalogItem> = found.tools.iter().map(|tool| tool.item.clone()).collect();
    let registry: Arc<ToolRegistry> = Arc::new(found.tools.into_iter().collect());
    let guarded = host.guard(guarded);
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
            overlay: Current::default(),
            host: Arc::clone(host),
            _guarded: Arc::clone(&guarded),
            locale: host.policy.locale(),
            registry_calls: if host.policy.registry_direct_call() {
                RegistryCalls::Allowed
            } else {
                RegistryCalls::Refused
            },
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
