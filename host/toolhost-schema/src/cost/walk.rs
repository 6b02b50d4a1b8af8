//! Finds the subschemas of a schema, by keywords and by references.

use std::collections::HashMap;

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};

use super::pattern::PatternBudget;
use crate::error::SchemaError;
use crate::keywords::{Applies, SUBSCHEMAS};
use crate::walk;
use toolhost_contract::text::short;

/// Maximum number of patterns of a schema.
const PATTERNS_MAX: usize = 100;

/// Maximum number of subschemas of a schema.
const SUBSCHEMAS_MAX: usize = 10_000;

/// Keywords that refer to another subschema for the same value.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Keywords that read a string once.
const READERS: [&str; 3] = ["format", "contentEncoding", "contentMediaType"];

/// A subschema: the subschemas that it applies, by index, and its own cost.
#[derive(Debug)]
pub(super) struct Subschema<'s> {
    /// Applied to the same value.
    pub(super) same_value: Vec<usize>,
    /// Applied to the same value by reference.
    pub(super) references: Vec<(usize, &'s str)>,
    /// Applied to members or items, one of them to each.
    pub(super) one_inside: Vec<usize>,
    /// Applied to members or items, perhaps all of them to each.
    pub(super) all_inside: Vec<usize>,
    /// The number of values of the schema that a value is compared with.
    pub(super) compared: u64,
    /// The number of states that read each byte of a string. A keyword other than a pattern counts as one.
    pub(super) readers: u64,
}

impl Subschema<'_> {
    pub(super) fn within_a_value(&self) -> impl Iterator<Item = usize> {
        let referred = self.references.iter().map(|(target, _)| *target);
        self.same_value.iter().copied().chain(referred)
    }

    pub(super) fn everywhere(&self) -> impl Iterator<Item = usize> {
        let inside = self.one_inside.iter().chain(&self.all_inside).copied();
        self.within_a_value().chain(inside)
    }
}

/// Subschemas, and the indexes of those that are properties of the first.
pub(super) type Walked<'s> = (Vec<Subschema<'s>>, HashMap<&'s str, usize>);

/// Finds all subschemas that a schema may apply. It is the first of them.
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
                place: "the schema".to_owned(),
                pointer: String::new(),
                problem: "'$id' is only allowed at the top of the schema".to_owned(),
            });
        }
        let index = subschemas.len();
        subschemas.push(walk.subschema(keywords)?);
        patterns.extend(patterns_of(keywords).map(|pattern| (index, pattern)));
        if walk.pending.len() > SUBSCHEMAS_MAX {
            return Err(SchemaError::Limit(format!(
                "the schema has more than {SUBSCHEMAS_MAX} subschemas"
            )));
        }
    }
    if patterns.len() > PATTERNS_MAX {
        return Err(SchemaError::Limit(format!(
            "the schema has {} patterns: at most {PATTERNS_MAX} are allowed",
            patterns.len()
        )));
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
    let properties = properties.into_iter().flatten().filter_map(index);
    Ok((subschemas, properties.collect()))
}

struct Walk<'s> {
    root: &'s Value,
    anchors: HashMap<&'s str, &'s Value>,
    indexes: HashMap<*const Value, usize>,
    /// The keywords of each subschema, by index.
    pending: Vec<&'s Map<String, Value>>,
}

impl<'s> Walk<'s> {
    /// Returns the index of a subschema; `None` if it is `true`, `false` or invalid.
    fn index(&mut self, schema: &'s Value) -> Option<usize> {
        let keywords = schema.as_object()?;
        let next = self.indexes.len();
        let entry = self.indexes.entry(std::ptr::from_ref(schema));
        let index = *entry.or_insert(next);
        if index == next {
            self.pending.push(keywords);
        }
        Some(index)
    }

    fn subschema(
        &mut self,
        keywords: &'s Map<String, Value>,
    ) -> Result<Subschema<'s>, SchemaError> {
        let readers = READERS.iter().filter(|key| keywords.contains_key(**key));
        let mut subschema = Subschema {
            same_value: self.indexes_under(keywords, Applies::ToTheSameValue),
            references: Vec::new(),
            one_inside: self.indexes_under(keywords, Applies::OneInside),
            all_inside: self.indexes_under(keywords, Applies::AllInside),
            compared: compared(keywords),
            readers: readers.count() as u64,
        };
        let references = REFERENCES
            .iter()
            .filter_map(|key| keywords.get(*key)?.as_str());
        for reference in references {
            let target = self.resolve(reference)?;
            if let Some(index) = self.index(target) {
                subschema.references.push((index, reference));
            }
        }
        Ok(subschema)
    }

    fn indexes_under(&mut self, keywords: &'s Map<String, Value>, applies: Applies) -> Vec<usize> {
        let mut indexes = Vec::new();
        for (keyword, _) in SUBSCHEMAS.iter().filter(|(_, its)| *its == applies) {
            if let Some(value) = keywords.get(*keyword) {
                walk::each(keyword, value, |_, schema| {
                    indexes.extend(self.index(schema))
                });
            }
        }
        indexes
    }

    fn resolve(&self, reference: &str) -> Result<&'s Value, SchemaError> {
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(SchemaError::OuterRef(short(reference)));
        };
        let target = match percent_decode_str(fragment).decode_utf8() {
            Ok(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.root.pointer(&pointer)
            }
            Ok(anchor) => self.anchors.get(&*anchor).copied(),
            Err(_) => None,
        };
        target.ok_or_else(|| SchemaError::DanglingRef(short(reference)))
    }
}

fn patterns_of(keywords: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let pattern = keywords.get("pattern").and_then(Value::as_str);
    let of_names = keywords.get("patternProperties").and_then(Value::as_object);
    let of_names = of_names.into_iter().flat_map(Map::keys).map(String::as_str);
    pattern.into_iter().chain(of_names)
}

/// The number of comparisons that take as long as hashing a value.
const UNIQUE: u64 = 50;

/// Returns the number of values and names of the schema that a value is compared with.
fn compared(keywords: &Map<String, Value>) -> u64 {
    // Strings are looked up in a set.
    let values = keywords.get("enum").and_then(Value::as_array);
    let values = values.filter(|values| !values.iter().all(Value::is_string));
    let dependent = ["dependentRequired", "dependencies"].into_iter();
    let dependent = dependent.filter_map(|key| keywords.get(key)?.as_object());
    let names = dependent.flat_map(Map::values).map(|names| {
        let names = names.as_array().map_or(0, Vec::len);
        names.saturating_add(1)
    });
    let required = keywords.get("required").and_then(Value::as_array);
    let count = values.map_or(0, Vec::len) + required.map_or(0, Vec::len) + names.sum::<usize>();
    // Each item is hashed, with all values in it.
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
