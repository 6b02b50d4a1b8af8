//! Reads `kind: Tool`.

use std::collections::HashMap;

use toolhost_contract::{
    ErrorMessageLimit, ExportName, JsonSchemaObject, ToolErrorCode, ToolExportSpec, ToolName,
    ToolSpec,
};

use super::described;
use super::kind::Named;
use super::oauth_app;
use super::package::{PackageReference, is_package};
use crate::commit_condition;
use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings, all};
use crate::yaml::Value;
use toolhost_contract::text::short;
use toolhost_schema::{
    ArgsSchema, OutputSchema, PatternBudget, SchemaError, SchemaPart, SchemaRemark, lint,
};

/// The places of the parts of a Tool, for findings about its component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPlaces {
    /// `metadata.name`.
    pub name: Place,
    /// `spec.entry`.
    pub entry: Place,
    /// `spec.exports[].name`, in the order of the exports.
    pub exports: Vec<Place>,
    /// Whether the manifest has no `spec.exports`, so that the component describes itself. The exports are empty until
    /// it is built.
    pub describes_itself: bool,
    /// `spec.oauthApps[]`, in the order of the references.
    pub oauth_apps: Vec<Place>,
}

/// Reads `spec`; `None` if anything in it or the name is invalid.
///
/// Spec: tool-spec-v2 §4.2, §4.3.
pub(super) fn read_spec(
    fields: &mut Fields<'_, '_>,
    named: Option<&Named>,
) -> Option<(ToolSpec, ToolPlaces)> {
    let entry = fields.required("entry", |at, findings| {
        Some((read_entry(at, findings), findings.place(at)))
    });
    let limit = fields.optional("errorMessageLimit", read_limit);
    // `toolhost add` writes the exports of a package.
    let of_package = entry.as_ref().and_then(|(entry, _)| entry.as_deref());
    let of_package = of_package.is_some_and(is_package);
    let read = |at: &Cursor<'_>, findings: &mut Findings| read_exports(at, named, findings);
    let exports = if of_package {
        fields.required("exports", read).map(Some)
    } else {
        fields.optional("exports", read)
    };
    let apps = fields.or_default("oauthApps", oauth_app::read_references);
    refuse_removed(fields);
    let ((entry, entry_place), exports) = (entry?, exports?);
    let describes_itself = exports.is_none();
    let (exports, places) = exports.unwrap_or_default();
    let (oauth_apps, app_places) = apps?.into_iter().unzip();
    let spec = ToolSpec {
        entry: entry?,
        error_message_limit: limit?.unwrap_or(ErrorMessageLimit::DEFAULT),
        exports,
        oauth_apps,
    };
    let places = ToolPlaces {
        name: named?.place.clone(),
        entry: entry_place,
        exports: places,
        describes_itself,
        oauth_apps: app_places,
    };
    Some((spec, places))
}

fn refuse_removed(fields: &mut Fields<'_, '_>) {
    for (key, help) in [
        ("runtime", "Remove it: every Tool is a WASI component."),
        (
            "auth",
            "Remove it: write the references to OAuthApps in spec.oauthApps.",
        ),
    ] {
        let Some(mut at_key) = fields.get(key) else {
            continue;
        };
        at_key.mark = fields.at.node.key(&format!("/{key}"));
        let place = fields.findings.place(&at_key);
        let message = format!("'spec.{key}' was removed in v2");
        let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
        fields.findings.add(error.with_help(help));
    }
}

/// Reads the path of the component, or its name in a registry. A missing file is found when it is opened.
fn read_entry(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let entry = at.text(findings)?;
    if entry.trim().is_empty() {
        return at.refuse("'entry' is empty", findings);
    }
    if is_package(entry) {
        return read_package(entry, at, findings);
    }
    let Some(problem) = path_problem(entry) else {
        return Some(entry.to_owned());
    };
    let message = format!("entry '{}' {problem}", short(entry));
    findings.error(ToolErrorCode::ConfigEntry, at, message);
    None
}

/// Reads the name of a component in a registry. It has a digest: what a tag names may change.
fn read_package(entry: &str, at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let (problem, help) = match PackageReference::parse(entry) {
        Ok(reference) if reference.digest().is_some() => return Some(entry.to_owned()),
        Ok(_) => (
            "has no digest, and what a tag names may change".to_owned(),
            "Remove the Tool, and add the package with `toolhost add`, which writes the digest.",
        ),
        Err(error) => (
            format!("is invalid: {error}"),
            "Write oci://HOST/REPOSITORY:TAG@sha256:DIGEST, as `toolhost add` does.",
        ),
    };
    let message = format!("entry '{}' {problem}", short(entry));
    let error = Diagnostic::error(ToolErrorCode::ConfigEntry, findings.place(at), message);
    findings.add(error.with_help(help));
    None
}

/// Returns why a path names nothing beneath the bundle's directory, whatever the directory contains.
pub(super) fn path_problem(path: &str) -> Option<&'static str> {
    if path.trim().is_empty() {
        Some("is empty")
    } else if path.contains('\0') {
        Some("contains a NUL character")
    } else if path.starts_with(['/', '\\']) {
        Some("is absolute: it must be relative to the bundle's directory")
    } else if path.split(['/', '\\']).any(|part| part == "..") {
        Some("contains '..': it must lie beneath the bundle's directory")
    } else {
        None
    }
}

