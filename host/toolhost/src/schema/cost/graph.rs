//! The subschemas of a schema, and which applies which.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::SUBSCHEMAS_MAX;
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

/// One subschema: what it applies, by index.
#[derive(Debug, Default)]
struct Subschema<'s> {
    same_value: Vec<usize>,
    references: Vec<(usize, &'s str)>,
    one_inside: Vec<usize>,
    all_inside: Vec<usize>,
}

impl Subschema<'_> {
    fn within_a_value(&self) -> impl Iterator<Item = usize> {
        let referred = self.references.iter().map(|(target, _)| *target);
        self.same_value.iter().copied().chain(referred)
    }

    fn everywhere(&self) -> impl Iterator<Item = usize> {
        let inside = self.one_inside.iter().chain(&self.all_inside).copied();
        self.within_a_value().chain(inside)
    }
}

/// Every subschema that the first one can come to.
#[derive(Debug, Default)]
pub(super) struct Graph<'s> {
    subschemas: Vec<Subschema<'s>>,
    patterns: usize,
}

impl<'s> Graph<'s> {
    /// Walks a schema.
    pub(super) fn of(schema: &'s Value) -> Result<Self, SchemaError> {
        let mut walk = Walk {
            root: schema,
            anchors: anchors(schema),
            indexes: HashMap::new(),
            pending: Vec::new(),
        };
        let mut graph = Self::default();
        walk.index(schema);
        let mut next = 0;
        while let Some(keywords) = walk.pending.get(next).copied() {
            if next > 0 && keywords.get("$id").is_some_and(Value::is_string) {
                return Err(SchemaError::Invalid {
                    place: "parameters".to_owned(),
                    pointer: String::new(),
                    problem: "'$id' may only stand at the top of the schema".to_owned(),
                });
            }
            let subschema = walk.subschema(keywords)?;
            graph.subschemas.push(subschema);
            graph.patterns += usize::from(keywords.get("pattern").is_some_and(Value::is_string));
            graph.patterns += member_count(keywords, "patternProperties");
            if walk.pending.len() > SUBSCHEMAS_MAX {
                return Err(SchemaError::TooManySubschemas);
            }
            next += 1;
        }
        Ok(graph)
    }

    /// How many regular expressions it compiles.
    pub(super) fn patterns(&self) -> usize {
        self.patterns
    }

    /// Orders the subschemas so that each comes after those it applies to the same value.
    ///
    /// # Errors
    /// [`SchemaError::CircularRef`] where one applies itself to the same value.
    pub(super) fn order_within_a_value(&self) -> Result<Vec<usize>, SchemaError> {
        let order = self.postorder(|subschema| subschema.within_a_value().collect());
        let mut done = HashSet::new();
        for (index, subschema) in self.in_order(&order) {
            let circular = subschema
                .references
                .iter()
                .find(|(to, _)| !done.contains(to));
            if let Some((_, reference)) = circular {
                return Err(SchemaError::CircularRef {
                    reference: text::shorten(reference, REFERENCE_MAX),
                });
            }
            done.insert(index);
        }
        Ok(order)
    }

    /// Counts the visits on the way to one value when results within a recursion are remembered:
    /// a way back to a subschema that is still open counts once.
    pub(super) fn visits_to_check(&self) -> u64 {
        let order = self.postorder(|subschema| subschema.everywhere().collect());
        let mut visits: HashMap<usize, u64> = HashMap::new();
        for (index, subschema) in self.in_order(&order) {
            let of = |to: usize| visits.get(&to).copied().unwrap_or(1);
            let count = sum(subschema.within_a_value().map(of))
                .saturating_add(sum(subschema.all_inside.iter().copied().map(of)))
                .saturating_add(
                    subschema
                        .one_inside
                        .iter()
                        .copied()
                        .map(of)
                        .max()
                        .unwrap_or(0),
                );
            visits.insert(index, count.saturating_add(1));
        }
        visits.get(&0).copied().unwrap_or(1)
    }

    /// Counts, for each subschema, the visits on the way to one value when nothing is remembered,
    /// given those for values that are one level shallower.
    pub(super) fn visits_to_explain(&self, order: &[usize], shallower: &[u64]) -> Vec<u64> {
        let mut visits = vec![1_u64; self.subschemas.len()];
        let inside = |to: &usize| shallower.get(*to).copied().unwrap_or(0);
        for (index, subschema) in self.in_order(order) {
            let same = sum(subschema
                .within_a_value()
                .map(|to| visits.get(to).copied().unwrap_or(1)));
            let count = same
                .saturating_add(sum(subschema.all_inside.iter().map(inside)))
                .saturating_add(subschema.one_inside.iter().map(inside).max().unwrap_or(0));
            if let Some(slot) = visits.get_mut(index) {
                *slot = count.saturating_add(1);
            }
        }
        visits
    }

    fn in_order<'g>(
        &'g self,
        order: &'g [usize],
    ) -> impl Iterator<Item = (usize, &'g Subschema<'s>)> {
        order
            .iter()
            .filter_map(|index| Some((*index, self.subschemas.get(*index)?)))
    }

    /// Lists the subschemas, each after those that `edges` leads to, ways back left out.
    fn postorder(&self, edges: impl Fn(&Subschema<'s>) -> Vec<usize>) -> Vec<usize> {
        let next_of = |index: usize| {
            self.subschemas
                .get(index)
                .map(&edges)
                .unwrap_or_default()
                .into_iter()
        };
        let mut order = Vec::with_capacity(self.subschemas.len());
        let mut seen = HashSet::new();
        for start in 0..self.subschemas.len() {
            if !seen.insert(start) {
                continue;
            }
            let mut open = vec![(start, next_of(start))];
            while let Some((index, rest)) = open.last_mut() {
                match rest.next() {
                    Some(next) if seen.insert(next) => open.push((next, next_of(next))),
                    Some(_) => {}
                    None => {
                        order.push(*index);
                        open.pop();
                    }
                }
            }
        }
        order
    }
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
        let shown = || text::shorten(reference, REFERENCE_MAX);
        let Some(fragment) = reference.strip_prefix('#') else {
            return Err(SchemaError::OuterRef { reference: shown() });
        };
        let target = match percent_decoded(fragment) {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                self.root.pointer(&pointer)
            }
            Some(anchor) => self.anchors.get(anchor.as_str()).copied(),
            None => None,
        };
        target.ok_or_else(|| SchemaError::DanglingRef { reference: shown() })
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

fn sum(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}
