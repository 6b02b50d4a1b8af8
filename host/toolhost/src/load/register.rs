//! Registers the exports of a Tool, each with the handler of its component.

use std::sync::Arc;

use toolhost_contract::{
    ResourceName, ToolCatalogItem, ToolErrorCode, ToolExportSpec, ToolName, ToolResource,
    ToolSource, text,
};
use toolhost_sandbox::{ComponentFacts, HandlerSpec, PrepareError, PreparedTool};

use super::described::{DescribeFault, described_parameters};
use crate::call::failure::{prepare_error_code, prepare_error_help};
use crate::catalog::descriptions;
use crate::registry::loaded_component::LoadedComponent;
use crate::registry::{RegisteredTool, Runs};
use toolhost_contract::suggest::did_you_mean;
use toolhost_manifest::DiagnosticList;
use toolhost_manifest::bundle::package::PackageOrigin;
use toolhost_manifest::bundle::{Diagnostic, OpenBundle, Place};
use toolhost_manifest::lock::Words;
use toolhost_schema::{ArgsSchema, OutputSchema, PatternBudget};

/// Longest entry in a finding, in characters.
const ENTRY_SHOWN: usize = 200;

/// Most handlers of a component in a finding. A component may serve hundreds.
const HANDLERS_SHOWN: usize = 20;

/// The parts of a load so far.
#[derive(Default)]
pub(super) struct LoadedParts {
    pub(super) tools: Vec<RegisteredTool>,
    pub(super) components: Vec<(String, ComponentFacts)>,
    /// The packages that components were in.
    pub(super) packages: Vec<(ResourceName, PackageOrigin)>,
    pub(super) diagnostics: DiagnosticList,
    /// What the tools say, before it is bounded for the model: the Tool, the tool, its words.
    pub(super) words: Vec<(String, String, Words)>,
    patterns: PatternBudget,
}

/// Registers a Tool's exports, each with the handler that serves it.
///
/// Spec: tool-spec-v2 §15, export mapping.
pub(super) fn register(
    open: &OpenBundle,
    tool: &ToolResource,
    component: &LoadedComponent,
    parts: &mut LoadedParts,
) {
    let name = &tool.metadata.name;
    let facts = component.facts().clone();
    parts.components.push((name.to_string(), facts));
    if tool.spec.exports.is_empty() {
        parts.diagnostics.add(undescribed(open, tool));
    }
    for (index, export) in tool.spec.exports.iter().enumerate() {
        let handler = match component.ready() {
            Some(ready) => ready.handlers().iter().find(|h| h.name == export.name),
            None => Some(&HandlerSpec {
                name: export.name.clone(),
                description: None,
                parameters: None,
                output_schema: None,
            }),
        };
        let Some(handler) = handler else {
            let served = component.ready().map_or(&[][..], PreparedTool::handlers);
            let finding = not_served(open, tool, (index, export), served);
            // Finding the nearest name takes longest, and a full list keeps no more findings.
            let is_full = parts.diagnostics.is_full();
            let help = (!is_full).then(|| served_instead(export, served)).flatten();
            parts.diagnostics.add(finding.with_help_if(help));
            continue;
        };
        let place = place_of(open, tool, index);
        match registered(tool, export, handler, component, &mut parts.patterns) {
            Ok(mut registered) => {
                let item = &registered.item;
                let words = Words::of_item(item);
                let named = (name.to_string(), item.name.to_string(), words);
                parts.words.push(named);
                if component.ready().is_some() && registered.item.parameters.is_none() {
                    let finding = without_parameters(tool, export, place.clone());
                    parts.diagnostics.add(finding);
                }
                if descriptions::bound(&mut registered.item) {
                    parts.diagnostics.add(bounded(tool, export, place));
                }
                parts.tools.push(registered);
            }
            Err(refused) => {
                let finding = Diagnostic::error(refused.code, place, refused.message);
                parts.diagnostics.add(finding.with_help_if(refused.help));
            }
        }
    }
    let exported =
        |handler: &&HandlerSpec| tool.spec.exports.iter().any(|e| e.name == handler.name);
    let handlers = component.ready().map_or(&[][..], PreparedTool::handlers);
    let others = handlers.iter().filter(|h| !exported(h));
    let others: Vec<_> = others.map(|handler| handler.name.as_str()).collect();
    if let Some(first) = others.first() {
        let listed = text::listed(others.iter().copied(), HANDLERS_SHOWN);
        let entry = entry_shown(tool);
        let message =
            format!("tool {name}: {entry} also serves handlers that are not exported: {listed}");
        let (code, place) = (ToolErrorCode::ComponentExtraHandler, open.entry_place(tool));
        let note = Diagnostic::note(code, place, message);
        let help = format!("Add `- name: {first}` to spec.exports to show it to the model.");
        parts.diagnostics.add(note.with_help(help));
    }
}

/// Returns the finding about a Tool without exports whose component describes none.
fn undescribed(open: &OpenBundle, tool: &ToolResource) -> Diagnostic {
    let (name, entry) = (&tool.metadata.name, entry_shown(tool));
    let message = format!(
        "tool {name}: the manifest has no spec.exports, and the component of {entry} does not describe them"
    );
    let error = Diagnostic::error(ToolErrorCode::ConfigSchema, open.entry_place(tool), message);
    error.with_help(
        "Build it with `toolhost build`, which takes them from the types of its functions, or write spec.exports: \
         `toolhost inspect COMPONENT --manifest` prints them.",
    )
}

