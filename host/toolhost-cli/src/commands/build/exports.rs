//! Exports that come from the code of a tool: what it cannot say is an error, and a manifest is kept up to date.

use serde_json::Value;
use similar::TextDiff;
use toolhost::manifest::{Place, ToolResource};
use toolhost_contract::JsonSchemaObject;
use toolhost_manifest::bundle::{OpenBundle, SourceEntry, described};
use toolhost_manifest::exports_text::{ExportsTextError, MARK, Written, with_exports};
use toolhost_schema::unfit_defaults;

use super::handlers::{at, describes_itself};
use crate::args::BuildArgs;
use crate::commands::manifest_file::ManifestFile;
use crate::failure::Failure;
use crate::settings::Settings;
use crate::toolchains::{BuildError, DescribedExport, ErrorCause, Fault};

/// Returns the Tools of an entry.
fn tools_of<'b>(
    open: &'b OpenBundle,
    source: &SourceEntry<'_>,
) -> impl Iterator<Item = &'b ToolResource> {
    let entry = source.tool.spec.entry.clone();
    let tools = open.bundle().tools().iter();
    tools.filter(move |tool| tool.spec.entry == entry)
}

/// Returns whether the exports of a Tool of this entry come from its code: the manifest has none, or lines that
/// belong to the code.
pub(super) fn are_from_code(open: &OpenBundle, source: &SourceEntry<'_>) -> bool {
    has_lines_of_code(open) || tools_of(open, source).any(|tool| describes_itself(open, tool))
}

/// Returns whether a manifest has lines that belong to the code.
fn has_lines_of_code(open: &OpenBundle) -> bool {
    let manifests = open.sources();
    manifests
        .iter()
        .any(|manifest| manifest.text().contains(MARK))
}

/// Checks what the code says of the arguments of all exports whose parameters the manifest does not have. `place` puts a
/// problem of an export's schema, at a JSON pointer, at a place of the code.
///
/// # Errors
/// The problems that the kit has found with the types of these; and defaults that a call could not pass.
pub(super) fn check(
    open: &OpenBundle,
    source: &SourceEntry<'_>,
    exports: &[DescribedExport],
    place: impl Fn(Fault, &str, &str) -> Fault,
) -> Result<(), BuildError> {
    let is_needed = |export: &DescribedExport| {
        tools_of(open, source).any(|tool| {
            let listed = tool.spec.exports.iter();
            let mut listed = listed.filter(|it| it.name.as_str() == export.name);
            describes_itself(open, tool) || listed.any(|it| it.parameters.is_none())
        })
    };
    let mut faults = Vec::new();
    for export in exports.iter().filter(|export| is_needed(export)) {
        faults.extend(export.problem.clone());
        let parameters = export.parameters.clone().map(JsonSchemaObject::parse);
        let Some(Ok(parameters)) = parameters else {
            continue;
        };
        let value = parameters.to_value();
        // serde writes a structure as it likes, and reads it as the schema says.
        let is_plain = |pointer: &str| {
            value
                .pointer(pointer)
                .is_some_and(|it| !it.is_object() && !it.is_array())
        };
        let unfit = unfit_defaults("parameters", &parameters).into_iter();
        for remark in unfit.filter(|remark| is_plain(&remark.pointer)) {
            let fault = Fault::new(format!("{}: {}", export.name, remark.message));
            faults.push(place(
                fault.next(remark.help),
                &export.name,
                &remark.pointer,
            ));
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let cause = ErrorCause::Source;
    Err(BuildError { cause, faults })
}

/// Writes the exports that a component describes into the manifest, where they belong to the code. Returns what is to
/// be told.
///
/// # Errors
/// With `--locked`, the difference.
pub(super) fn sync(
    open: &OpenBundle,
    source: &SourceEntry<'_>,
    args: &BuildArgs,
    settings: &Settings,
) -> Result<Option<Fault>, BuildError> {
    if !args.write_exports && !has_lines_of_code(open) {
        return Ok(None);
    }
    let component = open.built(source, u64::MAX).ok();
    let described = component
        .as_ref()
        .and_then(|(bytes, _)| described::find(bytes));
    let exports: Vec<Value> = described
        .and_then(|text| serde_json::from_str(text).ok())
        .unwrap_or_default();
    if exports.is_empty() {
        return nothing_to_write(open, source, args);
    }
    let mut told = None;
    for tool in tools_of(open, source) {
        let place = open.entry_place(tool);
        if place.file != open.name() {
            in_another_manifest(tool, &place, args)?;
            continue;
        }
        let written = if args.write_exports {
            Written::All
        } else {
            Written::Marked
        };
        let manifest = ManifestFile::read(&args.bundle).map_err(failed)?;
        let text = manifest.text.clone().unwrap_or_default();
        let changed = with_exports(&text, &tool.metadata.name, &exports, written);
        let changed = changed.map_err(|error| {
            let fault = Fault::new(format!("tool {}: {error}", tool.metadata.name));
            BuildError::source(at(fault, Some(&place)).next(ExportsTextError::help(error)))
        })?;
        if changed == text {
            continue;
        }
        if args.locked {
            let diff = TextDiff::from_lines(&text, &changed);
            let diff = diff.unified_diff().context_radius(2).to_string();
            let what = format!(
                "the exports of tool {} differ from its code",
                tool.metadata.name
            );
            let fault = Fault::new(what).detail(diff);
            let next = "Run `toolhost build` without --locked, and commit the manifest.";
            return Err(BuildError::source(at(fault, Some(&place)).next(next)));
        }
        manifest.write(&changed, settings).map_err(failed)?;
        let what = format!("wrote the exports of tool {}", tool.metadata.name);
        told = Some(at(Fault::new(what), Some(&place)));
    }
    Ok(told)
}

/// Refuses to write exports that the component does not describe.
fn nothing_to_write(
    open: &OpenBundle,
    source: &SourceEntry<'_>,
    args: &BuildArgs,
) -> Result<Option<Fault>, BuildError> {
    if !args.write_exports {
        return Ok(None);
    }
    let tool = &source.tool.metadata.name;
    let fault = Fault::new(format!(
        "the component of tool {tool} does not describe its exports"
    ));
    let fault = at(fault, Some(&open.entry_place(source.tool)));
    Err(BuildError::source(
        fault.next("`toolhost check` says what is wrong with it."),
    ))
}

/// Refuses to write the exports of a Tool of an included bundle: a build of that bundle writes its manifest.
fn in_another_manifest(
    tool: &ToolResource,
    place: &Place,
    args: &BuildArgs,
) -> Result<(), BuildError> {
    if !args.write_exports {
        return Ok(());
    }
    let name = &tool.metadata.name;
    let fault = Fault::new(format!(
        "tool {name} is in a manifest that this one includes"
    ));
    let next = format!("Run `toolhost build {} --write-exports`.", place.file);
    Err(BuildError::source(at(fault, Some(place)).next(next)))
}

fn failed(failure: Failure) -> BuildError {
    let fault = Fault::new(failure.message());
    BuildError::machine(match failure.hint {
        Some(hint) => fault.next(hint),
        None => fault,
    })
}
