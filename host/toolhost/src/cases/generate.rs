//! Cases that follow from a tool's own schema: arguments that fit it, arguments that do not, and
//! hostile texts wherever it takes text.
//!
//! Pure and deterministic: the same schema and the same seed give the same cases. Whether arguments
//! fit is asked of the validator that calls meet, so that no case is wrong about it.

mod breaking;
mod hostile;
mod pattern;
mod random;
mod values;

use std::collections::HashSet;

use serde_json::Value;
use toolhost_contract::{
    ErrorCode, JsonObject, JsonSchemaObject, ToolCatalogItem, ToolErrorCode, ToolName, ToolResult,
    ToolStatus,
};

use super::Mismatch;
use random::Random;
use toolhost_contract::text;
use toolhost_manifest::schema::{ArgsSchema, PatternBudget};
use values::Maker;
pub(super) use values::SAMPLE;

/// Most cases of arguments that fit, for one export: each is a call.
const MOST_VALID: usize = 48;

/// Most cases of arguments that do not fit: the tool never runs.
const MOST_INVALID: usize = 200;

/// Cases whose arguments are drawn at random.
const DRAWN: usize = 8;

/// Longest value in the name of a case, in characters.
const SHOWN_MAX: usize = 40;

/// A case that follows from a schema.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The tool.
    pub tool: ToolName,
    /// What is special about its arguments: `path = "../../etc/passwd"`.
    pub name: String,
    /// Its arguments.
    pub args: JsonObject,
    /// What must come of it.
    pub kind: GeneratedKind,
}

/// What must come of a case that follows from a schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GeneratedKind {
    /// The arguments fit: a result of the tool's own, an error too, but no crash.
    Valid,
    /// They do not fit: refused before the tool runs.
    Invalid,
    /// They fit, and try to do harm: as `Valid`, and nothing outside the workdir is read or changed.
    Hostile,
}

impl GeneratedKind {
    /// In a word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Invalid => "invalid",
            Self::Hostile => "hostile",
        }
    }
}

impl Generated {
    /// What is wrong with the result; none where it is as it must be.
    #[must_use]
    pub fn judge(&self, result: &ToolResult) -> Option<Mismatch> {
        let (expected, fine) = match self.kind {
            GeneratedKind::Invalid => (
                "E_TOOL_INVALID_ARGS, before the tool runs",
                is_host_code(result, &[ToolErrorCode::InvalidArgs]),
            ),
            GeneratedKind::Valid | GeneratedKind::Hostile => (
                "a result of the tool's own: ok, pending, or an error that it raises",
                !is_host_code(result, &FAULTS),
            ),
        };
        if fine {
            return None;
        }
        let got = match (result.status(), result.tool_error()) {
            (_, Some(error)) => error.to_string(),
            (ToolStatus::Ok, None) => "ok".to_owned(),
            (ToolStatus::Pending | ToolStatus::Error, None) => "pending".to_owned(),
        };
        Some(Mismatch::new("result", expected, &got))
    }
}

/// Results that no tool should come to, whatever fits its schema.
const FAULTS: [ToolErrorCode; 11] = [
    ToolErrorCode::InvalidArgs,
    ToolErrorCode::Timeout,
    ToolErrorCode::OutOfMemory,
    ToolErrorCode::Trap,
    ToolErrorCode::Exit,
    ToolErrorCode::InvalidOutput,
    ToolErrorCode::OutputTooLarge,
    ToolErrorCode::Denied,
    ToolErrorCode::Host,
    ToolErrorCode::NotInCatalog,
    ToolErrorCode::NotFound,
];

fn is_host_code(result: &ToolResult, codes: &[ToolErrorCode]) -> bool {
    match result.tool_error().map(|error| &error.code) {
        Some(ErrorCode::Host(code)) => codes.contains(code),
        Some(ErrorCode::Handler(_)) | None => false,
    }
}

/// The cases of every tool, in order; each kind together. They are meant for
/// [`Surroundings`](super::Surroundings), to whose secret the hostile ones try to find.
#[must_use]
pub fn generated(tools: &[ToolCatalogItem], seed: u64) -> Vec<Generated> {
    tools.iter().flat_map(|tool| of(tool, seed)).collect()
}

/// The cases of one tool.
fn of(tool: &ToolCatalogItem, seed: u64) -> Vec<Generated> {
    let parameters = tool.parameters.clone();
    let parameters = parameters.unwrap_or_else(JsonSchemaObject::any_object);
    // It compiled when the bundle was loaded.
    let Ok(schema) = ArgsSchema::compile(&parameters, &mut PatternBudget::default()) else {
        return Vec::new();
    };
    let root = parameters.to_value();
    let maker = Maker::new(&root);
    let mut all = Collected {
        tool: &tool.name,
        schema: &schema,
        seen: HashSet::new(),
        cases: Vec::new(),
    };
    let mut bases = Vec::new();
    for object in maker.alternatives() {
        for (name, args) in object.shapes() {
            bases.extend(all.add(GeneratedKind::Valid, &name, args));
        }
    }
    let mut random = Random::new(seed, tool.name.as_str());
    for number in 1..=DRAWN {
        for object in maker.alternatives() {
            let args = object.drawn(&mut random);
            all.add(GeneratedKind::Valid, &format!("drawn {number}"), args);
        }
    }
    // The fullest first: it has the most places for text.
    bases.sort_by_key(|args| std::cmp::Reverse(args.len()));
    if let Some(base) = bases.first() {
        for (name, args) in breaking::of(&maker, base) {
            all.add(GeneratedKind::Invalid, &name, args);
        }
        for (name, args) in hostile::of(base) {
            all.add(GeneratedKind::Hostile, &name, args);
        }
    }
    all.cases
}

/// Cases of one tool, each of other arguments.
struct Collected<'a> {
    tool: &'a ToolName,
    schema: &'a ArgsSchema,
    seen: HashSet<String>,
    cases: Vec<Generated>,
}

impl Collected<'_> {
    /// Adds a case where the arguments are as its kind wants them; gives them back if they are.
    fn add(&mut self, kind: GeneratedKind, name: &str, args: JsonObject) -> Option<JsonObject> {
        let value = Value::Object(args);
        let fits = self.schema.validate(self.tool, &value).is_ok();
        let Value::Object(args) = value else {
            return None;
        };
        if fits == (kind == GeneratedKind::Invalid) {
            return None;
        }
        let of_kind = self.cases.iter().filter(|case| case.kind == kind).count();
        let most = match kind {
            GeneratedKind::Invalid => MOST_INVALID,
            GeneratedKind::Valid => MOST_VALID,
            // As many as there are texts and places for them.
            GeneratedKind::Hostile => usize::MAX,
        };
        let new = self
            .seen
            .insert(serde_json::to_string(&args).unwrap_or_default());
        if new && of_kind < most {
            self.cases.push(Generated {
                tool: self.tool.clone(),
                name: name.to_owned(),
                args: args.clone(),
                kind,
            });
        }
        Some(args)
    }
}

/// `path = "a.txt"`, for the name of a case.
fn shown(place: &str, value: &Value) -> String {
    let long = value
        .as_str()
        .filter(|text| text.chars().nth(SHOWN_MAX).is_some());
    let value = match long {
        Some(text) => {
            let begin = Value::from(text::cut(text, 8));
            format!("{begin}… of {} characters", text.chars().count())
        }
        None => value.to_string(),
    };
    format!("{place} = {}", text::shorten(&value, SHOWN_MAX))
}

#[cfg(test)]
mod tests;
