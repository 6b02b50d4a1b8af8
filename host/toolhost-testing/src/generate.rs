//! Generates cases from a tool's schema: arguments that fit, arguments that do not, and hostile texts
//! wherever the tool takes a text.
//!
//! Deterministic: the same schema and seed give the same cases. The validator that checks real calls
//! decides whether arguments fit, so that no case is wrong about it.

mod budget;
mod change;
mod hostile;
mod invalid;
mod label;
mod pattern;
mod random;
mod reach;
mod scalars;
mod values;

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;
use toolhost_contract::{JsonObject, JsonSchemaObject, ToolCatalogItem, ToolName};
use toolhost_schema::{ArgsSchema, PatternBudget, json};

use crate::generated_case::{GeneratedCase, GeneratedKind};
use budget::{Allowance, Budget, Size};
use change::Change;
use random::Random;
use reach::VALUE_BYTES_MAX;
use values::{ObjectSchema, SchemaValues};

pub use budget::LeftOut;

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
    /// What the cases leave out.
    pub(crate) left_out: Vec<LeftOut>,
}

/// Generates the cases of every tool, within a budget of values, bytes and time. Hostile cases expect the
/// bait of a `CaseDir`.
pub(crate) fn generate(tools: &[ToolCatalogItem], seed: u64) -> Generated {
    let mut generated = Generated::default();
    let mut allowance = Allowance::default();
    for (index, tool) in tools.iter().enumerate() {
        generate_for(
            tool,
            seed,
            tools.len() - index,
            &mut allowance,
            &mut generated,
        );
    }
    generated
}

/// Returns arguments that fit the schema of a tool: those that it requires, and no others. Returns none if the
/// generator finds none. The same schema gives the same arguments.
pub fn example_arguments(tool: &ToolCatalogItem) -> Option<JsonObject> {
    let cases = generate(std::slice::from_ref(tool), 0).cases;
    let first = cases
        .into_iter()
        .find(|case| case.kind == GeneratedKind::Valid);
    first.map(|case| case.args)
}

/// Generates the cases of a tool. `tools` is the number of tools that are left, with this one.
fn generate_for(
    tool: &ToolCatalogItem,
    seed: u64,
    tools: usize,
    allowance: &mut Allowance,
    generated: &mut Generated,
) {
    let parameters = tool.parameters.clone();
    let parameters = parameters.unwrap_or_else(JsonSchemaObject::any_object);
    // The schema compiled when the bundle was loaded.
    let Ok(schema) = ArgsSchema::compile(&parameters, &mut PatternBudget::default()) else {
        return;
    };
    let root = parameters.to_value();
    let (memory, until) = allowance.share(tools);
    // One for each kind, so that none leaves the others without.
    let budgets = [(); 3].map(|()| Budget::new(until));
    let [valid, invalid, hostile] = &budgets;
    let mut cases = Cases {
        tool: &tool.name,
        schema: &schema,
        hashes: HashSet::new(),
        list: Vec::new(),
        memory: 0,
        memory_max: memory / 2,
    };
    let values = SchemaValues::new(&root, valid);
    let objects = values.alternatives();
    let base = cases.add_valid(&values, &objects, seed, valid);
    let is_empty = base.is_none();
    if let Some(base) = base {
        cases.memory_max = memory - memory / 4;
        let values = SchemaValues::new(&root, invalid);
        let changes = invalid::changes(&values, &objects, &base, invalid);
        cases.add_changed(GeneratedKind::Invalid, &base, changes, invalid);
        cases.memory_max = memory;
        let changes = hostile::changes(&base);
        cases.add_changed(GeneratedKind::Hostile, &base, changes, hostile);
    }
    allowance.take(cases.memory);
    generated.cases.extend(cases.list);
    let left_out = budgets.iter().map(Budget::left_out);
    let count = left_out.fold(0, u32::saturating_add);
    if count > 0 || is_empty {
        generated.left_out.push(LeftOut {
            tool: tool.name.clone(),
            count,
            is_late: budgets.iter().any(Budget::is_late),
        });
    }
}

