//! Values that a JSON Schema describes: a typical value first, then values at the bounds.
//!
//! Without declared bounds only small values are made: a tool that must be safe from large ones declares
//! a bound.

use serde_json::{Map, Value, json};
use toolhost_contract::JsonObject;

use super::label::label;
use super::random::Random;
use super::scalars::{integers, numbers, texts, types};
use crate::bait::SAMPLE;

/// Deepest nesting of schemas that is followed.
const DEPTH_MAX: usize = 6;

/// Most values of one schema.
const VALUES_MAX: usize = 16;

/// Most branches of `anyOf` and `oneOf` followed.
const BRANCHES_MAX: usize = 8;

/// Longest list made because a schema allows it.
const LIST_MAX: u64 = 100;

/// Makes values of the parts of one schema.
pub(super) struct SchemaValues<'s> {
    root: &'s Value,
}

/// A schema of objects without references and branches.
pub(super) struct ObjectSchema<'m> {
    values: &'m SchemaValues<'m>,
    /// Name, schema, and whether it is required.
    properties: Vec<(String, Value, bool)>,
    /// Whether it allows members that it does not name.
    is_open: bool,
}

impl<'s> SchemaValues<'s> {
    /// `root` is the schema that references are resolved in.
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root }
    }

    /// Returns the objects that the root describes: one for each branch.
    pub(super) fn alternatives(&self) -> Vec<ObjectSchema<'_>> {
        let branches = self.branches(self.root, DEPTH_MAX);
        branches.iter().map(|schema| self.object(schema)).collect()
    }

    /// Returns the schemas of a property of the root.
    pub(super) fn schemas_of_property(&self, name: &str) -> Vec<Value> {
        let mut schemas = Vec::new();
        for object in self.alternatives() {
            for (_, schema, _) in object
                .properties
                .iter()
                .filter(|(known, _, _)| known == name)
            {
                schemas.extend(self.branches(schema, DEPTH_MAX));
            }
        }
        schemas
    }

    fn object(&self, schema: &Value) -> ObjectSchema<'_> {
        let required = |name: &str| {
            let names = schema.get("required").and_then(Value::as_array);
            names.is_some_and(|names| names.iter().any(|known| known == name))
        };
        let none = Map::new();
        let named = schema
            .get("properties")
            .and_then(Value::as_object)
            .unwrap_or(&none);
        let mut properties: Vec<(String, Value, bool)> = named
            .iter()
            .map(|(name, schema)| (name.clone(), schema.clone(), required(name)))
            .collect();
        // A required member need not have a schema.
        let names = schema.get("required").and_then(Value::as_array);
        for name in names.into_iter().flatten().filter_map(Value::as_str) {
            if !named.contains_key(name) {
                properties.push((name.to_owned(), Value::Bool(true), true));
            }
        }
        ObjectSchema {
            values: self,
            properties,
            is_open: schema.get("additionalProperties") != Some(&Value::Bool(false)),
        }
    }

    /// Returns the schema without references, `allOf`, `anyOf` and `oneOf`: once for each branch.
    fn branches(&self, schema: &Value, depth: usize) -> Vec<Value> {
        let Value::Object(keys) = schema else {
            return vec![schema.clone()];
        };
        let Some(deeper) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let mut own = keys.clone();
        let mut all = vec![Vec::new()];
        if let Some(target) = own.shift_remove("$ref").as_ref().and_then(Value::as_str) {
            let target = target
                .strip_prefix('#')
                .and_then(|at| self.root.pointer(at));
            let Some(target) = target else {
                return Vec::new();
            };
            all = product(all, &self.branches(target, deeper));
        }
        if let Some(Value::Array(parts)) = own.shift_remove("allOf") {
            for part in &parts {
                all = product(all, &self.branches(part, deeper));
            }
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = own.shift_remove(key) {
                let branches: Vec<Value> = branches
                    .iter()
                    .flat_map(|branch| self.branches(branch, deeper))
                    .collect();
                all = product(all, &branches);
            }
        }
        let merged = all.into_iter().map(|parts| {
            let mut whole = own.clone();
            for part in parts {
                merge(&mut whole, part);
            }
            Value::Object(whole)
        });
        merged.collect()
    }

    /// Returns values of a schema, a typical one first.
    pub(super) fn values(&self, schema: &Value, depth: usize) -> Vec<Value> {
        let Some(deeper) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let mut all: Vec<Value> = Vec::new();
        for schema in self.branches(schema, depth) {
            let known = ["default", "const"]
                .into_iter()
                .filter_map(|key| schema.get(key));
            let listed = ["examples", "enum"]
                .into_iter()
                .filter_map(|key| schema.get(key)?.as_array());
            all.extend(known.chain(listed.flatten()).cloned());
            if schema.get("const").is_none() && schema.get("enum").is_none() {
                for name in types(&schema) {
                    all.extend(self.of_type(name, &schema, deeper));
                }
            }
        }
        let mut distinct: Vec<Value> = Vec::new();
        for value in all {
            if distinct.len() < VALUES_MAX && !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        distinct
    }

    fn of_type(&self, name: &str, schema: &Value, depth: usize) -> Vec<Value> {
        match name {
            "string" => texts(schema),
            "integer" => integers(schema),
            "number" => numbers(schema),
            "boolean" => vec![true.into(), false.into()],
            "null" => vec![Value::Null],
            "array" => self.lists(schema, depth),
            "object" => {
                let variants = self.object(schema).variants_to(depth).into_iter();
                variants.map(|(_, args)| Value::Object(args)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn lists(&self, schema: &Value, depth: usize) -> Vec<Value> {
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let first: Vec<Value> = first
            .into_iter()
            .flatten()
            .filter_map(|schema| self.values(schema, depth).into_iter().next())
            .collect();
        let items = match schema.get("items") {
            Some(items) => self.values(items, depth),
            None => vec![json!(SAMPLE)],
        };
        let count = |key: &str| schema.get(key).and_then(Value::as_u64);
        let least = usize::try_from(count("minItems").unwrap_or(0).min(LIST_MAX)).unwrap_or(0);
        let of = |length: usize| {
            let more = items
                .iter()
                .cycle()
                .take(length.saturating_sub(first.len()));
            let list: Vec<Value> = first.iter().chain(more).take(length).cloned().collect();
            Value::Array(list)
        };
        let mut all = vec![of(least.max(1).max(first.len())), of(least)];
        if let Some(most) = count("maxItems").filter(|most| *most <= LIST_MAX) {
            all.push(of(usize::try_from(most).unwrap_or(1)));
        }
        all.push(of(items.len() + first.len()));
        all.extend(items.iter().map(|item| json!([item])));
        all
    }
}

/// Adds each branch to each list.
fn product(all: Vec<Vec<Value>>, branches: &[Value]) -> Vec<Vec<Value>> {
    let with = |parts: &Vec<Value>, branch: &Value| {
        let mut parts = parts.clone();
        parts.push(branch.clone());
        parts
    };
    let pairs = all
        .iter()
        .flat_map(|parts| branches.iter().map(move |branch| with(parts, branch)));
    pairs.take(BRANCHES_MAX).collect()
}

/// Merges a part into a schema: adds to `properties` and `required`, replaces other keywords.
fn merge(whole: &mut JsonObject, part: Value) {
    let Value::Object(part) = part else { return };
    for (key, value) in part {
        match (whole.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                known.extend(more);
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend(more);
            }
            (_, value) => {
                whole.insert(key, value);
            }
        }
    }
}

impl ObjectSchema<'_> {
    /// Returns objects that fit, each with what is special about it.
    pub(super) fn variants(&self) -> Vec<(String, JsonObject)> {
        self.variants_to(DEPTH_MAX)
    }

    fn variants_to(&self, depth: usize) -> Vec<(String, JsonObject)> {
        let made: Vec<(&str, Vec<Value>, bool)> = self
            .properties
            .iter()
            .map(|(name, schema, required)| {
                (name.as_str(), self.values.values(schema, depth), *required)
            })
            .collect();
        let object = |with_optional: bool| -> JsonObject {
            let taken = made
                .iter()
                .filter(|(_, _, required)| *required || with_optional);
            taken
                .filter_map(|(name, values, _)| Some(((*name).to_owned(), values.first()?.clone())))
                .collect()
        };
        let (least, full) = (object(false), object(true));
        let mut all = vec![
            ("required arguments only".to_owned(), least.clone()),
            ("every argument".to_owned(), full),
        ];
        for (name, values, _) in &made {
            for value in values {
                let mut args = least.clone();
                args.insert((*name).to_owned(), value.clone());
                all.push((label(name, value), args));
            }
        }
        if self.is_open {
            let mut args = least;
            args.insert("notInTheSchema".to_owned(), json!({"a": [1, "b"]}));
            all.push(("an argument that the schema does not name".to_owned(), args));
        }
        all
    }

    /// Returns an object with random members.
    pub(super) fn random(&self, random: &mut Random) -> JsonObject {
        let mut args = JsonObject::new();
        for (name, schema, required) in &self.properties {
            if !required && random.coin() {
                continue;
            }
            let values = self.values.values(schema, DEPTH_MAX);
            if let Some(value) = random.one_of(&values) {
                args.insert(name.clone(), value.clone());
            }
        }
        args
    }
}
