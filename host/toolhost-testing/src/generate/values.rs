//! Values that a JSON Schema describes: a typical value first, then values at the bounds.
//!
//! Without declared bounds only small values are made: a tool that must be safe from large ones declares
//! a bound.

use indexmap::IndexSet;
use serde_json::{Value, json};
use toolhost_contract::JsonObject;

use super::budget::{Budget, Size};
use super::label::label;
use super::random::Random;
use super::reach::{Reach, Room};
use super::scalars::{integers, numbers, texts, types};
use crate::case_dir::SAMPLE;

/// Most values of one schema.
const VALUES_MAX: usize = 16;

/// Most branches of `anyOf` and `oneOf` followed.
const BRANCHES_MAX: usize = 8;

/// Longest list made because a schema allows it.
const LIST_MAX: usize = 100;

/// Makes values of the parts of one schema.
pub(super) struct SchemaValues<'s> {
    root: &'s Value,
    budget: &'s Budget,
}

/// A schema of objects without references and branches.
pub(super) struct ObjectSchema<'m> {
    budget: &'m Budget,
    /// Name, schema, and whether it is required.
    properties: Vec<(String, Value, bool)>,
    /// Whether it allows members that it does not name.
    is_open: bool,
}

/// An object schema with values of its properties.
pub(super) struct ObjectValues<'m> {
    budget: &'m Budget,
    reach: Reach,
    /// Name, values, and whether it is required.
    members: Vec<(String, Vec<Value>, bool)>,
    is_open: bool,
}

impl<'s> SchemaValues<'s> {
    /// `root` is the schema that references are resolved in.
    pub(super) fn new(root: &'s Value, budget: &'s Budget) -> Self {
        Self { root, budget }
    }

    /// Returns what each of so many alternatives of the root may use.
    pub(super) fn share(&self, alternatives: usize) -> Reach {
        let share = Reach::WHOLE.share(alternatives, self.budget);
        share.unwrap_or(Reach::WHOLE)
    }

