//! Arguments that violate a schema, each in one way.

use serde_json::{Value, json};
use toolhost_contract::JsonObject;

use super::label::label;
use super::values::SchemaValues;

/// An argument that no schema names.
const UNKNOWN: &str = "noSuchArgument";

/// Returns arguments that probably do not fit. The caller drops those that fit.
pub(super) fn variants(values: &SchemaValues<'_>, base: &JsonObject) -> Vec<(String, JsonObject)> {
    let mut all = Vec::new();
    for name in base.keys() {
        let mut args = base.clone();
        args.shift_remove(name);
        all.push((format!("without {name}"), args));
    }
    let mut args = base.clone();
    args.insert(UNKNOWN.to_owned(), json!(1));
    all.push((format!("with {UNKNOWN}"), args));
    for name in base.keys() {
        for value in wrong_values(values, name) {
            let mut args = base.clone();
            let label = label(name, &value);
            args.insert(name.clone(), value);
            all.push((label, args));
        }
    }
    all
}

fn wrong_values(schema_values: &SchemaValues<'_>, name: &str) -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!([[]]),
        json!({"no": "such"}),
        json!(true),
        json!(0.5),
        json!("no such value"),
    ];
    for schema in schema_values.schemas_of_property(name) {
        let number = |key: &str| schema.get(key).and_then(Value::as_i64);
        let below = [
            number("minimum").map(|n| n.saturating_sub(1)),
            number("exclusiveMinimum"),
        ];
        let above = [
            number("maximum").map(|n| n.saturating_add(1)),
            number("exclusiveMaximum"),
        ];
        values.extend(below.into_iter().chain(above).flatten().map(Value::from));
        let length = |key: &str| {
            let length = schema.get(key).and_then(Value::as_u64);
            length.and_then(|length| usize::try_from(length).ok())
        };
        let shorter = length("minLength").and_then(|least| least.checked_sub(1));
        let longer = length("maxLength").filter(|most| *most < 100_000);
        let lengths = shorter.map(|it| it.min(100_000)).into_iter();
        let lengths = lengths.chain(longer.map(|most| most + 1));
        values.extend(lengths.map(|length| Value::from("x".repeat(length))));
        let longest = length("maxItems").filter(|most| *most < 1_000);
        values.extend(longest.map(|most| Value::from(vec![json!("x"); most + 1])));
    }
    values
}
