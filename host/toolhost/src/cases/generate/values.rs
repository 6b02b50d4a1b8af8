//! Values that a JSON Schema describes: a typical one first, then what lies at its bounds.
//!
//! A bound is tried where it is declared. Without one, small values are: a tool that is to be safe from
//! large ones says so in its schema.

use serde_json::{Map, Value, json};
use toolhost_contract::JsonObject;

use super::random::Random;
use super::{pattern, shown};

/// Deepest schema followed.
const DEPTH_MAX: usize = 6;

/// Most values of one schema.
const VALUES_MAX: usize = 16;

/// Most branches of `anyOf` and `oneOf` followed.
const BRANCHES_MAX: usize = 8;

/// Longest text made because a schema allows it, in characters.
const TEXT_MAX: u64 = 100_000;

/// Longest list made because a schema allows it.
const LIST_MAX: u64 = 100;

/// A text that names a file of the workdir, for the tools that take a path.
pub(in crate::cases) const SAMPLE: &str = "sample.txt";

/// Makes values of the parts of one schema.
pub(super) struct Maker<'s> {
    root: &'s Value,
}

/// A schema of objects, all of its references and branches followed.
pub(super) struct ObjectOf<'m> {
    maker: &'m Maker<'m>,
    /// Name, schema, and whether it is required.
    properties: Vec<(String, Value, bool)>,
    /// Whether it takes members that it does not name.
    open: bool,
}

impl<'s> Maker<'s> {
    /// Starts at the root, in which references are looked up.
    pub(super) fn new(root: &'s Value) -> Self {
        Self { root }
    }