    /// Returns the objects that the root describes: one for each branch.
    pub(super) fn alternatives(&self) -> Vec<ObjectSchema<'s>> {
        let branches = self.branches(self.root, Reach::WHOLE);
        let objects = branches.iter().filter_map(|schema| self.object(schema));
        objects.collect()
    }

    /// Returns the schemas of a property of these objects.
    pub(super) fn schemas_of_property(
        &self,
        objects: &[ObjectSchema<'_>],
        name: &str,
    ) -> Vec<Value> {
        let properties = objects.iter().flat_map(|object| &object.properties);
        properties
            .filter(|(known, _, _)| known == name)
            .flat_map(|(_, schema, _)| self.branches(schema, Reach::WHOLE))
            .collect()
    }

    /// Returns the properties of a schema; none if that would use too much.
    fn object(&self, schema: &Value) -> Option<ObjectSchema<'s>> {
        if !self.budget.copy_schema(Size::of(schema)) {
            return None;
        }
        let required: IndexSet<&str> = list(schema, "required").filter_map(Value::as_str).collect();
        let mut properties: Vec<(String, Value, bool)> = Vec::new();
        let named = schema.get("properties").and_then(Value::as_object);
        for (name, schema) in named.into_iter().flatten() {
            let is_required = required.contains(name.as_str());
            properties.push((name.clone(), schema.clone(), is_required));
        }
        // A required member need not have a schema.
        for name in required {
            if !named.is_some_and(|named| named.contains_key(name)) {
                properties.push((name.to_owned(), Value::Bool(true), true));
            }
        }
        Some(ObjectSchema {
            budget: self.budget,
            properties,
            is_open: schema.get("additionalProperties") != Some(&Value::Bool(false)),
        })
    }

    /// Returns the schema without references, `allOf`, `anyOf` and `oneOf`: once for each branch.
    fn branches(&self, schema: &Value, reach: Reach) -> Vec<Value> {
        let Value::Object(keys) = schema else {
            return vec![schema.clone()];
        };
        let Some(deeper) = reach.deeper() else {
            return Vec::new();
        };
        let count = |key: &str| list(schema, key).count();
        let count = 1 + count("allOf") + count("anyOf") + count("oneOf");
        let Some(deeper) = deeper.share(count, self.budget) else {
            return Vec::new();
        };
        if !self.budget.copy_schema(Size::of(schema)) {
            return Vec::new();
        }
        let mut keywords = keys.clone();
        // One branch of each part applies.
        let mut parts: Vec<Vec<Value>> = Vec::new();
        if let Some(Value::String(target)) = keywords.shift_remove("$ref") {
            let target = target.strip_prefix('#');
            let Some(target) = target.and_then(|at| self.root.pointer(at)) else {
                return Vec::new();
            };
            parts.push(self.branches(target, deeper));
        }
        if let Some(Value::Array(all)) = keywords.shift_remove("allOf") {
            parts.extend(all.iter().map(|part| self.branches(part, deeper)));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = keywords.shift_remove(key) {
                let branches = branches.iter().flat_map(|it| self.branches(it, deeper));
                parts.push(branches.take(BRANCHES_MAX).collect());
            }
        }
        let mut merged = vec![keywords];
        for branches in parts {
            let pairs = merged
                .iter()
                .flat_map(|whole| branches.iter().map(move |branch| (whole, branch)));
            let pairs = pairs.take(BRANCHES_MAX).filter(|(whole, branch)| {
                let size = Size::of_object(whole).and(Size::of(branch));
                self.budget.copy_schema(size)
            });
            merged = pairs.map(|(whole, branch)| merge(whole, branch)).collect();
        }
        merged.into_iter().map(Value::Object).collect()
    }

    /// Returns values of a schema, a typical one first.
    fn values(&self, schema: &Value, reach: Reach) -> Vec<Value> {
        let Some(deeper) = reach.deeper() else {
            return Vec::new();
        };
        let branches = self.branches(schema, reach);
        let types_in = |schema: &Value| types(schema).len();
        let parts = branches.iter().map(types_in).sum();
        let Some(deeper) = deeper.share(parts, self.budget) else {
            return Vec::new();
        };
        let mut values = Distinct::new(reach.room(self.budget));
        for schema in &branches {
            for key in ["default", "const"] {
                values.extend(schema.get(key).into_iter().cloned());
            }
            for key in ["examples", "enum"] {
                values.extend(list(schema, key).cloned());
            }
            let lists = |key| list(schema, key).next().is_some();
            // Examples are the author's choice: other values may take long, or be refused by another service.
            if schema.get("const").is_none() && !lists("enum") && !lists("examples") {
                for name in types(schema) {
                    values.extend(self.of_type(name, schema, deeper));
                }
            }
        }
        values.values
    }

    fn of_type(&self, name: &str, schema: &Value, reach: Reach) -> Vec<Value> {
        match name {
            "string" => texts(schema, &mut reach.room(self.budget)),
            "integer" => integers(schema),
            "number" => numbers(schema),
            "boolean" => vec![true.into(), false.into()],
            "null" => vec![Value::Null],
            "array" => self.lists(schema, reach),
            "object" => {
                let object = self.object(schema);
                let variants = object.map(|object| object.values(self, reach).variants());
                let variants = variants.into_iter().flatten();
                variants.map(|(_, args)| Value::Object(args)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn lists(&self, schema: &Value, reach: Reach) -> Vec<Value> {
        let first = list(schema, "prefixItems");
        let Some(share) = reach.share(1 + first.count(), self.budget) else {
            return Vec::new();
        };
        let first = list(schema, "prefixItems");
        let first = first.filter_map(|schema| self.values(schema, share).into_iter().next());
        let first: Vec<Value> = first.collect();
        let items = match schema.get("items") {
            Some(items) => self.values(items, share),
            None => vec![json!(SAMPLE)],
        };
        let count = |key: &str| {
            let count = schema.get(key).and_then(Value::as_u64);
            count.map(|count| usize::try_from(count).unwrap_or(usize::MAX))
        };
        let least = count("minItems").unwrap_or(0).min(LIST_MAX);
        let mut room = reach.room(self.budget);
        let mut of = |length: usize| -> Option<Value> {
            let lists = || first.iter().chain(items.iter().cycle()).take(length);
            let size = lists().map(Size::of).fold(Size::text(0), Size::and);
            room.take(size).then(|| lists().cloned().collect())
        };
        let mut lists = vec![of(least.max(1).max(first.len())), of(least)];
        lists.extend(
            count("maxItems")
                .filter(|most| *most <= LIST_MAX)
                .map(&mut of),
        );
        lists.push(of(items.len() + first.len()));
        let mut lists: Vec<Value> = lists.into_iter().flatten().collect();
        for item in items {
            if room.take(Size::of(&item)) {
                lists.push(json!([item]));
            }
        }
        lists
    }
}

/// Collects values that differ, as many as there is room for.
struct Distinct<'b> {
    values: Vec<Value>,
    room: Room<'b>,
}

impl<'b> Distinct<'b> {
    fn new(room: Room<'b>) -> Self {
        let values = Vec::new();
        Self { values, room }
    }

    fn extend(&mut self, more: impl IntoIterator<Item = Value>) {
        for value in more {
            if self.values.len() >= VALUES_MAX {
                return;
            }
            if !self.values.contains(&value) && self.room.take(Size::of(&value)) {
                self.values.push(value);
            }
        }
    }
}

/// Returns the items of a keyword whose value is a list.
fn list<'v>(schema: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    let list = schema.get(key).and_then(Value::as_array);
    list.into_iter().flatten()
}

/// Merges a part into a copy of a schema: adds to `properties` and `required`, replaces other keywords.
fn merge(whole: &JsonObject, part: &Value) -> JsonObject {
    let mut whole = whole.clone();
    for (key, value) in part.as_object().into_iter().flatten() {
        match (whole.get_mut(key), value) {
            (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                known.extend(more.clone());
            }
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                known.extend_from_slice(more);
            }
            (_, value) => {
                whole.insert(key.clone(), value.clone());
            }
        }
    }
    whole
}

