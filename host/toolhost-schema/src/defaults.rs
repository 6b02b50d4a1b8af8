//! Finds defaults that do not fit the schemas that they are in: a call without the argument would get what a call with it
//! may not pass.

use jsonschema::ValidatorMap;
use serde_json::Value;
use toolhost_contract::JsonSchemaObject;

use super::compiled::linear_options;
use super::keywords::SUBSCHEMAS;
use super::lint::{SchemaPart, SchemaRemark};
use super::walk::{self, Spot};
use super::{path, problem};

/// Returns a remark about each such default. `key` is the manifest's key of the schema, with which the places in the
/// messages begin. A schema that cannot be used has none.
pub fn unfit_defaults(key: &str, schema: &JsonSchemaObject) -> Vec<SchemaRemark> {
    let schema = schema.to_value();
    let mut remarks = Vec::new();
    if let Ok(validators) = linear_options().build_map(&schema) {
        add(&schema, &Spot::root(key), &validators, &mut remarks);
    }
    remarks
}

fn add(schema: &Value, spot: &Spot, validators: &ValidatorMap, remarks: &mut Vec<SchemaRemark>) {
    let Value::Object(keywords) = schema else {
        return;
    };
    let validator = validators.get(&format!("#{}", spot.pointer));
    if let (Some(default), Some(validator)) = (keywords.get("default"), validator)
        && let Some(error) = validator.iter_errors(default).next()
    {
        let at = spot.member("default");
        let place = path::dotted(&at.place, error.instance_path());
        remarks.push(SchemaRemark {
            message: format!("{place}: the default does not fit: {}", problem::of(&error)),
            pointer: at.pointer,
            part: SchemaPart::Value,
            help: "Correct the default, or what the schema says of the value.".to_owned(),
        });
    }
    for (keyword, _) in SUBSCHEMAS {
        if let Some(value) = keywords.get(keyword) {
            let spot = spot.member(keyword);
            walk::each(keyword, value, |step, schema| {
                add(schema, &spot.step(&step), validators, remarks);
            });
        }
    }
}
