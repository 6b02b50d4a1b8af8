//! Reads `kind: Tool`.

use std::collections::HashMap;

use toolhost_contract::{
    ErrorMessageLimit, ExportName, JsonSchemaObject, ResourceName, ToolErrorCode, ToolExportSpec,
    ToolName, ToolSpec,
};

use crate::diagnostic::{Diagnostic, Place};
use crate::reader::{Cursor, Fields, Findings};
use crate::schema::{ArgsSchema, SchemaError};
use crate::yaml::Value;
use toolhost_contract::text;

/// Longest text quoted, in characters.
const QUOTED_MAX: usize = 80;

/// Where the parts of a Tool stand, for findings that only its component brings to light.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolPlaces {
    /// `metadata.name`.
    pub name: Place,
    /// `spec.entry`.
    pub entry: Place,
    /// `spec.exports[].name`, in the order of the exports.
    pub exports: Vec<Place>,
}

/// A Tool's spec and the places of its parts.
#[derive(Debug)]
pub(super) struct ReadSpec {
    pub(super) spec: ToolSpec,
    pub(super) entry: Place,
    pub(super) exports: Vec<Place>,
}

/// Reads `spec`; none where anything in it is wrong.
///
/// Spec: tool-spec-v2 §4.2, §4.3.
pub(super) fn read_spec(
    resource: &Fields<'_>,
    tool: Option<&ResourceName>,
    findings: &mut Findings,
) -> Option<ReadSpec> {
    let spec = resource.required("spec", findings)?.fields(findings)?;
    refuse_removed(&spec, findings);
    spec.refuse_unknown(
        &["entry", "errorMessageLimit", "exports", "runtime", "auth"],
        findings,
    );
    let limit = match spec.get("errorMessageLimit") {
        Some(at) => read_limit(&at, findings),
        None => Some(ErrorMessageLimit::DEFAULT),
    };
    let entry_at = spec.required("entry", findings);
    let entry = entry_at
        .as_ref()
        .and_then(|at| read_entry(at, findings).map(|entry| (entry, findings.place(at))));
    let exports_at = spec.required("exports", findings);
    let exports = exports_at.and_then(|at| read_exports(&at, tool, findings));
    let ((entry, entry_place), (exports, export_places)) = (entry?, exports?);
    Some(ReadSpec {
        spec: ToolSpec {
            entry,
            error_message_limit: limit?,
            exports,
        },
        entry: entry_place,
        exports: export_places,
    })
}

fn refuse_removed(spec: &Fields<'_>, findings: &mut Findings) {
    for (name, key, _) in spec.entries() {
        let help = match name {
            "runtime" => "Remove it: every Tool is a WASI component.",
            "auth" => "Remove it: credentials are the business of an Extension.",
            _ => continue,
        };
        let place = findings.place(&key);
        let message = format!("'spec.{name}' was removed in v2");
        let error = Diagnostic::error(ToolErrorCode::ConfigSchema, place, message);
        findings.add(error.with_help(help));
    }
}

/// Reads the path of the component. Whether a file is there is found when it is opened.
fn read_entry(at: &Cursor<'_>, findings: &mut Findings) -> Option<String> {
    let entry = at.text(findings)?;
    let shown = text::shorten(entry, QUOTED_MAX);
    let place = |message: &str| format!("entry '{shown}' {message}");
    let problem = if entry.trim().is_empty() {
        findings.invalid(at, "'entry' is empty");
        return None;
    } else if entry.contains('\0') {
        place("contains a NUL character")
    } else if entry.starts_with(['/', '\\']) {
        place("is absolute: it must be relative to the bundle's directory")
    } else if entry.split(['/', '\\']).any(|part| part == "..") {
        place("contains '..': it must lie beneath the bundle's directory")
    } else {
        return Some(entry.to_owned());
    };
    findings.error(ToolErrorCode::ConfigEntry, at, problem);
    None
}

/// Reads a positive integer, written as one: `1e3` is a decimal number in YAML, `"10"` a string.
fn read_limit(at: &Cursor<'_>, findings: &mut Findings) -> Option<ErrorMessageLimit> {
    let limit = match &at.node.value {
        Value::Integer(number) => u32::try_from(*number).ok().and_then(ErrorMessageLimit::new),
        Value::Null
        | Value::Bool(_)
        | Value::Float(_)
        | Value::Text(_)
        | Value::List(_)
        | Value::Map(_) => {
            return at.expected("a positive integer, such as 1000,", findings);
        }
    };
    if limit.is_none() {
        let message = format!("'errorMessageLimit' must be between 1 and {}", u32::MAX);
        findings.invalid(at, message);
    }
    limit
}

