//! Finds the subschemas of a schema: under which keywords they stand, and what references name.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::pattern::PatternBudget;
use super::subschema::Subschema;
use crate::schema::error::SchemaError;
use crate::schema::limits::{PATTERNS_MAX, SUBSCHEMAS_MAX};
use toolhost_contract::text;

/// Longest reference shown, in characters.
const REFERENCE_MAX: usize = 80;

/// Keywords with one schema, a list or a map of schemas, applied to the same value.
const SAME_VALUE: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
];

/// Keywords of which one schema applies to each value inside: a member or item takes its own.
const ONE_INSIDE: [&str; 5] = [
    "properties",
    "additionalProperties",
    "items",
    "prefixItems",
    "additionalItems",
];

/// Keywords whose every schema may apply to each value inside.
const ALL_INSIDE: [&str; 5] = [
    "patternProperties",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Keywords that name another subschema, applied to the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Keywords that read a text once, from its beginning to its end.
const READERS: [&str; 3] = ["format", "contentEncoding", "contentMediaType"];

/// What a schema is made of.
#[derive(Debug)]
pub(super) struct Walked<'s> {
    /// The schema itself first, then every subschema it can come to.
    pub(super) subschemas: Vec<Subschema<'s>>,
    /// Which of them are the schema's own properties.
    pub(super) properties: HashMap<&'s str, usize>,
}

/// Walks a schema and all that it refers to.
pub(super) fn walk<'s>(
    schema: &'s Value,
    budget: &mut PatternBudget,
) -> Result<Walked<'s>, SchemaError> {
    let mut walk = Walk {
        root: schema,
        anchors: anchors(schema),
        indexes: HashMap::new(),
        pending: Vec::new(),
    };
    let mut subschemas = Vec::new();
    let mut patterns = Vec::new();
    walk.index(schema);
    while let Some(keywords) = walk.pending.get(subschemas.len()).copied() {
        if !subschemas.is_empty() && keywords.get("$id").is_some_and(Value::is_string) {
            return Err(SchemaError::Invalid {
                place: "parameters".to_owned(),
                pointer: String::new(),
                problem: "'$id' may only stand at the top of the schema".to_owned(),
            });
        }
        let index = subschemas.len();
        subschemas.push(walk.subschema(keywords)?);
        patterns.extend(patterns_of(keywords).map(|pattern| (index, pattern)));
        if walk.pending.len() > SUBSCHEMAS_MAX {
            return Err(SchemaError::TooManySubschemas);
        }
    }
    if patterns.len() > PATTERNS_MAX {
        return Err(SchemaError::TooManyPatterns {
            patterns: patterns.len(),
        });
    }
    for (index, pattern) in patterns {
        let states = budget.measure(pattern)?;
        if let Some(subschema) = subschemas.get_mut(index) {
            subschema.readers = subschema.readers.saturating_add(states);
        }
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let index = |(name, property): (&'s String, &'s Value)| {
        let index = walk.indexes.get(&std::ptr::from_ref(property))?;
        Some((name.as_str(), *index))
    };
    Ok(Walked {
        subschemas,
        properties: properties.into_iter().flatten().filter_map(index).collect(),
    })
}

/// A walk in progress: which subschemas have an index, and which are still to be read.
struct Walk<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
    indexes: HashMap<*const Value, usize>,
    pending: Vec<&'s Map<String, Value>>,
}

impl<'s> Walk<'s> {
    /// Gives a subschema its index; none for `true`, `false` and what is no schema.
    fn index(&mut self, schema: &'s Value) -> Option<usize> {
        let keywords = schema.as_object()?;
        let next = self.indexes.len();
        let index = *self
            .indexes
            .entry(std::ptr::from_ref(schema))
            .or_insert(next);
        if index == next {
            self.pending.push(keywords);
        }
        Some(index)
    }

