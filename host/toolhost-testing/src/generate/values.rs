//! Values that a JSON Schema describes: a typical value first, then values at the bounds.
//!
//! Without declared bounds only small values are made: a tool that must be safe from large ones declares
//! a bound.

use serde_json::{Value, json};
use toolhost_contract::JsonObject;

use super::label::label;
use super::random::Random;
use super::reach::{LeftOut, Reach, bytes_of, bytes_of_object};
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
    left_out: LeftOut,
}

/// A schema of objects without references and branches.
pub(super) struct ObjectSchema<'m> {
    values: &'m SchemaValues<'m>,
    /// Name, schema, and whether it is required.
    properties: Vec<(String, Value, bool)>,
    /// Whether it allows members that it does not name.
    is_open: bool,
}

/// An object schema with values of its properties.
pub(super) struct ObjectValues<'m> {
    left_out: &'m LeftOut,
    reach: Reach,
    /// Name, values, and whether it is required.
    members: Vec<(&'m str, Vec<Value>, bool)>,
    is_open: bool,
}

impl<'s> SchemaValues<'s> {
    /// `root` is the schema that references are resolved in.
    pub(super) fn new(root: &'s Value) -> Self {
        let left_out = LeftOut::default();
        Self { root, left_out }
    }

    /// Returns how many parts of the schema, and values of them, were left out so far because they would
    /// use too much.
    pub(super) fn left_out(&self) -> u32 {
        self.left_out.count()
    }

    /// Returns what each of so many alternatives of the root may use.
    pub(super) fn share(&self, alternatives: usize) -> Reach {
        let share = self.left_out.share(Reach::WHOLE, alternatives);
        share.unwrap_or(Reach::WHOLE)
    }

