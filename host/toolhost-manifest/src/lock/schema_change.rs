//! How the values that a JSON Schema accepts have changed.
//!
//! The comparison is sound and simple: "wider" means that each value that the former schema accepts is accepted by
//! the new one, "narrower" the reverse. What the rules here do not decide is "changed".

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that describe values and accept or refuse none.
pub(super) const ANNOTATIONS: [&str; 8] = [
    "$comment",
    "default",
    "deprecated",
    "description",
    "examples",
    "readOnly",
    "title",
    "writeOnly",
];

/// Lower limits: a smaller number accepts more.
const LOWER: [&str; 5] = [
    "exclusiveMinimum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
];

/// Upper limits: a greater number accepts more.
const UPPER: [&str; 5] = [
    "exclusiveMaximum",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
];

/// How the set of values has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SchemaChange {
    Same,
    /// Every value of before is still accepted.
    Wider,
    /// Every value that is accepted was accepted before.
    Narrower,
    /// Neither is known.
    Changed,
}

impl SchemaChange {
    /// The change of two changes that both hold.
    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Same, change) | (change, Self::Same) => change,
            (one, two) if one == two => one,
            (_, _) => Self::Changed,
        }
    }

    fn if_more(is_more: bool) -> Self {
        if is_more { Self::Wider } else { Self::Narrower }
    }
}

/// Keywords whose meaning depends on other places of the schema: no rule here decides a change of a schema with one.
const DEPENDENT: [&str; 6] = [
    "$dynamicRef",
    "$recursiveRef",
    "$ref",
    "patternProperties",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// Compares two whole schemas. Annotations do not count.
pub(super) fn compare(before: &Value, after: &Value) -> SchemaChange {
    if without_annotations(before) == without_annotations(after) {
        return SchemaChange::Same;
    }
    if has_dependent(before) || has_dependent(after) {
        SchemaChange::Changed
    } else {
        compare_parts(before, after)
    }
}

/// Returns a schema without its annotations. Where it has keywords that hold other things than schemas, such as
/// `enum`, these stay as they are.
fn without_annotations(schema: &Value) -> Value {
    match schema {
        Value::Object(keywords) => {
            let kept = keywords
                .iter()
                .filter(|(name, _)| !ANNOTATIONS.contains(&name.as_str()));
            let part = |(name, value): (&String, &Value)| {
                let part = match (name.as_str(), value) {
                    ("const" | "enum" | "required" | "dependentRequired", _) => value.clone(),
                    (
                        "properties" | "patternProperties" | "$defs" | "definitions"
                        | "dependentSchemas" | "dependencies",
                        Value::Object(named),
                    ) => named
                        .iter()
                        .map(|(name, schema)| (name.clone(), without_annotations(schema)))
                        .collect(),
                    (_, Value::Array(schemas)) => schemas.iter().map(without_annotations).collect(),
                    (_, other) => without_annotations(other),
                };
                (name.clone(), part)
            };
            Value::Object(kept.map(part).collect())
        }
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            schema.clone()
        }
    }
}

/// Returns whether a key anywhere in a schema is one of [`DEPENDENT`].
fn has_dependent(schema: &Value) -> bool {
    match schema {
        Value::Object(keywords) => keywords
            .iter()
            .any(|(name, value)| DEPENDENT.contains(&name.as_str()) || has_dependent(value)),
        Value::Array(values) => values.iter().any(has_dependent),
        Value::Bool(_) | Value::Null | Value::Number(_) | Value::String(_) => false,
    }
}

/// Compares two schemas, or two parts of schemas, without keywords that depend on other places.
fn compare_parts(before: &Value, after: &Value) -> SchemaChange {
    if before == after {
        return SchemaChange::Same;
    }
    let (Some(before), Some(after)) = (keywords(before), keywords(after)) else {
        return of_false(before, after);
    };
    let names: BTreeSet<&str> = before
        .keys()
        .chain(after.keys())
        .map(String::as_str)
        .collect();
    let mut change = SchemaChange::Same;
    for name in names {
        let of_keyword = match name {
            _ if ANNOTATIONS.contains(&name) => SchemaChange::Same,
            "properties" | "required" | "additionalProperties" => continue,
            _ => keyword(name, before.get(name), after.get(name)),
        };
        change = change.and(of_keyword);
    }
    change.and(members(&before, &after))
}

