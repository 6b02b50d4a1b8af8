use serde_json::json;

use super::*;

/// Returns each remark as `pointer: message (help)`.
fn remarks(schema: Value) -> Vec<String> {
    let schema = JsonSchemaObject::parse(schema).unwrap();
    let remarks = lint("parameters", &schema).into_iter();
    let line = |it: SchemaRemark| format!("{}: {} ({})", it.pointer, it.message, it.help);
    remarks.map(line).collect()
}

fn check(schema: Value, expected: &[&str]) {
    assert_eq!(remarks(schema.clone()), expected, "{schema}");
}

fn with(property: Value) -> Value {
    json!({"type": "object", "properties": {"a": property}})
}

#[test]
fn a_misspelt_keyword_is_reported_with_the_one_that_was_meant() {
    check(
        json!({"type": "object", "properties": {}, "requird": ["a"]}),
        &[
            "/requird: parameters.requird: an unknown keyword has no effect (Did you mean 'required'?)",
        ],
    );
    for (wrong, meant) in [
        ("maxLenght", "maxLength"),
        ("Description", "description"),
        ("ref", "$ref"),
        ("additionalPropertie", "additionalProperties"),
    ] {
        let remarks_ = remarks(with(json!({wrong: 1})));
        let expected = format!("Did you mean '{meant}'?");
        assert!(
            remarks_.len() == 1 && remarks_[0].contains(&expected),
            "{remarks_:?}"
        );
    }
    let inside = json!({"anyOf": [{"items": {"a": {}, "tpye": "string"}}]});
    let remarks_ = remarks(with(inside));
    assert!(
        remarks_[0].starts_with("/properties/a/anyOf/0/items/tpye: "),
        "{remarks_:?}"
    );
}

#[test]
fn a_keyword_without_a_value_is_reported_as_models_read_it() {
    // `description: Text file, instead of text` in braces is two keys of YAML.
    let property = json!({"type": "string", "description": "Text file", "instead of text": null});
    let found = remarks(with(property));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].contains("instead of text") && found[0].contains("in quotes"),
        "{found:?}"
    );
    check(
        with(json!({"default": null, "const": null, "x-note": null})),
        &[],
    );
}

#[test]
fn annotations_and_names_of_properties_are_not_keywords() {
    let names = json!({"requird": {}, "tpye": {}, "ref": {}});
    check(
        json!({"type": "object", "properties": names, "$defs": names}),
        &[],
    );
    for annotation in [
        "x-requird",
        "x-anything",
        "example",
        "note",
        "form",
        "nullable",
        "discriminator",
        "markdownDescription",
    ] {
        check(with(json!({annotation: 1})), &[]);
    }
    check(
        with(json!({"default": {"requird": 1}, "enum": [{"tpye": 1}]})),
        &[],
    );
    let all: Map<String, Value> = KNOWN
        .iter()
        .map(|key| ((*key).to_owned(), json!(0)))
        .collect();
    check(with(Value::Object(all)), &[]);
}

#[test]
fn a_required_property_that_is_not_declared_is_reported() {
    check(
        json!({"type": "object", "properties": {"path": {}, "size": {}}, "required": ["path", "szie"]}),
        &[
            "/required/1: parameters.required[1]: 'szie' is required, but is not among the properties \
           (Did you mean 'size'?)",
        ],
    );
    let found = remarks(with(
        json!({"properties": {"x": {}}, "required": ["other"]}),
    ));
    assert!(found[0].ends_with("(Add it to 'properties', or remove it from 'required'.)"));
}

#[test]
fn a_required_property_may_be_declared_elsewhere() {
    for others in [
        json!({"additionalProperties": {"type": "string"}}),
        json!({"patternProperties": {"^b": {}}}),
        json!({"allOf": [{"properties": {"b": {}}}]}),
        json!({"$ref": "#/$defs/x", "$defs": {"x": {"properties": {"b": {}}}}}),
    ] {
        let mut schema = json!({"type": "object", "properties": {"a": {}}, "required": ["b"]});
        let members = others.as_object().unwrap().clone();
        schema.as_object_mut().unwrap().extend(members);
        check(schema, &[]);
    }
    // One of two alternatives needs a property of the schema around it.
    check(
        json!({
            "type": "object",
            "properties": {"kind": {}, "path": {}},
            "oneOf": [
                {"properties": {"kind": {"const": "a"}}, "required": ["kind", "path"]},
                {"required": ["kind"]},
            ],
        }),
        &[],
    );
    check(json!({"type": "object", "required": ["b"]}), &[]);
}

#[test]
fn hostile_schemas_are_linted_in_bounded_time() {
    let started = std::time::Instant::now();
    // A chain in which each definition needs the next one.
    let mut chain = json!({"type": "object", "$ref": "#/$defs/s0", "$defs": {}});
    for at in 0..1_500 {
        let next = json!({"type": "object", "properties": {"x": {"$ref": format!("#/$defs/s{}", at + 1)}}, "required": ["x"]});
        chain["$defs"][format!("s{at}")] = next;
    }
    chain["$defs"]["s1500"] = json!({});
    let misspelt: Map<String, Value> = (0..5_000)
        .map(|at| (format!("p{at}"), json!({"requird": [], "tpye": "string"})))
        .collect();
    let wide = json!({"type": "object", "properties": misspelt});
    let deep = (0..120).fold(
        json!({}),
        |inner, _| json!({"anyOf": [inner, {"$ref": "#"}]}),
    );
    assert!(remarks(chain).is_empty());
    assert_eq!(remarks(wide).len(), REMARKS_MAX);
    remarks(with(deep));
    assert!(started.elapsed().as_secs() < 10);
}

#[test]
fn a_default_that_does_not_fit_its_own_schema_is_found() {
    let check = |schema: Value, expected: &[&str]| {
        let schema = JsonSchemaObject::parse(schema).unwrap();
        let remarks = super::super::unfit_defaults("parameters", &schema);
        let messages: Vec<_> = remarks
            .iter()
            .map(|it| format!("{} {}", it.pointer, it.message))
            .collect();
        assert_eq!(messages, expected);
    };
    check(
        with(json!({"type": "integer", "maximum": 9, "default": 10})),
        &[
            "/properties/a/default parameters.properties.a.default: the default does not fit: must be at most 9 but is 10",
        ],
    );
    check(
        with(json!({"enum": ["x", "y"], "default": "z"})),
        &[
            "/properties/a/default parameters.properties.a.default: the default does not fit: must be one of \"x\", \"y\" but is \"z\"",
        ],
    );
    check(
        with(json!({"items": {"type": "string", "minLength": 2}, "default": ["ab", "c"]})),
        &[
            "/properties/a/default parameters.properties.a.default[1]: the default does not fit: must have at least 2 characters but has 1",
        ],
    );
    // Through a reference, and within a definition.
    let node = json!({"type": "object", "properties": {"n": {"type": "integer", "default": "1"}}, "required": ["n"]});
    let schema = json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/Node", "default": {}}},
        "$defs": {"Node": node},
    });
    check(
        schema,
        &[
            "/properties/a/default parameters.properties.a.default: the default does not fit: required property \"n\" is missing",
            "/$defs/Node/properties/n/default parameters.$defs.Node.properties.n.default: the default does not fit: expected integer but got string",
        ],
    );
    // A property may be named `default`.
    check(
        json!({"type": "object", "properties": {"default": {"type": "string"}}}),
        &[],
    );
    check(
        with(json!({"type": ["string", "null"], "default": null})),
        &[],
    );
}