/// Returns the finding about an export whose arguments nothing describes.
fn without_parameters(tool: &ToolResource, export: &ToolExportSpec, place: Place) -> Diagnostic {
    let (tool, export) = (&tool.metadata.name, &export.name);
    let message = format!(
        "tool {tool}: '{export}' has no parameters: the model is told nothing about its arguments, and any object is passed on"
    );
    let warning = Diagnostic::warning(ToolErrorCode::ConfigSchema, place, message);
    warning.with_help("Write the types of the function's arguments, or `parameters` in the manifest; `{type: object, additionalProperties: false}` has none.")
}

fn bounded(tool: &ToolResource, export: &ToolExportSpec, place: Place) -> Diagnostic {
    let (tool, export) = (&tool.metadata.name, &export.name);
    let message = format!(
        "tool {tool}: the descriptions of '{export}' are changed for the model: control and invisible characters are escaped, and each description is cut to {} bytes",
        descriptions::DESCRIPTION_MAX_BYTES
    );
    let warning = Diagnostic::warning(ToolErrorCode::ComponentDescribe, place, message);
    warning.with_help("Shorten them, and write them without invisible and control characters.")
}

/// Returns the finding about a component that cannot be prepared.
pub(super) fn not_prepared(
    open: &OpenBundle,
    tool: &ToolResource,
    error: &PrepareError,
) -> Diagnostic {
    let (name, entry) = (&tool.metadata.name, entry_shown(tool));
    let message = format!("tool {name}: {entry}: {error}");
    let finding = Diagnostic::error(prepare_error_code(error), open.entry_place(tool), message);
    finding.with_help(prepare_error_help(error))
}

/// Returns the finding about an export that the component does not serve.
pub(super) fn not_served(
    open: &OpenBundle,
    tool: &ToolResource,
    (index, export): (usize, &ToolExportSpec),
    handlers: &[HandlerSpec],
) -> Diagnostic {
    let served = handlers.iter().map(|h| h.name.as_str());
    let served = text::listed(served, HANDLERS_SHOWN);
    let message = format!(
        "tool {}: handler '{}' is not served by {}, which serves {}",
        tool.metadata.name,
        export.name,
        entry_shown(tool),
        if served.is_empty() { "none" } else { &served }
    );
    let place = place_of(open, tool, index);
    Diagnostic::error(ToolErrorCode::ComponentHandler, place, message)
}

/// Returns a help text with the handler that an export was probably meant to name.
fn served_instead(export: &ToolExportSpec, handlers: &[HandlerSpec]) -> Option<String> {
    let served = handlers.iter().map(|h| h.name.as_str());
    let served: Vec<&str> = served.collect();
    did_you_mean(export.name.as_str(), &served)
}

/// Returns the place of an export in the manifest.
fn place_of(open: &OpenBundle, tool: &ToolResource, index: usize) -> Place {
    let places = open.bundle().places(&tool.metadata.name);
    let place = places.and_then(|places| places.exports.get(index));
    place.cloned().unwrap_or_else(|| Place::file(open.name()))
}

/// Whether the manifest has all that a catalog shows of a Tool, so that `describe` adds nothing.
pub(super) fn is_described(tool: &ToolResource) -> bool {
    let mut exports = tool.spec.exports.iter();
    exports.all(|export| export.description.is_some() && export.parameters.is_some())
}

pub(super) fn entry_shown(tool: &ToolResource) -> String {
    text::shorten(&tool.spec.entry, ENTRY_SHOWN)
}

/// Why an export is not registered.
struct ExportRefusal {
    code: ToolErrorCode,
    message: String,
    /// What to do, if that is not the suggestion of the code.
    help: Option<String>,
}

impl ExportRefusal {
    fn new(code: ToolErrorCode, message: String) -> Self {
        let help = None;
        Self {
            code,
            message,
            help,
        }
    }
}

impl From<DescribeFault> for ExportRefusal {
    fn from(fault: DescribeFault) -> Self {
        Self {
            code: ToolErrorCode::ComponentDescribe,
            message: fault.message,
            help: Some(fault.help),
        }
    }
}

/// Registers one export. `describe` supplies the description and the parameters that the manifest
/// leaves out.
fn registered(
    tool: &ToolResource,
    export: &ToolExportSpec,
    handler: &HandlerSpec,
    component: &LoadedComponent,
    patterns: &mut PatternBudget,
) -> Result<RegisteredTool, ExportRefusal> {
    let of_manifest = |what: &str, reason: String| {
        let message = format!("the {what} of '{}' cannot be used: {reason}", export.name);
        ExportRefusal::new(ToolErrorCode::ConfigSchema, message)
    };
    let (parameters, schema) = match &export.parameters {
        Some(parameters) => {
            let schema = ArgsSchema::compile(parameters, patterns);
            let schema = schema.map_err(|reason| of_manifest("parameters", reason.to_string()))?;
            (Some(parameters.clone()), schema)
        }
        None => described_parameters(handler, patterns)?,
    };
    let output_schema = export.output_schema.as_ref();
    let output_schema = output_schema.map(|schema| OutputSchema::compile(schema, patterns));
    let output_schema = output_schema.transpose();
    let output_schema =
        output_schema.map_err(|reason| of_manifest("outputSchema", reason.to_string()))?;
    let name = ToolName::new(tool.metadata.name.clone(), export.name.clone());
    let name = name.map_err(|reason| {
        ExportRefusal::new(ToolErrorCode::ComponentDescribe, reason.to_string())
    })?;
    Ok(RegisteredTool {
        item: ToolCatalogItem {
            name,
            description: export
                .description
                .clone()
                .or_else(|| handler.description.clone()),
            parameters,
            output_schema: export.output_schema.clone(),
            source: Some(ToolSource::config(tool.metadata.name.as_str())),
        },
        schema: Arc::new(schema),
        output_schema: output_schema.map(Arc::new),
        commit_when: export.commit_when.clone().map(Arc::new),
        error_message_limit: tool.spec.error_message_limit,
        runs: Runs::Component(component.clone()),
    })
}