/// Returns the keywords of a schema: `true` has none. Returns none for `false`, and for values that are not schemas.
fn keywords(schema: &Value) -> Option<Map<String, Value>> {
    match schema {
        Value::Object(keywords) => Some(keywords.clone()),
        Value::Bool(true) => Some(Map::new()),
        Value::Bool(false)
        | Value::Null
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_) => None,
    }
}

/// Compares schemas of which one is `false`, which accepts nothing.
fn of_false(before: &Value, after: &Value) -> SchemaChange {
    match (before, after) {
        (Value::Bool(false), _) => SchemaChange::Wider,
        (_, Value::Bool(false)) => SchemaChange::Narrower,
        (_, _) => SchemaChange::Changed,
    }
}

fn keyword(name: &str, before: Option<&Value>, after: Option<&Value>) -> SchemaChange {
    let (before, after) = match (before, after) {
        (before, after) if before == after => return SchemaChange::Same,
        (Some(before), Some(after)) => (before, after),
        // References and what they refer to: more than this keyword changes.
        _ if name.starts_with('$') || name == "definitions" => return SchemaChange::Changed,
        // `if` alone, `then` alone and such mean nothing by themselves.
        (None, Some(_)) if restricts(name) => return SchemaChange::Narrower,
        (Some(_), None) if restricts(name) => return SchemaChange::Wider,
        (_, _) => return SchemaChange::Changed,
    };
    match name {
        "type" => of_sets(types(before), types(after)),
        "enum" => of_sets(values(before), values(after)),
        "items" => compare_parts(before, after),
        _ if LOWER.contains(&name) => of_numbers(after, before),
        _ if UPPER.contains(&name) => of_numbers(before, after),
        _ => SchemaChange::Changed,
    }
}

/// Returns whether a keyword by itself can only refuse values.
fn restricts(name: &str) -> bool {
    const OTHERS: [&str; 9] = [
        "allOf",
        "anyOf",
        "const",
        "enum",
        "items",
        "multipleOf",
        "oneOf",
        "pattern",
        "type",
    ];
    OTHERS.contains(&name) || LOWER.contains(&name) || UPPER.contains(&name)
}

/// Compares two sets of accepted things. None is a set that is not understood.
fn of_sets(before: Option<BTreeSet<String>>, after: Option<BTreeSet<String>>) -> SchemaChange {
    match (before, after) {
        (Some(before), Some(after)) if before == after => SchemaChange::Same,
        (Some(before), Some(after)) if before.is_subset(&after) => SchemaChange::Wider,
        (Some(before), Some(after)) if after.is_subset(&before) => SchemaChange::Narrower,
        (_, _) => SchemaChange::Changed,
    }
}

/// The types, with `integer` as a part of `number`.
fn types(value: &Value) -> Option<BTreeSet<String>> {
    let names: Vec<&str> = match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(Value::as_str).collect::<Option<_>>()?,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return None,
    };
    let mut types: BTreeSet<String> = names.iter().map(|&name| name.to_owned()).collect();
    if types.contains("number") {
        types.insert("integer".to_owned());
    }
    Some(types)
}

fn values(value: &Value) -> Option<BTreeSet<String>> {
    Some(
        value
            .as_array()?
            .iter()
            .map(super::canonical::text)
            .collect(),
    )
}

/// Compares limits of which the greater one accepts more.
fn of_numbers(before: &Value, after: &Value) -> SchemaChange {
    match (before.as_f64(), after.as_f64()) {
        (Some(before), Some(after)) if before != after => SchemaChange::if_more(after > before),
        (_, _) => SchemaChange::Changed,
    }
}

