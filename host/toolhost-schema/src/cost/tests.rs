use serde_json::json;

use super::*;

const REF: &str = "$ref";

fn cost_of(schema: &Value) -> Result<Cost, SchemaError> {
    assess(schema, &mut PatternBudget::default())
}

/// A definition for each of `count` steps, and a schema that starts at the first.
fn steps(count: usize, step: impl Fn(Value) -> Value) -> Value {
    let mut schema = json!({"type": "object", REF: "#/$defs/s0", "$defs": {}});
    for at in 0..=count {
        let next = json!({REF: format!("#/$defs/s{}", at + 1)});
        let last = at == count;
        schema["$defs"][format!("s{at}")] = if last { json!({}) } else { step(next) };
    }
    schema
}

#[test]
fn accepts_common_schemas() {
    let recursive = json!({
        "type": "object",
        "properties": {"where": {REF: "#/$defs/filter"}},
        "$defs": {"filter": {"oneOf": [
            {"properties": {"and": {"type": "array", "items": {REF: "#/$defs/filter"}}}},
            {"properties": {"not": {REF: "#/$defs/filter"}}},
            {"properties": {"field": {"type": "string", "pattern": "^[a-z]+$"}}},
        ]}},
    });
    let variants: Vec<Value> = (0..100)
        .map(|i| json!({"properties": {"kind": {"const": i}, "at": {REF: "#/$defs/at"}}}))
        .collect();
    let many = json!({"type": "object", "oneOf": variants, "$defs": {"at": {"type": "object"}}});
    let anchored = json!({
        "type": "object",
        "properties": {"a": {REF: "#here"}, "b": {REF: "#/$defs/a%20b"}, "c": {REF: "#"}},
        "$defs": {"x": {"$anchor": "here"}, "a b": true},
    });
    for schema in [
        json!({"type": "object"}),
        recursive,
        many,
        anchored,
        steps(60, |next| next),
    ] {
        assert!(cost_of(&schema).is_ok(), "{schema:.200}");
    }
}

#[test]
fn refuses_schemas_that_multiply_their_own_visits() {
    let twice = steps(30, |next| json!({"allOf": [next.clone(), next]}));
    let twice_inside = steps(
        30,
        |next| json!({"allOf": [{"properties": {"x": next.clone()}}, {"properties": {"x": next}}]}),
    );
    let patterns_inside = steps(
        30,
        |next| json!({"patternProperties": {"a": next.clone(), "b": next}}),
    );
    let wide = json!({"type": "object", "allOf": vec![json!({}); 6_000]});
    let huge =
        json!({"type": "object", "properties": {"x": {"prefixItems": vec![json!({}); 11_000]}}});
    for schema in [twice, twice_inside, patterns_inside, wide, huge] {
        let refused = cost_of(&schema).unwrap_err();
        let expected = [
            "the schema applies more than 2000 subschemas on the way to one value",
            "the schema has more than 10000 subschemas",
        ];
        let refused = refused.to_string();
        let expected = expected.contains(&refused.as_str());
        assert!(expected, "{refused}");
    }
}

#[test]
fn refuses_references_that_leave_the_schema_are_unresolved_or_circular() {
    let check = |schema: Value, expected: &str| {
        assert_eq!(cost_of(&schema).unwrap_err().to_string(), expected);
    };
    for outer in [
        "file:///etc/passwd",
        "http://127.0.0.1/x",
        "other.json",
        "https://x#/a",
    ] {
        check(
            json!({"type": "object", "properties": {"a": {REF: outer}}}),
            &format!(
                "$ref '{outer}' leaves the schema: only references within it (#/…) are followed"
            ),
        );
    }
    for nowhere in ["#/nope", "#nope", "#/%zz"] {
        check(
            json!({"type": "object", "items": {REF: nowhere}}),
            &format!(
                "$ref '{nowhere}' is an unresolved reference: the schema has nothing at that place"
            ),
        );
    }
    check(
        json!({"type": "object", "allOf": [{REF: "#"}]}),
        "$ref '#' is a circular reference: it applies itself to the same value",
    );
    check(
        json!({
            "type": "object",
            "properties": {"x": {REF: "#/$defs/a"}},
            "$defs": {"a": {"anyOf": [{REF: "#/$defs/b"}]}, "b": {"not": {REF: "#/$defs/a"}}},
        }),
        "$ref '#/$defs/a' is a circular reference: it applies itself to the same value",
    );
    check(
        json!({"type": "object", "properties": {"a": {"$id": "http://x/", REF: "#/$defs/x"}}}),
        "the schema: '$id' is only allowed at the top of the schema",
    );
}

#[test]
fn references_in_values_are_not_followed() {
    let schema = json!({
        "type": "object",
        "properties": {REF: {"type": "string"}, "pattern": {"const": {REF: "file:///x"}}},
        "default": {REF: "http://x"},
    });
    assert!(cost_of(&schema).is_ok());
}