    /// Returns the objects that the root describes: one for each branch.
    pub(super) fn alternatives(&self) -> Vec<ObjectSchema<'_>> {
        let branches = self.branches(self.root, Reach::WHOLE);
        branches.iter().map(|schema| self.object(schema)).collect()
    }

    /// Returns the schemas of a property of the root.
    pub(super) fn schemas_of_property(&self, name: &str) -> Vec<Value> {
        let objects = self.alternatives().into_iter();
        let properties = objects.flat_map(|object| object.properties);
        properties
            .filter(|(known, _, _)| known == name)
            .flat_map(|(_, schema, _)| self.branches(&schema, Reach::WHOLE))
            .collect()
    }

    fn object(&self, schema: &Value) -> ObjectSchema<'_> {
        let required: Vec<&str> = list(schema, "required").filter_map(Value::as_str).collect();
        let mut properties: Vec<(String, Value, bool)> = Vec::new();
        let named = schema.get("properties").and_then(Value::as_object);
        for (name, schema) in named.into_iter().flatten() {
            let is_required = required.contains(&name.as_str());
            properties.push((name.clone(), schema.clone(), is_required));
        }
        // A required member need not have a schema.
        for name in required {
            if !properties.iter().any(|(known, _, _)| known == name) {
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
    fn branches(&self, schema: &Value, reach: Reach) -> Vec<Value> {
        let Value::Object(keys) = schema else {
            return vec![schema.clone()];
        };
        let Some(deeper) = reach.deeper() else {
            return Vec::new();
        };
        let count = |key: &str| list(schema, key).count();
        let count = 1 + count("allOf") + count("anyOf") + count("oneOf");
        let Some(deeper) = self.left_out.share(deeper, count) else {
            return Vec::new();
        };
        let mut own = keys.clone();
        // Of each part one branch applies.
        let mut parts: Vec<Vec<Value>> = Vec::new();
        if let Some(Value::String(target)) = own.shift_remove("$ref") {
            let target = target.strip_prefix('#');
            let Some(target) = target.and_then(|at| self.root.pointer(at)) else {
                return Vec::new();
            };
            parts.push(self.branches(target, deeper));
        }
        if let Some(Value::Array(all)) = own.shift_remove("allOf") {
            parts.extend(all.iter().map(|part| self.branches(part, deeper)));
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = own.shift_remove(key) {
                let branches = branches.iter().flat_map(|it| self.branches(it, deeper));
                parts.push(branches.take(BRANCHES_MAX).collect());
            }
        }
        let mut merged = vec![own];
        for branches in parts {
            let combined = merged
                .iter()
                .flat_map(|whole| branches.iter().map(move |branch| merge(whole, branch)));
            merged = combined.take(BRANCHES_MAX).collect();
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
        let Some(deeper) = self
            .left_out
            .share(deeper, branches.iter().map(types_in).sum())
        else {
            return Vec::new();
        };
        let mut all: Vec<Value> = Vec::new();
        for schema in branches {
            all.extend(schema.get("default").cloned());
            all.extend(schema.get("const").cloned());
            all.extend(list(&schema, "examples").cloned());
            all.extend(list(&schema, "enum").cloned());
            if schema.get("const").is_none() && schema.get("enum").is_none() {
                for name in types(&schema) {
                    all.extend(self.of_type(name, &schema, deeper));
                }
            }
        }
        let mut distinct: Vec<Value> = Vec::new();
        let mut room = self.left_out.room(reach);
        for value in all {
            if distinct.len() < VALUES_MAX
                && !distinct.contains(&value)
                && room.take(bytes_of(&value))
            {
                distinct.push(value);
            }
        }
        distinct
    }

    fn of_type(&self, name: &str, schema: &Value, reach: Reach) -> Vec<Value> {
        match name {
            "string" => texts(schema),
            "integer" => integers(schema),
            "number" => numbers(schema),
            "boolean" => vec![true.into(), false.into()],
            "null" => vec![Value::Null],
            "array" => self.lists(schema, reach),
            "object" => {
                let variants = self.object(schema).values(reach).variants().into_iter();
                variants.map(|(_, args)| Value::Object(args)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn lists(&self, schema: &Value, reach: Reach) -> Vec<Value> {
        let first = list(schema, "prefixItems");
        let Some(share) = self.left_out.share(reach, 1 + first.count()) else {
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
        let mut room = self.left_out.room(reach);
        let mut of = |length: usize| -> Option<Value> {
            let all = || first.iter().chain(items.iter().cycle()).take(length);
            let bytes = all().map(bytes_of).sum();
            room.take(bytes).then(|| all().cloned().collect())
        };
        let mut all = vec![of(least.max(1).max(first.len())), of(least)];
        all.extend(
            count("maxItems")
                .filter(|most| *most <= LIST_MAX)
                .map(&mut of),
        );
        all.push(of(items.len() + first.len()));
        let mut all: Vec<Value> = all.into_iter().flatten().collect();
        all.extend(items.iter().map(|item| json!([item])));
        all
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
    pub(super) fn values(&'m self, reach: Reach) -> ObjectValues<'m> {
        let left_out = &self.values.left_out;
        let share = match self.properties.len() {
            0 => None,
            count => left_out.share(reach, count),
        };
        let members = self.properties.iter().map(|(name, schema, is_required)| {
            let values = share.map(|share| self.values.values(schema, share));
            (name.as_str(), values.unwrap_or_default(), *is_required)
        });
        ObjectValues {
            left_out,
            reach,
            members: members.collect(),
            is_open: self.is_open,
        }
    }
}

impl ObjectValues<'_> {
    /// Returns objects that fit, each with what is special about it.
    pub(super) fn variants(&self) -> Vec<(String, JsonObject)> {
        let object = |with_optional: bool| -> JsonObject {
            let members = self.members.iter();
            let taken = members.filter(|(_, _, is_required)| *is_required || with_optional);
            taken
                .filter_map(|(name, values, _)| Some(((*name).to_owned(), values.first()?.clone())))
                .collect()
        };
        let least = object(false);
        let least_bytes = bytes_of_object(&least);
        let mut room = self.left_out.room(self.reach);
        let mut all = Vec::new();
        let every = object(true);
        for (name, args) in [
            ("required arguments only", least.clone()),
            ("every argument", every),
        ] {
            if room.take(bytes_of_object(&args)) {
                all.push((name.to_owned(), args));
            }
        }
        for (name, values, _) in &self.members {
            for value in values {
                if room.take(least_bytes + name.len() + bytes_of(value)) {
                    let mut args = least.clone();
                    args.insert((*name).to_owned(), value.clone());
                    all.push((label(name, value), args));
                }
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
        for (name, values, required) in &self.members {
            if !required && random.coin() {
                continue;
            }
            if let Some(value) = random.one_of(values) {
                args.insert((*name).to_owned(), value.clone());
            }
        }
        args
    }
}