/// Compares `properties`, `required` and `additionalProperties`, which depend on each other.
fn members(before: &Map<String, Value>, after: &Map<String, Value>) -> SchemaChange {
    let empty = Map::new();
    let properties = |schema: &Map<String, Value>| match schema.get("properties") {
        Some(Value::Object(properties)) => properties.clone(),
        Some(_) | None => empty.clone(),
    };
    let others = |schema: &Map<String, Value>| {
        schema
            .get("additionalProperties")
            .cloned()
            .unwrap_or(Value::Bool(true))
    };
    let (own, new) = (properties(before), properties(after));
    let (own_others, new_others) = (others(before), others(after));
    let names: BTreeSet<&String> = own.keys().chain(new.keys()).collect();
    let mut change = required(before, after).and(compare_parts(&own_others, &new_others));
    for name in names {
        let of_name = compare_parts(
            own.get(name).unwrap_or(&own_others),
            new.get(name).unwrap_or(&new_others),
        );
        change = change.and(of_name);
    }
    change
}

fn required(before: &Map<String, Value>, after: &Map<String, Value>) -> SchemaChange {
    let names = |schema: &Map<String, Value>| match schema.get("required") {
        None => Some(BTreeSet::new()),
        Some(names) => values(names),
    };
    // Fewer required properties accept more.
    of_sets(names(after), names(before))
}

