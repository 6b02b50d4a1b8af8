use serde_json::{Value, json};

use super::*;

fn catalog(parameters: Value, description: Option<&str>) -> ToolCatalog {
    let mut item = json!({"name": "a__b", "parameters": parameters});
    if let Some(description) = description {
        item["description"] = description.into();
    }
    ToolCatalog::new([serde_json::from_value(item).unwrap()])
}

/// The schema and the description that a provider gets.
fn given(parameters: Value) -> (Value, Value) {
    let tool = catalog(parameters, Some("Does b.")).to_anthropic()[0].take();
    (tool["input_schema"].clone(), tool["description"].clone())
}

fn severities(catalog: &ToolCatalog, provider: ModelProvider) -> Vec<Severity> {
    let findings = catalog.findings_for(provider).into_iter();
    findings.map(|finding| finding.severity).collect()
}

const PROVIDERS: [ModelProvider; 3] = [
    ModelProvider::OpenAi,
    ModelProvider::Anthropic,
    ModelProvider::Gemini,
];

#[test]
fn no_provider_gets_a_schema_that_it_refuses_at_the_top() {
    let text = json!({"type": "string"});
    for (keywords, properties, required, note) in [
        (
            json!({"properties": {"a": text, "b": text}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            json!({"a": text, "b": text}),
            Value::Null,
            "at least one of these forms: `a`; `b`.",
        ),
        (
            json!({"properties": {"a": text, "b": text}, "required": ["a"], "oneOf": [
                {"required": ["a"]}, {"required": ["a", "b"]},
            ]}),
            json!({"a": text, "b": text}),
            json!(["a"]),
            "exactly one of these forms: `a`; `a`, `b`.",
        ),
        (
            json!({"oneOf": [
                {"properties": {"kind": {"const": "file"}, "path": text}, "required": ["kind", "path"]},
                {"properties": {"kind": {"const": "url"}, "url": text, "mode": text}, "required": ["kind", "url"]},
                {"type": "string"},
            ]}),
            json!({"kind": {"anyOf": [{"const": "file"}, {"const": "url"}]}, "path": text, "url": text, "mode": text}),
            json!(["kind"]),
            "`kind` is \"file\", `path`; `kind` is \"url\", `url`, optionally `mode`.",
        ),
        (
            json!({"allOf": [
                {"properties": {"a": text}, "required": ["a"], "additionalProperties": false},
                {"$ref": "#/$defs/more"},
            ], "$defs": {"more": {"type": "object", "properties": {"b": text, "a": {"minLength": 1}}}}}),
            json!({"a": {"allOf": [text, {"minLength": 1}]}, "b": text}),
            json!(["a"]),
            "",
        ),
        (
            json!({"$ref": "#/definitions/all", "definitions": {"all": {
                "anyOf": [{"$ref": "#/definitions/one"}], "properties": {"b": text},
            }, "one": {"properties": {"a": text}, "required": ["a"]}}}),
            json!({"b": text, "a": text}),
            json!(["a"]),
            "",
        ),
        (
            json!({"properties": {"a": text}, "not": {"required": ["a", "b"]}}),
            json!({"a": text}),
            Value::Null,
            "Do not pass `a` and `b` together.",
        ),
        (
            json!({"properties": {"a": text}, "enum": [{"a": "x"}]}),
            json!({"a": text}),
            Value::Null,
            "one of [{\"a\":\"x\"}].",
        ),
    ] {
        let mut parameters = keywords;
        parameters["type"] = "object".into();
        let catalog = catalog(parameters.clone(), Some("Does b."));
        let of_openai = catalog.to_openai()[0]["function"]["parameters"].clone();
        let of_gemini =
            catalog.to_gemini()[0]["functionDeclarations"][0]["parametersJsonSchema"].clone();
        let (of_anthropic, description) = given(parameters.clone());
        for schema in [of_openai, of_gemini, of_anthropic] {
            for refused in ["$ref", "allOf", "anyOf", "oneOf", "not", "enum"] {
                assert!(schema.get(refused).is_none(), "{refused}: {schema}");
            }
            assert_eq!(schema["type"], "object");
            assert_eq!(schema["properties"], properties);
            assert_eq!(schema["required"], required, "{schema}");
            assert_eq!(schema.get("$defs"), parameters.get("$defs"));
        }
        let description = description.as_str().unwrap();
        assert!(
            description.starts_with("Does b.") && description.contains(note),
            "{description}"
        );
        assert_eq!(note.is_empty(), description == "Does b.", "{description}");
        // Arguments are checked against the schema as the author wrote it.
        assert_eq!(
            catalog.items()[0].parameters.as_ref().unwrap().to_value(),
            parameters
        );
        for provider in PROVIDERS {
            let expected = if note.is_empty() {
                vec![]
            } else {
                vec![Severity::Note]
            };
            assert_eq!(severities(&catalog, provider), expected, "{parameters}");
        }
    }
}

#[test]
fn a_schema_that_cannot_be_rewritten_is_given_as_it_is_and_is_an_error() {
    let endless = json!({"$ref": "#/$defs/a"});
    for (keywords, reason) in [
        (
            json!({"anyOf": [{"type": "string"}]}),
            "no schema of `anyOf` allows an object",
        ),
        (
            json!({"anyOf": [{"properties": {"a": {}}}], "properties": {"x": {"$ref": "#/anyOf/0"}}}),
            "`#/anyOf/0` refers to a part",
        ),
        (
            json!({"allOf": [{"$ref": "https://example.com/schema"}]}),
            "is not to a definition",
        ),
        (
            json!({"allOf": [endless], "$defs": {"a": endless}}),
            "too deeply",
        ),
        (
            json!({"not": {"pattern": "x".repeat(600)}}),
            "too long for a sentence",
        ),
    ] {
        let mut parameters = keywords;
        parameters["type"] = "object".into();
        let (schema, description) = given(parameters.clone());
        assert_eq!(
            (schema, description),
            (parameters.clone(), json!("Does b."))
        );
        let catalog = catalog(parameters, Some("Does b."));
        for provider in PROVIDERS {
            let [finding] = &catalog.findings_for(provider)[..] else {
                panic!("{reason}");
            };
            assert_eq!(finding.severity, Severity::Error);
            assert_eq!(finding.tool.as_ref().map(ToolName::as_str), Some("a__b"));
            assert!(finding.message.contains(reason), "{}", finding.message);
        }
    }
}

#[test]
fn openai_gets_items_for_every_array() {
    let array = json!({"type": "array"});
    let parameters = json!({"type": "object", "properties": {
        "a": array, "b": {"anyOf": [array]}, "c": {"type": "array", "items": {"type": "string"}},
        "d": {"default": {"type": "array"}},
    }});
    let tools = catalog(parameters, None).to_openai();
    let properties = &tools[0]["function"]["parameters"]["properties"];
    let any = json!({"type": "array", "items": {}});
    assert_eq!(properties["a"], any);
    assert_eq!(properties["b"]["anyOf"][0], any);
    assert_eq!(properties["c"]["items"], json!({"type": "string"}));
    assert_eq!(properties["d"]["default"], array);
}

#[test]
fn openai_gets_properties_for_an_object_without_any() {
    let object = json!({"type": "object"});
    let mut tools = catalog(object.clone(), None).to_openai();
    let given = tools[0]["function"]["parameters"].take();
    assert_eq!(given, json!({"type": "object", "properties": {}}));
    assert_eq!(self::given(object.clone()).0, object);
}

#[test]
fn the_limits_of_each_provider_are_findings() {
    let plain = json!({"type": "object", "properties": {"a.b-c_1": {}}});
    let of = |parameters: &Value, description: &str| {
        let catalog = catalog(parameters.clone(), Some(description));
        PROVIDERS.map(|provider| severities(&catalog, provider))
    };
    assert_eq!(of(&plain, &"가".repeat(1024)), [vec![], vec![], vec![]]);
    assert_eq!(
        of(&plain, &"x".repeat(1025)),
        [vec![Severity::Warning], vec![], vec![]]
    );
    for key in ["filter[id]", "", &"k".repeat(65)] {
        let parameters = json!({"type": "object", "properties": {key: {}}});
        assert_eq!(
            of(&parameters, "Does b."),
            [vec![], vec![Severity::Error], vec![]],
            "{key}"
        );
    }
    let undescribed = catalog(plain, None);
    assert_eq!(
        severities(&undescribed, ModelProvider::Gemini),
        [Severity::Warning]
    );
    let many = (0..129).map(|n| {
        let item = json!({"name": format!("a{n}__b"), "description": "Does b."});
        serde_json::from_value::<ToolCatalogItem>(item).unwrap()
    });
    let many: ToolCatalog = many.collect();
    let of_many = PROVIDERS.map(|provider| severities(&many, provider));
    assert_eq!(
        of_many,
        [vec![Severity::Error], vec![], vec![Severity::Error]]
    );
    let first = many.findings_for(ModelProvider::OpenAi).swap_remove(0);
    assert!(first.message.contains("129 tools") && first.tool.is_none());
    let digit = json!({"name": "1a__b", "description": "Does b."});
    let digit = ToolCatalog::new([serde_json::from_value(digit).unwrap()]);
    assert_eq!(severities(&digit, ModelProvider::Gemini), [Severity::Error]);
}
