//! Finds probable mistakes in valid schemas: misspelt keywords, required properties that are not declared,
//! and schemas that no value fits.
//!
//! JSON Schema allows unknown keywords, which annotate a schema. So only a keyword that is one edit away
//! from a known one is reported.

mod empty;
pub(super) mod keywords;

use serde_json::{Map, Value};
use toolhost_contract::JsonSchemaObject;

use super::path;
use crate::json_pointer::escape;
use crate::quote::short;
use crate::suggest::{did_you_mean, one_edit_away};
use empty::Emptiness;
use keywords::{Applies, KNOWN, SUBSCHEMAS, is_annotation};

/// Maximum number of remarks about a schema.
const REMARKS_MAX: usize = 20;

/// A probable mistake in a valid schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaRemark {
    /// The place as a JSON pointer into the schema.
    pub pointer: String,
    /// The part of the schema at the place.
    pub part: SchemaPart,
    /// The problem, which begins with the place, such as `parameters.properties.a`.
    pub message: String,
    /// The next step for the author of the schema.
    pub help: String,
}

/// A part of a schema that a remark is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SchemaPart {
    /// The keyword at the place.
    Keyword,
    /// The value at the place.
    Value,
}

/// Returns the probable mistakes in a valid schema, at most 20. `key` is the manifest's key of the schema,
/// with which the places in the messages begin.
#[must_use]
pub fn lint(key: &str, schema: &JsonSchemaObject) -> Vec<SchemaRemark> {
    let schema = schema.to_value();
    let mut lint = Lint {
        emptiness: Emptiness::of(&schema),
        remarks: Vec::new(),
    };
    let root = Spot {
        place: key.to_owned(),
        pointer: String::new(),
    };
    let whole = lint.emptiness.of_schema(&schema).map(|cause| {
        let (place, reason) = (root.below(&cause.path), cause.reason);
        let what = match key {
            "parameters" => "arguments",
            _ => "output",
        };
        SchemaRemark {
            message: format!("no {what} can be valid: {}: {reason}", place.place),
            pointer: place.pointer,
            part: SchemaPart::Value,
            help: format!("Correct the schema: no {what} would pass the check."),
        }
    });
    lint.remarks.extend(whole);
    lint.subschema(&schema, &root, &[]);
    lint.remarks.truncate(REMARKS_MAX);
    lint.remarks
}

/// A place in a schema.
struct Spot {
    place: String,
    pointer: String,
}

impl Spot {
    fn member(&self, name: &str) -> Self {
        Self {
            place: path::member(&self.place, name),
            pointer: format!("{}/{}", self.pointer, escape(name)),
        }
    }

    fn item(&self, index: usize) -> Self {
        Self {
            place: format!("{}[{index}]", self.place),
            pointer: format!("{}/{index}", self.pointer),
        }
    }

    fn below(&self, path: &[String]) -> Self {
        let root = Self {
            place: self.place.clone(),
            pointer: self.pointer.clone(),
        };
        path.iter().fold(root, |spot, name| spot.member(name))
    }
}

struct Lint<'s> {
    emptiness: Emptiness<'s>,
    remarks: Vec<SchemaRemark>,
}

impl<'s> Lint<'s> {
    /// Checks a subschema and those in it. `declared` are the `properties` of the schemas around it that
    /// apply to the same value.
    fn subschema(&mut self, schema: &'s Value, spot: &Spot, declared: &[&'s Map<String, Value>]) {
        let Value::Object(keywords) = schema else {
            return;
        };
        if self.remarks.len() >= REMARKS_MAX {
            return;
        }
        self.check_keywords(keywords, spot);
        self.check_required(keywords, spot, declared);
        self.check_bounds(keywords, spot);
        let mut same_value = declared.to_vec();
        same_value.extend(keywords.get("properties").and_then(Value::as_object));
        for (keyword, applies) in SUBSCHEMAS {
            let Some(value) = keywords.get(keyword) else {
                continue;
            };
            let at = spot.member(keyword);
            let declared = match applies {
                Applies::ToTheSameValue => same_value.as_slice(),
                Applies::Inside => &[],
            };
            if let Value::Array(schemas) = value {
                for (index, schema) in schemas.iter().enumerate() {
                    self.subschema(schema, &at.item(index), declared);
                }
            } else if keywords::holds_a_map(keyword) {
                for (name, schema) in value.as_object().into_iter().flatten() {
                    self.subschema(schema, &at.member(name), declared);
                }
            } else {
                self.subschema(value, &at, declared);
            }
        }
    }

    fn check_keywords(&mut self, keywords: &Map<String, Value>, spot: &Spot) {
        for keyword in keywords.keys() {
            if KNOWN.contains(&keyword.as_str()) || is_annotation(keyword) {
                continue;
            }
            let Some(meant) = one_edit_away(keyword, &KNOWN) else {
                continue;
            };
            let at = spot.member(keyword);
            self.remarks.push(SchemaRemark {
                message: format!("{}: an unknown keyword has no effect", at.place),
                pointer: at.pointer,
                part: SchemaPart::Keyword,
                help: format!("Did you mean '{meant}'?"),
            });
        }
    }

    /// Checks that the required properties are declared. Other keywords may declare them: then nothing is
    /// reported.
    fn check_required(
        &mut self,
        keywords: &'s Map<String, Value>,
        spot: &Spot,
        declared: &[&'s Map<String, Value>],
    ) {
        let (Some(properties), Some(required)) = (
            keywords.get("properties").and_then(Value::as_object),
            keywords.get("required").and_then(Value::as_array),
        ) else {
            return;
        };
        let others = keywords.get("additionalProperties");
        let may_be_elsewhere = others.is_some_and(Value::is_object)
            || keywords
                .keys()
                .any(|key| keywords::declares_properties(key));
        if may_be_elsewhere {
            return;
        }
        for (index, name) in required.iter().enumerate() {
            let Some(name) = name.as_str() else {
                continue;
            };
            let mut all = declared.iter().copied().chain([properties]);
            if all.any(|properties| properties.contains_key(name)) {
                continue;
            }
            let at = spot.member("required").item(index);
            let known: Vec<&str> = properties.keys().map(String::as_str).collect();
            let help = did_you_mean(name, &known);
            self.remarks.push(SchemaRemark {
                message: format!(
                    "{}: '{}' is required, but is not among the properties",
                    at.place,
                    short(name)
                ),
                pointer: at.pointer,
                part: SchemaPart::Value,
                help: help.unwrap_or_else(|| {
                    "Add it to 'properties', or remove it from 'required'.".to_owned()
                }),
            });
        }
    }

    /// Reports keywords of one subschema that exclude each other. If they make the whole schema empty, this is
    /// reported already.
    fn check_bounds(&mut self, keywords: &'s Map<String, Value>, spot: &Spot) {
        let Some(reason) = empty::contradiction(keywords) else {
            return;
        };
        let is_reported = |remark: &SchemaRemark| remark.pointer == spot.pointer;
        if self.remarks.first().is_some_and(is_reported) {
            return;
        }
        self.remarks.push(SchemaRemark {
            message: format!("{}: no value fits: {reason}", spot.place),
            pointer: spot.pointer.clone(),
            part: SchemaPart::Value,
            help: "Correct the schema.".to_owned(),
        });
    }
}

#[cfg(test)]
mod tests;