#[cfg(test)]
mod tests {
    use super::SchemaChange::{Changed, Narrower, Same, Wider};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn changes_of_keywords_are_wider_or_narrower_or_undecided() {
        let string = json!({"type": "string"});
        for (before, after, expected) in [
            (
                json!({"type": "string"}),
                json!({"type": "string", "description": "x"}),
                Same,
            ),
            (json!({"type": "integer"}), json!({"type": "number"}), Wider),
            (
                json!({"type": "string"}),
                json!({"type": ["string", "null"]}),
                Wider,
            ),
            (json!({"type": "string"}), json!({}), Wider),
            (
                json!({"type": "string"}),
                json!({"type": "integer"}),
                Changed,
            ),
            (json!({"enum": ["a"]}), json!({"enum": ["b", "a"]}), Wider),
            (json!({"maxLength": 5}), json!({"maxLength": 6}), Wider),
            (json!({"minimum": 5}), json!({"minimum": 6}), Narrower),
            (json!({"minimum": 5}), json!({}), Wider),
            (json!({"pattern": "a"}), json!({"pattern": "b"}), Changed),
            (json!({}), json!({"pattern": "b"}), Narrower),
            (
                json!({"items": {"type": "integer"}}),
                json!({"items": {"type": "number"}}),
                Wider,
            ),
            (json!({"$ref": "#/a"}), json!({}), Changed),
            // What a keyword of another place refuses.
            (
                json!({"properties": {"a": {}}, "unevaluatedProperties": false}),
                json!({"properties": {}, "unevaluatedProperties": false}),
                Changed,
            ),
            (
                json!({"properties": {"a": {"minimum": 1}}, "not": {"$ref": "#/properties/a"}}),
                json!({"properties": {"a": {"minimum": 0}}, "not": {"$ref": "#/properties/a"}}),
                Changed,
            ),
            (
                json!({"patternProperties": {"^a": {"minimum": 1}}}),
                json!({"patternProperties": {"^a": {"minimum": 0}}}),
                Changed,
            ),
            (
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"title": "x"}}}),
                json!({"$ref": "#/$defs/a", "$defs": {"a": {"title": "y"}}}),
                Same,
            ),
            // A property that has the name of an annotation.
            (
                json!({"properties": {"title": {"minimum": 1}}}),
                json!({"properties": {"title": {"minimum": 0}}}),
                Wider,
            ),
            (
                json!({"enum": [{"title": 1}]}),
                json!({"enum": [{"title": 2}]}),
                Changed,
            ),
            (json!(true), json!({}), Same),
            (json!(false), json!({}), Wider),
            (
                json!({"required": ["a"]}),
                json!({"required": ["a", "b"]}),
                Narrower,
            ),
            (json!({"required": ["a"]}), json!({}), Wider),
            // A property that any value was accepted for.
            (json!({}), json!({"properties": {"a": string}}), Narrower),
            // A property that was refused.
            (
                json!({"additionalProperties": false}),
                json!({"additionalProperties": false, "properties": {"a": string}}),
                Wider,
            ),
            (json!({}), json!({"additionalProperties": false}), Narrower),
            (
                json!({"properties": {"a": {"minimum": 1}, "b": {"minimum": 1}}}),
                json!({"properties": {"a": {"minimum": 2}, "b": {}}}),
                Changed,
            ),
        ] {
            assert_eq!(compare(&before, &after), expected, "{before} {after}");
            let reverse = match expected {
                Wider => Narrower,
                Narrower => Wider,
                Same | Changed => expected,
            };
            assert_eq!(compare(&after, &before), reverse, "{after} {before}");
        }
    }

    fn scalar() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!(null)),
            (-3..4_i64).prop_map(|n| json!(n)),
            Just(json!(1.5)),
            "[ab]{0,3}".prop_map(|text| json!(text)),
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        scalar().prop_recursive(2, 8, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
                prop::collection::btree_map("[ab]|title", inner, 0..3)
                    .prop_map(|members| json!(members)),
            ]
        })
    }

    fn schema() -> impl Strategy<Value = Value> {
        let names = ["string", "integer", "number", "null", "object", "array"];
        let leaf = prop_oneof![
            Just(json!({})),
            prop::sample::subsequence(names.to_vec(), 1..3)
                .prop_map(|types| json!({"type": types})),
            (-2..3_i64).prop_map(|n| json!({"minimum": n})),
            (-2..3_i64).prop_map(|n| json!({"exclusiveMaximum": n})),
            (0..3_u64).prop_map(|n| json!({"maxLength": n})),
            (0..3_u64).prop_map(|n| json!({"minItems": n})),
            prop::collection::vec(scalar(), 1..3).prop_map(|values| json!({"enum": values})),
            Just(json!({"pattern": "a"})),
        ];
        leaf.prop_recursive(2, 12, 3, |inner| {
            let object = (
                prop::collection::btree_map("[ab]", inner.clone(), 0..3),
                prop::sample::subsequence(vec!["a", "b"], 0..3),
                prop_oneof![Just(json!(true)), Just(json!(false)), inner.clone()],
            );
            prop_oneof![
                inner.clone().prop_map(|not| json!({"not": not})),
                inner.clone().prop_map(|part| json!({
                    "properties": {"a": part}, "unevaluatedProperties": false,
                })),
                inner
                    .clone()
                    .prop_map(|part| json!({"properties": {"title": part}})),
                inner.prop_map(|items| json!({"items": items})),
                object.prop_map(|(properties, required, others)| json!({
                    "properties": properties, "required": required, "additionalProperties": others,
                })),
            ]
        })
    }

    /// A whole schema, of which a part may refer to another.
    fn whole() -> impl Strategy<Value = Value> {
        prop_oneof![
            schema(),
            schema().prop_map(|part| json!({
                "properties": {"a": part}, "allOf": [{"not": {"$ref": "#/properties/a"}}],
            })),
        ]
    }

    proptest! {
        #[test]
        fn no_value_is_lost_by_a_wider_schema_and_none_won_by_a_narrower_one(
            before in whole(), after in whole(), values in prop::collection::vec(value(), 12)
        ) {
            let change = compare(&before, &after);
            for value in values {
                let (was, is) = (jsonschema::is_valid(&before, &value), jsonschema::is_valid(&after, &value));
                match change {
                    Same => prop_assert_eq!(was, is, "{} {} {}", before, after, value),
                    Wider => prop_assert!(!was || is, "{} {} {}", before, after, value),
                    Narrower => prop_assert!(was || !is, "{} {} {}", before, after, value),
                    Changed => {}
                }
            }
        }
    }
}
