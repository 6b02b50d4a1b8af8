//! Arguments that violate a schema, each in one way.

use serde_json::{Value, json};
use toolhost_contract::JsonObject;

use super::budget::{Budget, Size};
use super::change::Change;
use super::values::{ObjectSchema, SchemaValues};

/// An argument that no schema names.
const UNKNOWN: &str = "noSuchArgument";

/// Longest text that is made, in characters.
const TEXT_MAX: usize = 100_000;

/// Returns changes of `base` after which it probably does not fit. The caller drops those that fit.
pub(super) fn changes(
    values: &SchemaValues<'_>,
    objects: &[ObjectSchema<'_>],
    base: &JsonObject,
    budget: &Budget,
) -> Vec<Change> {
    let mut changes: Vec<Change> = base.keys().map(|name| Change::without(name)).collect();
    changes.push(Change::with(UNKNOWN));
    for name in base.keys() {
        let wrong = wrong_values(values.schemas_of_property(objects, name), budget);
        changes.extend(wrong.into_iter().map(|value| Change::set(name, value)));
    }
    changes
}

fn wrong_values(schemas: Vec<Value>, budget: &Budget) -> Vec<Value> {
    let mut values = vec![
        json!(null),
        json!([[]]),
        json!({"no": "such"}),
        json!(true),
        json!(0.5),
        json!("no such value"),
    ];
    for schema in schemas {
        let number = |key: &str| schema.get(key).and_then(Value::as_i64);
        let below = [
            number("minimum").map(|n| n.saturating_sub(1)),
            number("exclusiveMinimum"),
        ];
        let too_large = [
            number("maximum").map(|n| n.saturating_add(1)),
            number("exclusiveMaximum"),
        ];
        values.extend(
            below
                .into_iter()
                .chain(too_large)
                .flatten()
                .map(Value::from),
        );
        let length = |key: &str| {
            let length = schema.get(key).and_then(Value::as_u64);
            length.and_then(|length| usize::try_from(length).ok())
        };
        let shorter = length("minLength").and_then(|least| least.checked_sub(1));
        let longer = length("maxLength").filter(|most| *most < TEXT_MAX);
        let lengths = shorter.map(|it| it.min(TEXT_MAX)).into_iter();
        let lengths = lengths.chain(longer.map(|most| most + 1));
        let lengths = lengths.filter(|length| budget.spend(Size::text(*length)));
        values.extend(lengths.map(|length| Value::from("x".repeat(length))));
        let longest = length("maxItems").filter(|most| *most < 1_000);
        let longest = longest.filter(|most| {
            let (values, bytes) = (*most + 2, *most + 1);
            budget.spend(Size { values, bytes })
        });
        values.extend(longest.map(|most| Value::from(vec![json!("x"); most + 1])));
    }
    values
}
