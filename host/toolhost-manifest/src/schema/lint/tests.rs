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

fn requiring(property: Value) -> Value {
    json!({"type": "object", "properties": {"a": property}, "required": ["a"]})
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
        let found = remarks(with(json!({wrong: 1})));
        let expected = format!("Did you mean '{meant}'?");
        assert!(
            found.len() == 1 && found[0].contains(&expected),
            "{found:?}"
        );
    }
    let inside = json!({"anyOf": [{"items": {"a": {}, "tpye": "string"}}]});
    let found = remarks(with(inside));
    assert!(
        found[0].starts_with("/properties/a/anyOf/0/items/tpye: "),
        "{found:?}"
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
fn parameters_that_no_arguments_fit_are_reported_with_the_reason() {
    for (property, at, reason) in [
        (json!(false), "", "the schema 'false' allows no value"),
        (
            json!({"type": "string", "minLength": 5, "maxLength": 3}),
            "",
            "'minLength' 5 is above 'maxLength' 3",
        ),
        (
            json!({"type": "integer", "minimum": 1.2, "maximum": 1.8}),
            "",
            "no integer lies between 'minimum' 1.2 and 'maximum' 1.8",
        ),
        (
            json!({"type": "number", "minimum": 1, "exclusiveMaximum": 1}),
            "",
            "no number lies between 'minimum' 1 and 'exclusiveMaximum' 1",
        ),
        (
            json!({"type": "string", "enum": [1, 2]}),
            "",
            "no value of 'enum' or 'const' has the type of the schema",
        ),
        (
            json!({"allOf": [{}, {"type": "array", "minItems": 2, "maxItems": 1}]}),
            ".allOf.1",
            "'minItems' 2 is above 'maxItems' 1",
        ),
        (
            json!({"anyOf": [false, {"allOf": [false]}]}),
            "",
            "no value fits any schema of 'anyOf'",
        ),
        (
            json!({"type": "array", "minItems": 1, "items": false}),
            ".items",
            "the schema 'false' allows no value",
        ),
        (
            json!({"type": "object", "required": ["b"], "additionalProperties": false}),
            "",
            "'b' is required, but 'additionalProperties' forbids it",
        ),
        // No finite value fits.
        (
            json!({"$ref": "#"}),
            "",
            "'$ref' leads to a schema that no value fits",
        ),
    ] {
        let found = remarks(requiring(property.clone()));
        let expected =
            format!(": no arguments can be valid: parameters.properties.a{at}: {reason} (");
        assert!(found[0].contains(&expected), "{property}: {found:?}");
        // The contradiction is not reported twice.
        assert_eq!(found.len(), 1, "{property}: {found:?}");
    }
}

#[test]
fn a_contradiction_in_an_optional_property_is_reported_at_its_place() {
    check(
        with(json!({"type": "string", "minLength": 5, "maxLength": 3})),
        &[
            "/properties/a: parameters.properties.a: no value fits: 'minLength' 5 is above 'maxLength' 3 \
           (Correct the schema.)",
        ],
    );
    // To forbid a property is common.
    check(with(json!(false)), &[]);
}

#[test]
fn schemas_that_some_value_fits_are_not_reported() {
    for property in [
        json!(true),
        json!({}),
        json!({"minLength": 5, "maxLength": 3}),
        json!({"type": ["string", "null"], "minLength": 5, "maxLength": 3}),
        json!({"type": "integer", "minimum": 1, "maximum": 1}),
        json!({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 2}),
        json!({"type": "integer", "const": 1.0}),
        json!({"enum": [null]}),
        json!({"type": "array", "items": false}),
        json!({"type": "array", "minItems": 1, "prefixItems": [{}], "items": false}),
        json!({"anyOf": [false, {}]}),
        json!({"required": ["b"], "properties": {"b": false}}),
        json!({"$ref": "#/$defs/list", "minItems": 0}),
    ] {
        let mut schema = requiring(property);
        // A list may end: a value fits, although the schema refers to itself.
        schema["$defs"] = json!({"list": {
            "type": "object",
            "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/list"}]}},
            "required": ["next"],
        }});
        check(schema, &[]);
    }
}

#[test]
fn mutual_references_fit_a_value_if_one_of_them_ends() {
    let schema = |end: Value| {
        json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "required": ["a"],
            "$defs": {
                "a": {"type": "object", "properties": {"b": {"$ref": "#/$defs/b"}}, "required": ["b"]},
                "b": {"anyOf": [{"$ref": "#/$defs/a"}, end]},
            },
        })
    };
    check(schema(json!({"type": "null"})), &[]);
    let found = remarks(schema(json!(false)));
    assert!(found[0].contains("no arguments can be valid"), "{found:?}");
}

#[test]
fn hostile_schemas_are_linted_in_bounded_time() {
    let started = std::time::Instant::now();
    // A chain in which each definition needs the next one, found in the worst order.
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
