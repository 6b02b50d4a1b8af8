//! Finds the subschemas of a schema: under which keywords they stand, and what references name.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::SUBSCHEMAS_MAX;
use super::graph::Subschema;
use crate::result::text;
use crate::schema::SchemaError;

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

/// What a schema is made of.
#[derive(Debug)]
pub(super) struct Walked<'s> {
    /// The schema itself first, then every subschema it can come to.
    pub(super) subschemas: Vec<Subschema<'s>>,
    /// How many regular expressions are in them.
    pub(super) patterns: usize,
}

/// Walks a schema and all that it refers to.
pub(super) fn walk(schema: &Value) -> Result<Walked<'_>, SchemaError> {
    let mut walk = Walk {
        root: schema,
        anchors: anchors(schema),
        indexes: HashMap::new(),
        pending: Vec::new(),
    };
    let mut subschemas = Vec::new();
    let mut patterns = 0;
    walk.index(schema);
    while let Some(keywords) = walk.pending.get(subschemas.len()).copied() {
        if !subschemas.is_empty() && keywords.get("$id").is_some_and(Value::is_string) {
            return Err(SchemaError::Invalid {
                place: "parameters".to_owned(),
                pointer: String::new(),
                problem: "'$id' may only stand at the top of the schema".to_owned(),
            });
        }
        subschemas.push(walk.subschema(keywords)?);
        patterns += usize::from(keywords.get("pattern").is_some_and(Value::is_string));
        patterns += member_count(keywords, "patternProperties");
        if walk.pending.len() > SUBSCHEMAS_MAX {
            return Err(SchemaError::TooManySubschemas);
        }
    }
    Ok(Walked {
        subschemas,
        patterns,
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

fn member_count(keywords: &Map<String, Value>, key: &str) -> usize {
    let members = keywords.get(key).and_then(Value::as_object);
    members.map_or(0, Map::len)
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
