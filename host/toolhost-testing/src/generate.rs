//! Generates cases from a tool's schema: arguments that fit, arguments that do not, and hostile texts
//! wherever the tool takes a text.
//!
//! Deterministic: the same schema and seed give the same cases. The validator that checks real calls
//! decides whether arguments fit, so that no case is wrong about it.

mod hostile;
mod invalid;
mod label;
mod pattern;
mod random;
mod reach;
mod scalars;
mod values;

use std::cmp::Reverse;
use std::collections::HashSet;

use serde_json::Value;
use toolhost_contract::{JsonObject, JsonSchemaObject, ToolCatalogItem, ToolName};
use toolhost_manifest::schema::{ArgsSchema, PatternBudget, json};

use crate::generated_case::{GeneratedCase, GeneratedKind};
use random::Random;
use values::SchemaValues;

/// Most valid cases of one tool. Each runs the tool.
const VALID_MAX: usize = 48;

/// Most invalid cases of one tool. None runs the tool.
const INVALID_MAX: usize = 200;

/// Cases with random arguments, for each alternative of a schema.
const RANDOM_CASES: usize = 8;

/// The cases of some tools.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Generated {
    /// The cases, in the order of the tools and grouped by kind.
    pub(crate) cases: Vec<GeneratedCase>,
    /// The tools whose schemas describe more than the cases cover, and how many parts of each schema, and
    /// values of them, were left out.
    pub(crate) left_out: Vec<(ToolName, u32)>,
}

/// Generates the cases of every tool. Hostile cases expect the bait of a `CaseDir`.
pub(crate) fn generate(tools: &[ToolCatalogItem], seed: u64) -> Generated {
    let mut all = Generated::default();
    for tool in tools {
        let (cases, left_out) = generate_for(tool, seed);
        all.cases.extend(cases);
        if left_out > 0 {
            all.left_out.push((tool.name.clone(), left_out));
        }
    }
    all
}

/// Generates the cases of a tool. Returns how much of its schema was left out, too.
fn generate_for(tool: &ToolCatalogItem, seed: u64) -> (Vec<GeneratedCase>, u32) {
    let parameters = tool.parameters.clone();
    let parameters = parameters.unwrap_or_else(JsonSchemaObject::any_object);
    // The schema compiled when the bundle was loaded.
    let Ok(schema) = ArgsSchema::compile(&parameters, &mut PatternBudget::default()) else {
        return (Vec::new(), 0);
    };
    let root = parameters.to_value();
    let values = SchemaValues::new(&root);
    let mut cases = Cases {
        tool: &tool.name,
        schema: &schema,
        seen: HashSet::new(),
        all: Vec::new(),
    };
    let alternatives = values.alternatives();
    let reach = values.share(alternatives.len());
    let objects: Vec<_> = alternatives.iter().map(|it| it.values(reach)).collect();
    let mut bases = Vec::new();
    for object in &objects {
        for (name, args) in object.variants() {
            bases.extend(cases.add(GeneratedKind::Valid, &name, args));
        }
    }
    let mut random = Random::new(seed, tool.name.as_str());
    for number in 1..=RANDOM_CASES {
        for object in &objects {
            let args = object.random(&mut random);
            cases.add(GeneratedKind::Valid, &format!("drawn {number}"), args);
        }
    }
    // The object with the most members has the most texts to replace.
    bases.sort_by_key(|args| Reverse(args.len()));
    if let Some(base) = bases.first() {
        for (name, args) in invalid::variants(&values, base) {
            cases.add(GeneratedKind::Invalid, &name, args);
        }
        for (name, args) in hostile::variants(base) {
            cases.add(GeneratedKind::Hostile, &name, args);
        }
    }
    (cases.all, values.left_out())
}

/// The cases of one tool, without repeated arguments.
struct Cases<'a> {
    tool: &'a ToolName,
    schema: &'a ArgsSchema,
    seen: HashSet<String>,
    all: Vec<GeneratedCase>,
}

impl Cases<'_> {
    /// Adds a case, unless its arguments are valid where the kind wants invalid ones or the reverse.
    /// Returns the arguments if they are as the kind wants them.
    fn add(&mut self, kind: GeneratedKind, name: &str, args: JsonObject) -> Option<JsonObject> {
        let value = Value::Object(args);
        let size = json::measure(&value);
        let is_valid = self.schema.validate(self.tool, &value, size).is_ok();
        let Value::Object(args) = value else {
            return None;
        };
        if is_valid == (kind == GeneratedKind::Invalid) {
            return None;
        }
        let count = self.all.iter().filter(|case| case.kind == kind).count();
        let most = match kind {
            GeneratedKind::Invalid => INVALID_MAX,
            GeneratedKind::Valid => VALID_MAX,
            // The list of hostile texts bounds them.
            GeneratedKind::Hostile => usize::MAX,
        };
        let json = serde_json::to_string(&args).unwrap_or_default();
        if self.seen.insert(json) && count < most {
            self.all.push(GeneratedCase {
                tool: self.tool.clone(),
                name: name.to_owned(),
                args: args.clone(),
                kind,
            });
        }
        Some(args)
    }
}

#[cfg(test)]
mod tests;
