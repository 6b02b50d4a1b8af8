//! Finds probable mistakes in valid schemas: misspelt keywords, and required properties that are not declared.
//!
//! JSON Schema allows unknown keywords, which annotate a schema. So only a keyword that is one edit away
//! from a known one is reported.

use serde_json::{Map, Value};
use toolhost_contract::JsonSchemaObject;

use super::keywords::{self, Applies, KNOWN, SUBSCHEMAS, is_annotation};
use super::walk::{self, Spot, Step, properties};
use toolhost_contract::suggest::{did_you_mean, one_edit_away};
use toolhost_contract::text::short;

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
pub fn lint(key: &str, schema: &JsonSchemaObject) -> Vec<SchemaRemark> {
    let mut lint = Lint {
        remarks: Vec::new(),
    };
    lint.subschema(&schema.to_value(), &Spot::root(key), &[]);
    lint.remarks.truncate(REMARKS_MAX);
    lint.remarks
}

struct Lint {
    remarks: Vec<SchemaRemark>,
}

impl Lint {
    /// Checks a subschema and those in it. `declared` are the `properties` of the schemas around it that
    /// apply to the same value.
    fn subschema<'s>(
        &mut self,
        schema: &'s Value,
        spot: &Spot,
        declared: &[&'s Map<String, Value>],
    ) {
        let Value::Object(keywords) = schema else {
            return;
        };
        if self.remarks.len() >= REMARKS_MAX {
            return;
        }
        self.check_keywords(keywords, spot);
        self.check_required(keywords, spot, declared);
        let mut same_value = declared.to_vec();
        same_value.extend(properties(keywords));
        for (keyword, applies) in SUBSCHEMAS {
            let Some(value) = keywords.get(keyword) else {
                continue;
            };
            let declared = match applies {
                Applies::ToTheSameValue => same_value.as_slice(),
                Applies::OneInside | Applies::AllInside | Applies::Nothing => &[],
            };
            let spot = spot.member(keyword);
            walk::each(keyword, value, |step, schema| {
                self.subschema(schema, &spot.step(&step), declared);
            });
        }
    }

    fn check_keywords(&mut self, keywords: &Map<String, Value>, spot: &Spot) {
        for (keyword, value) in keywords {
            if KNOWN.contains(&keyword.as_str()) || is_annotation(keyword) {
                continue;
            }
            if value.is_null() {
                let at = spot.member(keyword);
                self.remarks.push(SchemaRemark {
                    message: format!(
                        "{}: an unknown keyword without a value, which models read",
                        at.place
                    ),
                    pointer: at.pointer,
                    part: SchemaPart::Keyword,
                    help: "If it is the end of a text with a comma, write the text in quotes."
                        .to_owned(),
                });
                continue;
            }
            let Some(candidate) = one_edit_away(keyword, &KNOWN) else {
                continue;
            };
            let at = spot.member(keyword);
            self.remarks.push(SchemaRemark {
                message: format!("{}: an unknown keyword has no effect", at.place),
                pointer: at.pointer,
                part: SchemaPart::Keyword,
                help: format!("Did you mean '{candidate}'?"),
            });
        }
    }

    /// Checks that the required properties are declared. Other keywords may declare them: then nothing is
    /// reported.
    fn check_required(
        &mut self,
        keywords: &Map<String, Value>,
        spot: &Spot,
        declared: &[&Map<String, Value>],
    ) {
        let (Some(properties), Some(required)) = (
            properties(keywords),
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
            let mut places = declared.iter().copied().chain([properties]);
            if places.any(|properties| properties.contains_key(name)) {
                continue;
            }
            let at = spot.member("required").step(&Step::Item(index));
            let names: Vec<&str> = properties.keys().map(String::as_str).collect();
            let help = did_you_mean(name, &names);
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
}

#[cfg(test)]
mod tests;