/// The cases of one tool, without repeated arguments.
struct Cases<'a> {
    tool: &'a ToolName,
    schema: &'a ArgsSchema,
    /// The hashes of the arguments.
    hashes: HashSet<u64>,
    list: Vec<GeneratedCase>,
    /// The memory of the cases, in bytes.
    memory: usize,
    memory_max: usize,
}

impl Cases<'_> {
    /// Adds cases with arguments that fit. Returns the arguments with the most members: they have the most
    /// texts to replace.
    fn add_valid(
        &mut self,
        values: &SchemaValues<'_>,
        objects: &[ObjectSchema<'_>],
        seed: u64,
        budget: &Budget,
    ) -> Option<JsonObject> {
        let reach = values.share(objects.len());
        let objects = objects.iter().map(|it| it.values(values, reach));
        let objects: Vec<_> = objects.collect();
        let mut base: Option<JsonObject> = None;
        for object in &objects {
            for (name, args) in object.variants() {
                let case_args = self.add(GeneratedKind::Valid, &name, args, budget);
                let most = base.as_ref().map(JsonObject::len);
                let larger = case_args.filter(|args| most.is_none_or(|most| args.len() > most));
                base = larger.or(base);
            }
        }
        let mut random = Random::new(seed, self.tool.as_str());
        for number in 1..=RANDOM_CASES {
            for object in &objects {
                let args = object.random(&mut random);
                if budget.spend(Size::of_object(&args)) {
                    let name = format!("drawn {number}");
                    self.add(GeneratedKind::Valid, &name, args, budget);
                }
            }
        }
        base
    }

    /// Adds a case for each change of arguments that fit.
    fn add_changed(
        &mut self,
        kind: GeneratedKind,
        base: &JsonObject,
        changes: impl IntoIterator<Item = Change>,
        budget: &Budget,
    ) {
        let size = Size::of_object(base);
        for change in changes {
            if self.is_full(kind) {
                break;
            }
            if budget.spend(size.and(change.size())) {
                let name = change.name.clone();
                self.add(kind, &name, change.apply(base), budget);
            }
        }
    }

    /// Adds a case, unless its arguments are valid where the kind wants invalid ones or the reverse.
    /// Returns the arguments if they are as the kind wants them.
    fn add(
        &mut self,
        kind: GeneratedKind,
        name: &str,
        args: JsonObject,
        budget: &Budget,
    ) -> Option<JsonObject> {
        let size = Size::of_object(&args);
        if size.bytes > VALUE_BYTES_MAX {
            budget.leave_out();
            return None;
        }
        // Checks the time: some schemas are slow to validate.
        if !budget.spend(Size::default()) {
            return None;
        }
        let value = Value::Object(args);
        let measure = json::measure(&value);
        let is_valid = self.schema.validate(self.tool, &value, measure).is_ok();
        let Value::Object(args) = value else {
            return None;
        };
        if is_valid == (kind == GeneratedKind::Invalid) {
            return None;
        }
        if !self.is_full(kind) && self.hashes.insert(hash(&args)) {
            let total = self.memory.saturating_add(size.memory());
            if total > self.memory_max {
                budget.leave_out();
                return Some(args);
            }
            self.memory = total;
            self.list.push(GeneratedCase {
                tool: self.tool.clone(),
                name: name.to_owned(),
                args: args.clone(),
                kind,
            });
        }
        Some(args)
    }

    /// Returns whether there are as many cases of a kind as there may be.
    fn is_full(&self, kind: GeneratedKind) -> bool {
        let count = self.list.iter().filter(|case| case.kind == kind).count();
        match kind {
            GeneratedKind::Invalid => count >= INVALID_MAX,
            GeneratedKind::Valid => count >= VALID_MAX,
            // The list of hostile texts bounds them.
            GeneratedKind::Hostile => false,
        }
    }
}

fn hash(args: &JsonObject) -> u64 {
    let mut hasher = DefaultHasher::new();
    let json = serde_json::to_string(args).unwrap_or_default();
    json.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests;