    /// The objects that the root describes: one, or one for each branch.
    pub(super) fn alternatives(&self) -> Vec<ObjectOf<'_>> {
        let plain = self.plain(self.root, DEPTH_MAX);
        plain.iter().map(|schema| self.object(schema)).collect()
    }

    /// The schemas of the root's property of this name.
    pub(super) fn properties_named(&self, name: &str) -> Vec<Value> {
        let mut schemas = Vec::new();
        for object in self.alternatives() {
            for (_, schema, _) in object
                .properties
                .iter()
                .filter(|(known, _, _)| known == name)
            {
                schemas.extend(self.plain(schema, DEPTH_MAX));
            }
        }
        schemas
    }

    fn object(&self, schema: &Value) -> ObjectOf<'_> {
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
        // A name may be required without being described.
        let names = schema.get("required").and_then(Value::as_array);
        for name in names.into_iter().flatten().filter_map(Value::as_str) {
            if !named.contains_key(name) {
                properties.push((name.to_owned(), Value::Bool(true), true));
            }
        }
        ObjectOf {
            maker: self,
            properties,
            open: schema.get("additionalProperties") != Some(&Value::Bool(false)),
        }
    }

    /// The schema without references, `allOf`, `anyOf` and `oneOf`: one for each branch.
    fn plain(&self, schema: &Value, depth: usize) -> Vec<Value> {
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
            all = product(all, &self.plain(target, deeper));
        }
        if let Some(Value::Array(parts)) = own.shift_remove("allOf") {
            for part in &parts {
                all = product(all, &self.plain(part, deeper));
            }
        }
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(branches)) = own.shift_remove(key) {
                let branches: Vec<Value> = branches
                    .iter()
                    .flat_map(|branch| self.plain(branch, deeper))
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

    /// Values of a schema, the typical one first.
    pub(super) fn values(&self, schema: &Value, depth: usize) -> Vec<Value> {
        let Some(deeper) = depth.checked_sub(1) else {
            return Vec::new();
        };
        let mut all: Vec<Value> = Vec::new();
        for schema in self.plain(schema, depth) {
            let known = ["default", "const"]
                .into_iter()
                .filter_map(|key| schema.get(key));
            let listed = ["examples", "enum"]
                .into_iter()
                .filter_map(|key| schema.get(key)?.as_array());
            all.extend(known.chain(listed.flatten()).cloned());
            if schema.get("const").is_none() && schema.get("enum").is_none() {
                for kind in kinds(&schema) {
                    all.extend(self.of_kind(kind, &schema, deeper));
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

    fn of_kind(&self, kind: &str, schema: &Value, depth: usize) -> Vec<Value> {
        match kind {
            "string" => texts(schema),
            "integer" => integers(schema),
            "number" => numbers(schema),
            "boolean" => vec![true.into(), false.into()],
            "null" => vec![Value::Null],
            "array" => self.lists(schema, depth),
            "object" => {
                let shapes = self.object(schema).shapes_to(depth);
                shapes
                    .into_iter()
                    .map(|(_, args)| Value::Object(args))
                    .collect()
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

/// The kinds that a schema takes; without `type`, what its keywords are about.
fn kinds(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(kind)) => return vec![kind],
        Some(Value::Array(kinds)) => return kinds.iter().filter_map(Value::as_str).collect(),
        _ => (),
    }
    let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
    if has(&["properties", "required", "additionalProperties"]) {
        vec!["object"]
    } else if has(&["items", "prefixItems", "minItems", "maxItems"]) {
        vec!["array"]
    } else if has(&["minLength", "maxLength", "pattern", "format"]) {
        vec!["string"]
    } else if has(&["minimum", "maximum", "multipleOf"]) {
        vec!["number"]
    } else {
        vec!["string", "integer", "boolean", "null", "array", "object"]
    }
}

fn texts(schema: &Value) -> Vec<Value> {
    let length = |key: &str| schema.get(key).and_then(Value::as_u64);
    let least = length("minLength").unwrap_or(0).min(TEXT_MAX);
    let most = length("maxLength");
    let fitted = |text: &str| {
        let mut text = text.to_owned();
        while (text.chars().count() as u64) < least {
            text.push('x');
        }
        let most = most.and_then(|most| usize::try_from(most).ok());
        text.chars()
            .take(most.unwrap_or(usize::MAX))
            .collect::<String>()
    };
    let typical = match schema
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default()
    {
        "date-time" => "2026-01-31T12:00:00Z",
        "date" => "2026-01-31",
        "time" => "12:00:00Z",
        "duration" => "PT1H",
        "email" => "someone@example.com",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "url" | "iri" | "uri-reference" => "https://example.com/",
        "uuid" => "123e4567-e89b-12d3-a456-426614174000",
        "regex" => "a+",
        "json-pointer" => "/a",
        _ => SAMPLE,
    };
    let mut all = Vec::new();
    let pattern = schema.get("pattern").and_then(Value::as_str);
    all.extend(pattern.and_then(pattern::example));
    all.push(fitted(typical));
    all.push(fitted(""));
    all.push(fitted("가나다 e\u{301} 😀\ntwo"));
    if let Some(most) = most.filter(|most| *most <= TEXT_MAX) {
        all.push("x".repeat(usize::try_from(most).unwrap_or(0)));
    }
    all.into_iter().map(Value::from).collect()
}

fn integers(schema: &Value) -> Vec<Value> {
    let bound = |key: &str| schema.get(key).and_then(whole);
    let above = bound("exclusiveMinimum").and_then(|n| n.checked_add(1));
    let below = bound("exclusiveMaximum").and_then(|n| n.checked_sub(1));
    let (least, most) = (bound("minimum").or(above), bound("maximum").or(below));
    let step = bound("multipleOf").filter(|step| *step > 0).unwrap_or(1);
    let typical = least.unwrap_or(1).max(1).min(most.unwrap_or(i64::MAX));
    let mut all = vec![typical];
    all.extend(least.into_iter().chain(most));
    all.extend([0, 1, -1, 1000]);
    let up = |n: i64| n.checked_add(step - 1).map(|n| n.div_euclid(step) * step);
    let within =
        |n: &i64| least.is_none_or(|least| *n >= least) && most.is_none_or(|most| *n <= most);
    let down = |n: i64| n.div_euclid(step).checked_mul(step);
    let stepped = all.into_iter().flat_map(|n| [up(n), down(n)]).flatten();
    stepped.filter(within).map(Value::from).collect()
}

/// A bound as an integer; `1.0` is one.
fn whole(value: &Value) -> Option<i64> {
    if let Some(integer) = value.as_i64() {
        return Some(integer);
    }
    let number = value
        .as_f64()
        .filter(|n| n.fract() == 0.0 && n.abs() < 9e15)?;
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it is whole, and in the range of i64"
    )]
    Some(number as i64)
}

fn numbers(schema: &Value) -> Vec<Value> {
    let bound = |key: &str| schema.get(key).and_then(Value::as_f64);
    let mut all = integers(schema);
    let (least, most) = (bound("minimum"), bound("maximum"));
    all.extend(least.into_iter().chain(most).map(Value::from));
    if let (Some(least), Some(most)) = (
        least.or(bound("exclusiveMinimum")),
        most.or(bound("exclusiveMaximum")),
    ) {
        all.push(f64::midpoint(least, most).into());
    }
    all.extend([json!(0.5), json!(-0.5)]);
    all
}

/// Every way to take one of each.
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

/// Adds what a part says: properties and required names to those there are, all else over it.
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

impl ObjectOf<'_> {
    /// Objects of several shapes, each with what is special about it.
    pub(super) fn shapes(&self) -> Vec<(String, JsonObject)> {
        self.shapes_to(DEPTH_MAX)
    }

    fn shapes_to(&self, depth: usize) -> Vec<(String, JsonObject)> {
        let made: Vec<(&str, Vec<Value>, bool)> = self
            .properties
            .iter()
            .map(|(name, schema, required)| {
                (name.as_str(), self.maker.values(schema, depth), *required)
            })
            .collect();
        let object = |takes: &dyn Fn(bool) -> bool| -> JsonObject {
            let taken = made.iter().filter(|(_, _, required)| takes(*required));
            taken
                .filter_map(|(name, values, _)| Some(((*name).to_owned(), values.first()?.clone())))
                .collect()
        };
        let (least, full) = (object(&|required| required), object(&|_| true));
        let mut all = vec![
            ("required arguments only".to_owned(), least.clone()),
            ("every argument".to_owned(), full),
        ];
        for (name, values, _) in &made {
            for value in values {
                let mut args = least.clone();
                args.insert((*name).to_owned(), value.clone());
                all.push((shown(name, value), args));
            }
        }
        if self.open {
            let mut args = least;
            args.insert("notInTheSchema".to_owned(), json!({"a": [1, "b"]}));
            all.push(("an argument that the schema does not name".to_owned(), args));
        }
        all
    }

    /// An object drawn at random.
    pub(super) fn drawn(&self, random: &mut Random) -> JsonObject {
        let mut args = JsonObject::new();
        for (name, schema, required) in &self.properties {
            if !required && random.toss() {
                continue;
            }
            let values = self.maker.values(schema, DEPTH_MAX);
            if let Some(value) = random.one_of(&values) {
                args.insert(name.clone(), value.clone());
            }
        }
        args
    }
}
