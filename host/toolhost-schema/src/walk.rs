//! The subschemas of a JSON Schema, and their places.

use serde_json::{Map, Value};

use super::keywords::{SUBSCHEMAS, holds_a_map};
use super::path;
use toolhost_contract::json_pointer::escape;

/// A place in a schema.
pub(super) struct Spot {
    /// As messages have it, such as `parameters.properties.a`.
    pub(super) place: String,
    /// As a JSON pointer.
    pub(super) pointer: String,
}

impl Spot {
    /// Returns the place of the schema at a manifest's key.
    pub(super) fn root(key: &str) -> Self {
        Self {
            place: key.to_owned(),
            pointer: String::new(),
        }
    }

    pub(super) fn member(&self, name: &str) -> Self {
        Self {
            place: path::member(&self.place, name),
            pointer: format!("{}/{}", self.pointer, escape(name)),
        }
    }

    /// Returns the place of a subschema in the value of the keyword at this place.
    pub(super) fn step(&self, step: &Step<'_>) -> Self {
        match step {
            Step::Whole => Self {
                place: self.place.clone(),
                pointer: self.pointer.clone(),
            },
            Step::Item(index) => Self {
                place: format!("{}[{index}]", self.place),
                pointer: format!("{}/{index}", self.pointer),
            },
            Step::Member(name) => self.member(name),
        }
    }
}

/// Where a subschema is in the value of a keyword.
pub(super) enum Step<'s> {
    /// It is the value.
    Whole,
    Item(usize),
    Member(&'s str),
}

/// Calls `visit` with each subschema in the value of a keyword.
pub(super) fn each<'s>(
    keyword: &str,
    value: &'s Value,
    mut visit: impl FnMut(Step<'s>, &'s Value),
) {
    if let Value::Array(schemas) = value {
        let items = schemas.iter().enumerate();
        items.for_each(|(index, schema)| visit(Step::Item(index), schema));
    } else if !holds_a_map(keyword) {
        visit(Step::Whole, value);
    } else if let Value::Object(schemas) = value {
        let members = schemas.iter();
        members.for_each(|(name, schema)| visit(Step::Member(name), schema));
    }
}

/// As [`each`], with schemas that can be changed.
pub(super) fn each_mut(
    keyword: &str,
    value: &mut Value,
    mut visit: impl FnMut(Step<'_>, &mut Value),
) {
    if let Value::Array(schemas) = value {
        let items = schemas.iter_mut().enumerate();
        items.for_each(|(index, schema)| visit(Step::Item(index), schema));
    } else if !holds_a_map(keyword) {
        visit(Step::Whole, value);
    } else if let Value::Object(schemas) = value {
        let members = schemas.iter_mut();
        members.for_each(|(name, schema)| visit(Step::Member(name), schema));
    }
}

/// Keywords that describe values, and accept or refuse none.
const ANNOTATIONS: [&str; 8] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Returns a schema without the keywords that describe values, and accept or refuse none.
pub fn without_annotations(mut schema: Value) -> Value {
    strip(&mut schema);
    schema
}

fn strip(schema: &mut Value) {
    let Value::Object(keywords) = schema else {
        return;
    };
    keywords.retain(|keyword, _| !ANNOTATIONS.contains(&keyword.as_str()));
    for (keyword, _) in SUBSCHEMAS {
        if let Some(value) = keywords.get_mut(keyword) {
            each_mut(keyword, value, |_, schema| strip(schema));
        }
    }
}

/// Returns the properties that a schema declares itself.
pub(super) fn properties(keywords: &Map<String, Value>) -> Option<&Map<String, Value>> {
    keywords.get("properties").and_then(Value::as_object)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn annotations_are_taken_from_schemas_and_not_from_values_and_names() {
        for (schema, expected) in [
            (
                json!({"title": "x", "type": "string"}),
                json!({"type": "string"}),
            ),
            (
                json!({"properties": {"title": {"description": "x", "minimum": 1}}}),
                json!({"properties": {"title": {"minimum": 1}}}),
            ),
            (
                json!({"enum": [{"title": 1}]}),
                json!({"enum": [{"title": 1}]}),
            ),
            (
                json!({"anyOf": [{"$defs": {"a": {"default": 1}}}], "not": {"examples": []}}),
                json!({"anyOf": [{"$defs": {"a": {}}}], "not": {}}),
            ),
            (json!(true), json!(true)),
        ] {
            assert_eq!(without_annotations(schema.clone()), expected, "{schema}");
        }
    }
}