#[test]
fn the_longest_chain_of_references_does_not_overflow_the_stack() {
    let chain = steps(9_000, |next| json!({"properties": {"x": next}}));
    assert!(cost_of(&chain).is_err());
    let circle = steps(1_500, |next| next);
    assert!(cost_of(&circle).is_ok());
}

#[test]
fn explanations_stop_where_they_would_take_too_long() {
    let doubling = json!({
        "type": "object",
        "anyOf": [{"properties": {"x": {REF: "#"}}}, {"properties": {"x": {REF: "#"}}}],
    });
    let cost = cost_of(&doubling).unwrap();
    let measure = |depth: usize, values: u64| Measure {
        depth,
        values,
        text: 0,
        floats: 0,
    };
    assert!(cost.allows_explanation(measure(5, 6)));
    assert!(!cost.allows_explanation(measure(30, 31)));
    assert!(cost.allows_check(&Value::Null, measure(60, 61)));

    let flat = cost_of(&json!({"type": "object", "properties": {"l": {"items": {}}}})).unwrap();
    assert!(flat.allows_explanation(measure(2, 10_000)));
    assert!(!flat.allows_explanation(measure(2, 1_000_000)));
    assert!(flat.allows_check(&Value::Null, measure(2, 1_000_000)));
    assert!(
        !flat.allows_explanation(measure(65, 66)),
        "deeper than arguments may be"
    );
}

#[test]
fn comparisons_count_except_with_a_set_of_strings() {
    let many = |items: Value| json!({"type": "object", "properties": {"l": {"items": items}}});
    let numbers: Vec<Value> = (0..1_000).map(|i| json!(f64::from(i) + 0.5)).collect();
    let texts: Vec<Value> = (0..1_000).map(|i| json!(i.to_string())).collect();
    let allows = |items: Value| {
        let size = Measure {
            depth: 2,
            values: 100_000,
            text: 0,
            floats: 0,
        };
        let cost = cost_of(&many(items)).unwrap();
        cost.allows_check(&Value::Null, size)
    };
    assert!(allows(json!({"enum": texts})));
    assert!(!allows(json!({"enum": numbers})));
    assert!(!allows(json!({"required": texts})));
    assert!(!allows(json!({"dependentRequired": {"a": texts}})));
    assert!(!allows(json!({"not": {"enum": numbers}})));
}

#[test]
fn slow_checks_are_distinguished_from_short_ones() {
    let is_short = |schema: Value, args: Value| {
        let cost = cost_of(&schema).unwrap();
        cost.is_short(&args, json::measure(&args))
    };
    let plain = || json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert!(is_short(plain(), json!({"a": "x".repeat(100_000)})));
    let items: Vec<_> = (0..2_000).map(|n| json!({"n": n})).collect();
    let list = |items: Value| json!({"type": "object", "properties": {"l": items}});
    assert!(is_short(
        list(json!({"items": {"type": "object"}})),
        json!({"l": [1, 2, 3]})
    ));
    let unique: Vec<_> = (0..100).map(|_| json!({"uniqueItems": true})).collect();
    assert!(!is_short(
        list(json!({"allOf": unique})),
        json!({"l": items})
    ));
    let dear = json!({"properties": {"a": {"pattern": "[b-y][a-z]{1000}[A-Z]"}}});
    assert!(!is_short(dear, json!({"a": "x".repeat(10_000)})));
}

#[test]
fn the_states_of_patterns_count_wherever_they_are_applied() {
    let dear = || json!({"pattern": "[b-y][a-z]{1000}[A-Z]"});
    let allows = |schema: Value, args: &Value| {
        let cost = cost_of(&schema).unwrap();
        cost.allows_check(args, json::measure(args))
    };
    let long = "x".repeat(100_000);
    let of_a = |schema: Value| json!({"type": "object", "properties": {"a": schema, "b": {}}});
    let within = |key: &str| json!({key: [dear()]});
    for schema in [
        dear(),
        within("anyOf"),
        within("prefixItems"),
        json!({"items": dear()}),
        json!({"not": dear()}),
    ] {
        assert!(allows(of_a(schema.clone()), &json!({"b": long, "a": "x"})));
        assert!(!allows(of_a(schema), &json!({"a": [long]})));
    }
    for of_names in [
        json!({"type": "object", "patternProperties": {"[b-y][a-z]{1000}[A-Z]": {}}}),
        json!({"type": "object", "propertyNames": dear()}),
    ] {
        assert!(!allows(of_names, &json!({long.as_str(): 1})));
    }
    let of_others = json!({"type": "object", "additionalProperties": dear()});
    assert!(!allows(of_others, &json!({"b": long})));
}