    fn subschema(
        &mut self,
        keywords: &'s Map<String, Value>,
    ) -> Result<Subschema<'s>, SchemaError> {
        let mut subschema = Subschema {
            same_value: self.indexes_under(keywords, &SAME_VALUE),
            references: Vec::new(),
            one_inside: self.indexes_under(keywords, &ONE_INSIDE),
            all_inside: self.indexes_under(keywords, &ALL_INSIDE),
            compared: compared(keywords),
            readers: READERS
                .iter()
                .filter(|key| keywords.contains_key(**key))
                .count() as u64,
        };
        let named = REFERENCES
            .iter()
            .filter_map(|key| keywords.get(*key)?.as_str());
        for reference in named {
            let target = self.resolve(reference)?;
            if let Some(index) = self.index(target) {
                subschema.references.push((index, reference));
            }
        }
        Ok(subschema)
    }

    fn indexes_under(&mut self, keywords: &'s Map<String, Value>, keys: &[&str]) -> Vec<usize> {
        let mut indexes = Vec::new();
        for (key, value) in keys.iter().filter_map(|key| keywords.get_key_value(*key)) {
            if let Value::Array(schemas) = value {
                indexes.extend(schemas.iter().filter_map(|schema| self.index(schema)));
            } else if holds_a_map(key) {
                let schemas = value.as_object().into_iter().flat_map(Map::values);
                indexes.extend(schemas.filter_map(|schema| self.index(schema)));
            } else {
                indexes.extend(self.index(value));
            }
        }
        indexes
    }

    fn resolve(&self, reference: &str) -> Result<&'s Value, SchemaError> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(SchemaError::OuterRef {
                reference: shown(reference),
            });
        };
        let target = match percent_decoded(fragment) {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.root.pointer(&pointer)
            }
            Some(anchor) => self.anchors.get(anchor.as_str()).copied(),
            None => None,
        };
        target.ok_or_else(|| SchemaError::DanglingRef {
            reference: shown(reference),
        })
    }
}

/// Whether the keyword's value is a map of schemas rather than a schema.
fn holds_a_map(keyword: &str) -> bool {
    matches!(
        keyword,
        "properties" | "patternProperties" | "dependentSchemas" | "dependencies"
    )
}

/// The regular expressions of a subschema.
fn patterns_of(keywords: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let pattern = keywords.get("pattern").and_then(Value::as_str);
    let of_names = keywords.get("patternProperties").and_then(Value::as_object);
    let of_names = of_names.into_iter().flat_map(Map::keys).map(String::as_str);
    pattern.into_iter().chain(of_names)
}

/// Comparisons that take as long as to hash a value.
const UNIQUE: u64 = 50;

/// How many values and names of the schema one value is compared with.
fn compared(keywords: &Map<String, Value>) -> u64 {
    let length = |key: &str| {
        keywords
            .get(key)
            .and_then(Value::as_array)
            .map_or(0, Vec::len)
    };
    // Texts alone are looked up in a set.
    let values = keywords.get("enum").and_then(Value::as_array);
    let values = values.filter(|values| !values.iter().all(Value::is_string));
    let dependent = ["dependentRequired", "dependencies"].into_iter();
    let dependent = dependent.filter_map(|key| keywords.get(key)?.as_object());
    let names = dependent.flat_map(Map::values).map(|names| {
        let names = names.as_array().map_or(0, Vec::len);
        names.saturating_add(1)
    });
    let count = values.map_or(0, Vec::len) + length("required") + names.sum::<usize>();
    // Every item is hashed, and all that is within it.
    let unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
    count as u64 + if unique { UNIQUE } else { 0 }
}

fn anchors(schema: &Value) -> HashMap<&str, &Value> {
    let mut anchors = HashMap::new();
    let mut rest = vec![schema];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => {
                let names = ["$anchor", "$dynamicAnchor"];
                let named = names.iter().filter_map(|key| members.get(*key)?.as_str());
                anchors.extend(named.map(|name| (name, value)));
                rest.extend(members.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    anchors
}

fn percent_decoded(fragment: &str) -> Option<String> {
    let mut decoded = Vec::with_capacity(fragment.len());
    let mut bytes = fragment.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let mut digit = || char::from(bytes.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        decoded.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(decoded).ok()
}

/// Quotes a reference.
pub(super) fn shown(reference: &str) -> String {
    text::shorten(reference, REFERENCE_MAX)
}
