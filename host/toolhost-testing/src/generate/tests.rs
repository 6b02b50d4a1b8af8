//! What is generated from schemas.

mod budget;

use serde_json::json;

use super::*;

fn tool(parameters: Value) -> ToolCatalogItem {
    ToolCatalogItem {
        name: ToolName::parse("notes__add").unwrap(),
        description: None,
        parameters: Some(JsonSchemaObject::parse(parameters).unwrap()),
        output_schema: None,
        source: None,
    }
}

/// The arguments of the cases of a kind.
fn args(parameters: Value, kind: GeneratedKind) -> Vec<Value> {
    let cases = generate(&[tool(parameters)], 1).cases;
    let of_kind = cases.into_iter().filter(|case| case.kind == kind);
    of_kind.map(|case| Value::Object(case.args)).collect()
}

fn object(properties: Value, required: Value) -> Value {
    json!({
        "type": "object", "properties": properties, "required": required,
        "additionalProperties": false,
    })
}

#[test]
fn the_same_seed_gives_the_same_cases() {
    let parameters = object(
        json!({"a": {"type": "string"}, "b": {"type": "integer"}}),
        json!(["a"]),
    );
    let of = |seed| generate(&[tool(parameters.clone())], seed);
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn every_bound_and_every_choice_is_tried() {
    let properties = json!({
        "n": {"type": "integer", "minimum": 3, "maximum": 9},
        "m": {"type": "integer", "multipleOf": 5, "exclusiveMinimum": 0, "maximum": 12},
        "mode": {"enum": ["fast", "slow"]},
        "s": {"type": "string", "minLength": 2, "maxLength": 4},
        "id": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"},
        "when": {"type": "string", "format": "date"},
        "list": {"type": "array", "items": {"type": "number"}, "maxItems": 2},
        "in": {"type": "object", "properties": {"deep": {"type": "boolean"}}, "required": ["deep"]},
    });
    let valid = args(
        object(properties.clone(), json!(["n"])),
        GeneratedKind::Valid,
    );
    let has = |key: &str, value: Value| valid.iter().any(|args| args.get(key) == Some(&value));
    for (key, value) in [
        ("n", json!(3)),
        ("n", json!(9)),
        ("m", json!(5)),
        ("m", json!(10)),
        ("mode", json!("fast")),
        ("mode", json!("slow")),
        ("s", json!("xx")),
        ("s", json!("xxxx")),
        ("id", json!("AA-000")),
        ("when", json!("2026-01-31")),
        ("list", json!([])),
        ("in", json!({"deep": false})),
    ] {
        assert!(has(key, value.clone()), "{key} = {value}: {valid:?}");
    }
    assert!(valid.contains(&json!({"n": 3})));
    assert!(
        valid
            .iter()
            .any(|args| args.as_object().unwrap().len() == 8)
    );

    let invalid = args(object(properties, json!(["n"])), GeneratedKind::Invalid);
    let broken = |key: &str, value: Value| invalid.iter().any(|args| args.get(key) == Some(&value));
    assert!(broken("n", json!(2)) && broken("n", json!(10)) && broken("s", json!("x")));
    assert!(broken("mode", json!("no such value")) && broken("list", json!(["x", "x", "x"])));
    assert!(invalid.iter().any(|args| args.get("n").is_none()));
    assert!(
        invalid
            .iter()
            .any(|args| args.get("noSuchArgument").is_some())
    );
}

#[test]
fn a_part_with_examples_gets_no_other_values_that_fit() {
    let seconds = json!({
        "type": "number", "minimum": 0, "maximum": 86_400, "default": 1, "examples": [0, 0.05],
    });
    let parameters = object(json!({"seconds": seconds}), json!(["seconds"]));
    for args in args(parameters.clone(), GeneratedKind::Valid) {
        let value = &args["seconds"];
        let listed = [json!(1), json!(0), json!(0.05)];
        assert!(listed.contains(value), "{value}");
    }
    let invalid = args(parameters, GeneratedKind::Invalid);
    let broken = |value: Value| invalid.iter().any(|args| args["seconds"] == value);
    assert!(broken(json!(-1)) && broken(json!(86_401)), "{invalid:?}");
}

#[test]
fn references_and_branches_are_followed() {
    let parameters = json!({
        "type": "object",
        "$defs": {"path": {"type": "string", "minLength": 1}},
        "properties": {"from": {"$ref": "#/$defs/path"}},
        "required": ["from"],
        "oneOf": [
            {"properties": {"to": {"$ref": "#/$defs/path"}}, "required": ["to"]},
            {"properties": {"drop": {"const": true}}, "required": ["drop"]},
        ],
    });
    let valid = args(parameters, GeneratedKind::Valid);
    let has = |key: &str| valid.iter().any(|args| args.get(key).is_some());
    assert!(has("to") && has("drop"), "{valid:?}");
    // A recursive schema is followed only to a certain depth.
    let endless = object(
        json!({"tree": {"$ref": "#"}, "a": {"type": "string"}}),
        json!([]),
    );
    assert!(!args(endless, GeneratedKind::Valid).is_empty());
}

#[test]
fn hostile_texts_replace_each_text() {
    let properties = json!({
        "path": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "mode": {"enum": ["a"]},
    });
    let hostile = args(object(properties, json!(["path"])), GeneratedKind::Hostile);
    for at in ["/path", "/tags/0"] {
        for text in ["../../etc/passwd", "../beside/canary.txt", "a\0b"] {
            let tried = |args: &&Value| args.pointer(at) == Some(&json!(text));
            assert!(hostile.iter().any(|args| tried(&args)), "{at} {text}");
        }
    }
    assert!(hostile.iter().all(|args| args["mode"] == "a"));
    assert_eq!(
        args(json!({"type": "object"}), GeneratedKind::Hostile).len(),
        0
    );
}

#[test]
fn every_hostile_text_replaces_each_of_three_texts() {
    let text = json!({"type": "string"});
    let properties = json!({"a": text, "b": text, "c": text, "d": text});
    let required = json!(["a", "b", "c", "d"]);
    let hostile = args(object(properties, required), GeneratedKind::Hostile);
    for at in ["a", "b", "c"] {
        let begins = |text: &str| {
            let texts = hostile.iter().filter_map(|args| args[at].as_str());
            texts.filter(|it| it.starts_with(text)).count()
        };
        assert_eq!(begins("../beside/canary.txt"), 1, "{at}");
        assert_eq!(begins("out/canary.txt"), 1, "{at}");
        assert_eq!(begins(&"x".repeat(64 << 10)), 1, "{at}");
        assert_eq!(begins("; DROP") + begins("'; DROP"), 1, "{at}");
    }
}

/// An object of twenty properties, each of which is such an object again.
fn twenty_recursive_properties() -> Value {
    let names = (0..20).map(|n| format!("p{n}"));
    let properties: JsonObject = names.map(|name| (name, json!({"$ref": "#"}))).collect();
    object(Value::Object(properties), json!([]))
}

#[test]
fn a_schema_of_twenty_recursive_properties_has_cases_and_what_is_left_out_is_counted() {
    let generated = generate(&[tool(twenty_recursive_properties())], 1);
    let [left_out] = generated.left_out.as_slice() else {
        panic!("{:?}", generated.left_out)
    };
    assert_eq!(
        (left_out.tool.as_str(), left_out.count > 0),
        ("notes__add", true)
    );
    let of = |kind| generated.cases.iter().filter(move |case| case.kind == kind);
    for property in 0..20 {
        let property = format!("p{property}");
        let has = |case: &GeneratedCase| case.args.contains_key(&property);
        assert!(of(GeneratedKind::Valid).any(has), "{property}");
    }
    let nested = |case: &GeneratedCase| {
        let whole = Value::Object(case.args.clone());
        whole.pointer("/p0/p19").is_some()
    };
    assert!(
        of(GeneratedKind::Valid).any(nested),
        "it is followed deeper"
    );
    assert!(of(GeneratedKind::Invalid).next().is_some());
    let bytes = |case: &GeneratedCase| serde_json::to_string(&case.args).unwrap().len();
    let largest = generated.cases.iter().map(bytes).max();
    assert!(largest.is_some_and(|bytes| bytes <= 2 << 20), "{largest:?}");
}

#[test]
fn schemas_that_describe_endless_branches_and_lists_have_cases() {
    let deeper = json!({"type": "array", "items": {"$ref": "#/$defs/endless"}});
    let references = vec![deeper; 20];
    let branches = json!({
        "type": "object", "properties": {"a": {"type": "string"}, "b": {"$ref": "#/$defs/endless"}},
        "required": ["a"], "$defs": {"endless": {"anyOf": references}},
    });
    let mut list = json!({"type": "string"});
    for _ in 0..5 {
        list = json!({"type": "array", "items": list, "minItems": 100});
    }
    let lists = object(json!({"a": {"type": "string"}, "b": list}), json!(["a"]));
    for parameters in [branches, lists] {
        let generated = generate(&[tool(parameters)], 1);
        let mut valid = generated
            .cases
            .iter()
            .filter(|case| case.kind == GeneratedKind::Valid);
        assert!(
            valid.any(|case| case.args.contains_key("a")),
            "{generated:?}"
        );
        assert_eq!(generated.left_out.len(), 1, "{generated:?}");
    }
}

#[test]
fn a_schema_that_no_arguments_fit_is_named() {
    for property in [
        json!(false),
        json!({"type": "string", "minLength": 5, "maxLength": 3}),
        json!({"type": "integer", "minimum": 1.2, "maximum": 1.8}),
        json!({"type": "object", "required": ["b"], "additionalProperties": false}),
    ] {
        let schema = json!({"type": "object", "properties": {"a": property}, "required": ["a"]});
        let generated = generate(&[tool(schema)], 1);
        assert!(generated.cases.is_empty(), "{generated:?}");
        let notes: Vec<_> = generated.left_out.iter().map(ToString::to_string).collect();
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(
            notes[0].contains("no generated arguments fit its schema"),
            "{notes:?}"
        );
    }
}

#[test]
fn nothing_of_a_small_schema_is_left_out() {
    let properties = json!({
        "a": {"type": "string", "maxLength": 100_000},
        "b": {"type": "array", "items": {"type": "object", "properties": {"c": {"type": "integer"}}}},
    });
    let generated = generate(&[tool(object(properties, json!(["a"])))], 1);
    assert_eq!(generated.left_out, []);
}