fn read_exports(
    at: &Cursor<'_>,
    tool: Option<&ResourceName>,
    findings: &mut Findings,
) -> Option<(Vec<ToolExportSpec>, Vec<Place>)> {
    let items = at.items(findings)?;
    if items.is_empty() {
        findings.invalid(at, "'exports' is empty: a Tool serves at least one");
        return None;
    }
    let mut named: HashMap<String, Place> = HashMap::new();
    let count = items.len();
    let mut exports = Vec::new();
    let mut places = Vec::new();
    for item in items {
        let Some((export, place)) = read_export(&item, tool, findings) else {
            continue;
        };
        if let Some(first) = named.get(export.name.as_str()) {
            let message = format!("duplicate export '{}'", export.name);
            let twice = Diagnostic::error(ToolErrorCode::ConfigDuplicate, place, message);
            findings.add(twice.with_related("here first", first.clone()));
            continue;
        }
        named.insert(export.name.to_string(), place.clone());
        exports.push(export);
        places.push(place);
    }
    (exports.len() == count).then_some((exports, places))
}

fn read_export(
    at: &Cursor<'_>,
    tool: Option<&ResourceName>,
    findings: &mut Findings,
) -> Option<(ToolExportSpec, Place)> {
    let fields = at.fields(findings)?;
    fields.refuse_unknown(&["name", "description", "parameters"], findings);
    let description = match fields.get("description") {
        Some(at) => at.text(findings).map(|text| Some(text.to_owned())),
        None => Some(None),
    };
    let parameters = match fields.get("parameters") {
        Some(at) => read_parameters(&at, findings).map(Some),
        None => Some(None),
    };
    let name_at = fields.required("name", findings)?;
    let name = name_at.name(ExportName::parse, findings)?;
    if let Some(Err(error)) = tool.map(|tool| ToolName::new(tool.clone(), name.clone())) {
        let message = format!("the model would see {error}");
        findings.error(ToolErrorCode::ConfigName, &name_at, message);
        return None;
    }
    let export = ToolExportSpec {
        name,
        description: description?,
        parameters: parameters?,
    };
    Some((export, findings.place(&name_at)))
}

/// Reads a JSON Schema, and compiles it to see that it is one.
fn read_parameters(at: &Cursor<'_>, findings: &mut Findings) -> Option<JsonSchemaObject> {
    let schema = match JsonSchemaObject::parse(at.node.to_json()) {
        Ok(schema) => schema,
        Err(error) => {
            let kind = Cursor {
                mark: at.node.pointer("/type").mark,
                ..at.clone()
            };
            findings.invalid(&kind, error.to_string());
            return None;
        }
    };
    let Err(error) = ArgsSchema::compile(&schema, &mut findings.patterns) else {
        return Some(schema);
    };
    let exact = Cursor {
        mark: at.node.pointer(error.pointer()).mark,
        ..at.clone()
    };
    let place = findings.place(&exact);
    let finding = Diagnostic::error(ToolErrorCode::ConfigSchema, place, error.to_string());
    findings.add(finding.with_help(help_for(&error)));
    None
}

fn help_for(error: &SchemaError) -> &'static str {
    match error {
        SchemaError::OuterRef { .. } | SchemaError::DanglingRef { .. } => {
            "Put the definition under $defs and write $ref: '#/$defs/name'."
        }
        SchemaError::Pattern { .. } => {
            "Write it without look-around and back-references, and with small repetitions."
        }
        SchemaError::CircularRef { .. } => {
            "Refer to the schema from a property or an item instead."
        }
        SchemaError::TooLarge { .. }
        | SchemaError::TooDeep { .. }
        | SchemaError::TooManyPatterns { .. }
        | SchemaError::PatternsTooLarge
        | SchemaError::TooManySubschemas
        | SchemaError::TooManyVisits => "Describe the arguments with less: a model must read it.",
        SchemaError::Invalid { .. } => "Write parameters as JSON Schema, draft 2020-12.",
    }
}