/// Reads a positive integer. `1e3` is a decimal number in YAML, and `"10"` a string.
fn read_limit(at: &Cursor<'_>, findings: &mut Findings) -> Option<ErrorMessageLimit> {
    let Value::Integer(number) = at.node.value else {
        return at.expected("a positive integer, such as 1000,", findings);
    };
    let limit = u32::try_from(number).ok().and_then(ErrorMessageLimit::new);
    limit.or_else(|| {
        let most = ErrorMessageLimit::MOST.units();
        let message = format!("'errorMessageLimit' must be between 1 and {most}");
        at.refuse(message, findings)
    })
}

/// Reads the exports that a component describes, from the current file of the findings.
pub(super) fn read_described(
    tool: &Named,
    findings: &mut Findings,
) -> Option<(Vec<ToolExportSpec>, Vec<Place>)> {
    let too_many = "the component describes its exports more than once";
    let document = findings.only_document(described::BYTES_MAX, too_many, None);
    let document = document.ok()??;
    read_exports(&Cursor::new(&document, "exports"), Some(tool), findings)
}

fn read_exports(
    at: &Cursor<'_>,
    tool: Option<&Named>,
    findings: &mut Findings,
) -> Option<(Vec<ToolExportSpec>, Vec<Place>)> {
    let items = at.items(findings)?;
    if items.is_empty() {
        return at.refuse("'exports' is empty: a Tool has at least one", findings);
    }
    let count = items.len();
    let mut first_places: HashMap<ExportName, Place> = HashMap::new();
    let mut exports = Vec::new();
    let mut places = Vec::new();
    for item in items {
        let Some((export, place)) = read_export(&item, tool, findings) else {
            continue;
        };
        if let Some(first) = first_places.get(&export.name) {
            let message = format!("duplicate export '{}'", export.name);
            let duplicate = Diagnostic::error(ToolErrorCode::ConfigDuplicate, place, message);
            findings.add(duplicate.with_related("declared here first", first.clone()));
            continue;
        }
        first_places.insert(export.name.clone(), place.clone());
        exports.push(export);
        places.push(place);
    }
    (exports.len() == count).then_some((exports, places))
}

fn read_export(
    at: &Cursor<'_>,
    tool: Option<&Named>,
    findings: &mut Findings,
) -> Option<(ToolExportSpec, Place)> {
    at.mapping(findings, |fields| {
        let name = fields.required("name", |at, findings| {
            let name = at.name(ExportName::parse, findings)?;
            let of_tool = tool.map(|tool| tool.metadata.name.clone());
            if let Some(Err(error)) = of_tool.map(|tool| ToolName::new(tool, name.clone())) {
                let message = format!("the tool's name for the model is invalid: {error}");
                findings.error(ToolErrorCode::ConfigName, at, message);
                return None;
            }
            Some((name, findings.place(at)))
        });
        let (export_name, place) = name.unzip();
        let export = all!(ToolExportSpec {
            name: export_name,
            description: fields.optional("description", Cursor::string),
            parameters: fields.optional("parameters", read_parameters),
            output_schema: fields.optional("outputSchema", read_output_schema),
            commit_when: fields.optional("commitWhen", commit_condition::read),
        });
        export.zip(place)
    })
}

fn read_parameters(at: &Cursor<'_>, findings: &mut Findings) -> Option<JsonSchemaObject> {
    read_schema("parameters", at, findings, |schema, patterns| {
        ArgsSchema::compile(schema, patterns).map(drop)
    })
}

fn read_output_schema(at: &Cursor<'_>, findings: &mut Findings) -> Option<JsonSchemaObject> {
    read_schema("outputSchema", at, findings, |schema, patterns| {
        OutputSchema::compile(schema, patterns).map(drop)
    })
}

/// Reads a JSON Schema, the value of a key. Compiles it to validate it, and reports probable mistakes in it.
fn read_schema(
    key: &str,
    at: &Cursor<'_>,
    findings: &mut Findings,
    compile: impl FnOnce(&JsonSchemaObject, &mut PatternBudget) -> Result<(), SchemaError>,
) -> Option<JsonSchemaObject> {
    let part = |pointer: &str| Cursor {
        mark: at.node.pointer(pointer).mark,
        ..at.clone()
    };
    let schema = match JsonSchemaObject::parse(at.node.to_json()) {
        Ok(schema) => schema,
        Err(error) => return part("/type").refuse(error.to_string(), findings),
    };
    let Err(error) = compile(&schema, &mut findings.patterns) else {
        for remark in lint(key, &schema) {
            let place = remark_place(at, &remark, findings);
            let warning = Diagnostic::warning(ToolErrorCode::ConfigSchema, place, remark.message);
            findings.add(warning.with_help(remark.help));
        }
        return Some(schema);
    };
    let place = findings.place(&part(error.pointer()));
    let finding = Diagnostic::error(ToolErrorCode::ConfigSchema, place, error.to_string());
    findings.add(finding.with_help(error.help()));
    None
}

/// Returns the place of a remark about the schema at a cursor.
fn remark_place(at: &Cursor<'_>, remark: &SchemaRemark, findings: &Findings) -> Place {
    let mark = match remark.part {
        SchemaPart::Value => at.node.pointer(&remark.pointer).mark,
        SchemaPart::Keyword => at.node.key(&remark.pointer),
    };
    findings.place(&Cursor { mark, ..at.clone() })
}