impl<'m> ObjectSchema<'m> {
    /// Makes values of its properties.
    pub(super) fn values(&self, values: &SchemaValues<'_>, reach: Reach) -> ObjectValues<'m> {
        let share = match self.properties.len() {
            0 => None,
            count => reach.share(count, self.budget),
        };
        let members = self.properties.iter().map(|(name, schema, is_required)| {
            let values = share.map(|share| values.values(schema, share));
            (name.clone(), values.unwrap_or_default(), *is_required)
        });
        ObjectValues {
            budget: self.budget,
            reach,
            members: members.collect(),
            is_open: self.is_open,
        }
    }
}

impl ObjectValues<'_> {
    /// Returns objects that fit, each with what is special about it.
    pub(super) fn variants(&self) -> Vec<(String, JsonObject)> {
        let taken = |with_optional: bool| {
            let members = self.members.iter();
            let taken = members.filter(move |(_, _, required)| *required || with_optional);
            taken.filter_map(|(name, values, _)| Some((name, values.first()?)))
        };
        let mut room = self.reach.room(self.budget);
        let mut object = |with_optional: bool| -> Option<JsonObject> {
            let sizes = taken(with_optional).map(|(name, value)| Size::member(name, value));
            let size = sizes.fold(Size::text(0), Size::and);
            let members = taken(with_optional).map(|(name, value)| (name.clone(), value.clone()));
            room.take(size).then(|| members.collect())
        };
        let (least, every) = (object(false), object(true));
        let mut variants = Vec::new();
        let mut add = |name: &str, args: Option<&JsonObject>| {
            variants.extend(args.map(|args| (name.to_owned(), args.clone())));
        };
        add("required arguments only", least.as_ref());
        add("every argument", every.as_ref());
        // Without the least object there is none with one member more.
        let Some(least) = least else {
            return variants;
        };
        let least_size = Size::of_object(&least);
        for (name, values, _) in &self.members {
            for value in values {
                if room.take(least_size.and(Size::member(name, value))) {
                    let mut args = least.clone();
                    args.insert(name.clone(), value.clone());
                    variants.push((label(name, value), args));
                }
            }
        }
        if self.is_open {
            let mut args = least;
            args.insert("notInTheSchema".to_owned(), json!({"a": [1, "b"]}));
            variants.push(("an argument that the schema does not name".to_owned(), args));
        }
        variants
    }

    /// Returns an object with random members.
    pub(super) fn random(&self, random: &mut Random) -> JsonObject {
        let mut args = JsonObject::new();
        for (name, values, required) in &self.members {
            if !required && random.coin() {
                continue;
            }
            if let Some(value) = random.one_of(values) {
                args.insert(name.clone(), value.clone());
            }
        }
        args
    }
}
