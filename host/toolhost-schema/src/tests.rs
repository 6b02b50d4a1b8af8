use std::time::{Duration, Instant};

use serde_json::json;

use super::compiled::{SCHEMA_MAX_BYTES, SCHEMA_MAX_DEPTH};
use super::*;
use toolhost_contract::Locale;

/// Much less than the minutes that a check without limits takes, and enough for a busy machine.
const MOMENTS: Duration = Duration::from_secs(20);

fn compile(schema: Value) -> Result<ArgsSchema, SchemaError> {
    ArgsSchema::compile(
        &JsonSchemaObject::parse(schema).unwrap(),
        &mut PatternBudget::default(),
    )
}

fn object(properties: Value) -> Value {
    json!({"type": "object", "properties": properties})
}

/// What is wrong with `args`, without the beginning that names the tool.
fn issues(schema: Value, args: Value) -> String {
    let tool = ToolName::parse("x__y").unwrap();
    match compile(schema)
        .unwrap()
        .validate(&tool, &args, json::measure(&args))
    {
        Ok(()) => String::new(),
        Err(error) => {
            let message = error.to_string();
            let rest = message.strip_prefix("Invalid arguments for tool 'x__y': ");
            rest.unwrap().to_owned()
        }
    }
}

#[test]
fn the_error_names_the_tool_the_places_and_the_parameters() {
    let schema = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}, "n": {"type": "string"}},
        "required": ["command"],
        "additionalProperties": false,
    });
    let tool = ToolName::parse("bash__exec").unwrap();
    let args = json!({"n": 1, "z": 2});
    let parameters = JsonSchemaObject::parse(schema.clone()).unwrap();
    let error = compile(schema)
        .unwrap()
        .validate(&tool, &args, json::measure(&args));
    let error = error
        .unwrap_err()
        .into_tool_error(Some(&parameters), Locale::En);
    assert_eq!(error.code.as_str(), "E_TOOL_INVALID_ARGS");
    assert_eq!(error.name.as_deref(), Some("ToolInputValidationError"));
    let mut said: Vec<&str> = error
        .message
        .strip_prefix("Invalid arguments for tool 'bash__exec': ")
        .unwrap()
        .split("; ")
        .collect();
    said.sort_unstable();
    assert_eq!(
        said,
        [
            "args.command: required property is missing",
            "args.n: expected string but got integer",
            "args.z: unexpected property",
        ]
    );
    let suggestion = error.suggestion.unwrap();
    assert!(
        suggestion.ends_with(" required=[command], allowed=[command, n]"),
        "{suggestion}"
    );
}

#[test]
fn the_names_that_are_listed_are_those_of_the_object_with_the_wrong_property() {
    let check = |properties: Value, args: Value, expected: &str| {
        let point = json!({
            "type": "object",
            "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}},
            "required": ["x"],
            "additionalProperties": false,
        });
        let mut schema = object(properties);
        schema["additionalProperties"] = json!(false);
        schema["$defs"] =
            json!({"Point": point, "Empty": {"type": "object", "additionalProperties": false}});
        let parameters = JsonSchemaObject::parse(schema.clone()).unwrap();
        let (tool, size) = (ToolName::parse("x__y").unwrap(), json::measure(&args));
        let error = compile(schema).unwrap().validate(&tool, &args, size);
        let error = error
            .unwrap_err()
            .into_tool_error(Some(&parameters), Locale::En);
        let suggestion = error.suggestion.unwrap();
        assert!(
            suggestion.ends_with(&format!(" call again. {expected}")),
            "{suggestion}"
        );
    };
    let point = json!({"$ref": "#/$defs/Point"});
    let lists =
        json!({"points": {"type": "array", "items": point}, "a": {"$ref": "#/$defs/Empty"}});
    check(
        lists.clone(),
        json!({"points": [{"x": 1}, {"x": 1, "z": 2}]}),
        "args.points[1]: required=[x], allowed=[x, y]",
    );
    check(
        lists.clone(),
        json!({"points": [{}]}),
        "args.points[0]: required=[x], allowed=[x, y]",
    );
    check(
        lists.clone(),
        json!({"a": {"b": 1}}),
        "args.a: required=[], allowed=[]",
    );
    // Nothing is wrong with the names: the parameters are listed.
    check(
        lists.clone(),
        json!({"points": [{"x": "1"}]}),
        "required=[], allowed=[points, a]",
    );
    check(
        lists,
        json!({"point": []}),
        "required=[], allowed=[points, a]",
    );
}

#[test]
fn accepts_what_fits() {
    let check = |schema: Value, args: Value| assert_eq!(issues(schema, args), "");
    check(
        json!({"type": "object"}),
        json!({"anything": [1, {"a": null}]}),
    );
    check(object(json!({"n": {"type": "integer"}})), json!({"n": 1.0}));
    check(
        object(json!({"n": {"type": "number"}})),
        json!({"n": 9_007_199_254_740_993_u64}),
    );
    check(
        object(json!({"s": {"type": "string"}})),
        json!({"__proto__": {"s": 1}}),
    );
    check(
        object(json!({"e": {"format": "email"}})),
        json!({"e": "no address"}),
    );
}

#[test]
fn describes_each_kind_of_issue() {
    let check = |schema: Value, value: Value, expected: &str| {
        let issues = issues(object(json!({"a": schema})), json!({"a": value}));
        assert_eq!(issues, format!("args.a: {expected}"));
    };
    check(
        json!({"type": "string"}),
        json!(1),
        "expected string but got integer",
    );
    check(
        json!({"type": "integer"}),
        json!(1.5),
        "expected integer but got number",
    );
    check(
        json!({"type": "object"}),
        json!(null),
        "expected object but got null",
    );
    check(
        json!({"type": "array"}),
        json!(true),
        "expected array but got boolean",
    );
    check(
        json!({"type": "number"}),
        json!([]),
        "expected number but got array",
    );
    check(
        json!({"type": ["string", "null"]}),
        json!({}),
        "expected null or string but got object",
    );
    check(
        json!({"enum": ["a", "b"]}),
        json!("c"),
        r#"must be one of "a", "b" but is "c""#,
    );
    check(json!({"enum": ["a"]}), json!(2), r#"must be "a" but is 2"#);
    check(json!({"const": 5}), json!(6), "must be 5 but is 6");
    check(
        json!({"minimum": 1}),
        json!(0),
        "must be at least 1 but is 0",
    );
    check(
        json!({"maximum": 1.5}),
        json!(2),
        "must be at most 1.5 but is 2",
    );
    check(
        json!({"exclusiveMinimum": 1}),
        json!(1),
        "must be more than 1 but is 1",
    );
    check(
        json!({"exclusiveMaximum": 1}),
        json!(1),
        "must be less than 1 but is 1",
    );
    check(
        json!({"multipleOf": 2}),
        json!(3),
        "must be a multiple of 2 but is 3",
    );
    check(
        json!({"minLength": 3}),
        json!("가나"),
        "must have at least 3 characters but has 2",
    );
    check(
        json!({"maxLength": 1}),
        json!("ab"),
        "must have at most 1 character but has 2",
    );
    check(
        json!({"minItems": 1}),
        json!([]),
        "must have at least 1 item but has 0",
    );
    check(
        json!({"maxItems": 0}),
        json!([1]),
        "must have at most 0 items but has 1",
    );
    check(
        json!({"minProperties": 2}),
        json!({}),
        "must have at least 2 properties but has 0",
    );
    check(
        json!({"uniqueItems": true}),
        json!([1, 1]),
        "must not have duplicate items",
    );
    check(
        json!({"contains": {"const": 1}}),
        json!([2]),
        "has none of the items it must have",
    );
    check(
        json!({"not": {"type": "string"}}),
        json!("x"),
        "has a form that is not allowed",
    );
    check(json!(false), json!(1), "is not allowed");
    check(
        json!({"pattern": "^[a-z]+$"}),
        json!("A"),
        r#"must match the pattern ^[a-z]+$ but is "A""#,
    );
    check(
        json!({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        json!([1]),
        "fits none of the allowed forms \
         (expected string but got array / at [0]: expected string but got integer)",
    );
    check(
        json!({"oneOf": [{"type": "integer"}, {"required": ["x"], "type": "object"}]}),
        json!({}),
        "fits none of the allowed forms \
         (expected integer but got object / required property \"x\" is missing)",
    );
    check(
        json!({"oneOf": [{"type": "integer"}, {"minimum": 1}]}),
        json!(2),
        "fits more than one of the allowed forms",
    );
}

#[test]
fn names_the_place_within_nested_values() {
    let leaf = json!({"type": "array", "items": object(json!({"c": {"type": "string"}}))});
    let schema = object(json!({"a": object(json!({"b": leaf}))}));
    let args = json!({"a": {"b": [{"c": "x"}, {"c": 1}]}});
    assert_eq!(
        issues(schema, args),
        "args.a.b[1].c: expected string but got integer"
    );

    let strict = json!({"type": "object", "additionalProperties": false});
    let one_known =
        json!({"type": "object", "properties": {"p": {}}, "additionalProperties": false});
    let check = |name: &str, expected: &str| {
        let mut args = json!({});
        args[name] = json!(1);
        for schema in [&strict, &one_known] {
            let said = issues(schema.clone(), args.clone());
            assert_eq!(said, format!("{expected}: unexpected property"));
        }
    };
    check("a-b_9", "args.a-b_9");
    check("이름", "args.이름");
    check("a b", r#"args["a b"]"#);
    check("", r#"args[""]"#);
    check("a\n\u{1b}[0m", r#"args["a \\u{1b}[0m"]"#);
    check(&"n".repeat(200), &format!("args.{}…", "n".repeat(80)));
}

#[test]
fn lists_five_issues_and_counts_the_rest() {
    let schema = object(json!({"l": {"items": {"type": "string"}}}));
    let count = |wrong: usize| {
        let issues = issues(schema.clone(), json!({"l": vec![1; wrong]}));
        (issues.matches("expected string").count(), issues)
    };
    assert_eq!(count(5).0, 5);
    assert!(!count(5).1.contains("more"));
    assert!(count(6).1.ends_with("; +1 more issue"));
    assert_eq!(count(20).0, 5);
    assert!(count(20).1.ends_with("; +15 more issues"));
    assert!(count(3_000).1.ends_with("; +1000 or more issues"));
}

#[test]
fn quotes_no_more_than_80_characters_of_a_value() {
    let schema = object(json!({"a": {"enum": ["x"]}}));
    let said = issues(schema.clone(), json!({"a": "y".repeat(1 << 20)}));
    assert_eq!(
        said,
        format!("args.a: must be \"x\" but is \"{}…", "y".repeat(79))
    );
    let said = issues(schema, json!({"a": vec![0; 1 << 16]}));
    assert!(said.len() < 150, "{said}");
    let many: Vec<usize> = (0..100).collect();
    let said = issues(object(json!({"a": {"enum": many}})), json!({"a": -1}));
    assert_eq!(
        said,
        "args.a: must be one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, … but is -1"
    );
}

#[test]
fn arguments_too_large_for_the_schema_are_refused_without_a_search() {
    let variants: Vec<Value> = (0..1_500).map(|i| json!({"const": i})).collect();
    let schema = object(json!({"l": {"items": {"anyOf": variants}}}));
    let large = json!({"l": vec![-1; 200_000]});
    assert_eq!(issues(schema, large), "args: too large to be checked");

    let doubling = json!({
        "type": "object",
        "anyOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"x": {"$ref": "#"}}}],
    });
    let mut deep = json!(5);
    for _ in 0..40 {
        deep = json!({"x": deep});
    }
    assert_eq!(issues(doubling, deep), "args: does not fit the schema");
}

#[test]
fn a_pattern_takes_time_linear_in_the_text() {
    let schema = object(json!({"a": {"pattern": "^(a+)+$"}}));
    let args = json!({"a": format!("{}b", "a".repeat(100_000))});
    assert!(issues(schema, args).starts_with("args.a: must match the pattern ^(a+)+$"));
}

#[test]
fn texts_too_long_for_the_patterns_are_refused_without_reading_them() {
    let dear: Vec<Value> = (b'b'..b'y')
        .map(|c| json!({"pattern": format!("[{}-y][a-z]{{1500}}[A-Z]", char::from(c))}))
        .collect();
    let schema = object(json!({"path": {"anyOf": dear}, "content": {"type": "string"}}));
    let long: String = ('a'..='z').cycle().take(200_000).collect();
    let begun = Instant::now();
    assert_eq!(
        issues(schema.clone(), json!({"path": long})),
        "args: too large to be checked"
    );
    assert!(begun.elapsed() < MOMENTS, "{:?}", begun.elapsed());
    // A text that no pattern is for costs nothing; only the explanation is left out.
    let beside = issues(schema, json!({"path": "a/b", "content": long}));
    assert_eq!(beside, "args: does not fit the schema");

    let usual = object(json!({"a": {"pattern": "^[a-z]{1,64}$"}}));
    let said = issues(usual, json!({"a": long}));
    assert!(said.starts_with("args.a: must match the pattern"), "{said}");
}

#[test]
fn values_too_many_for_an_enum_are_refused_without_comparing_them() {
    let mut values = vec![json!(""); 80_000];
    values[0] = json!(true);
    let schema = object(json!({"l": {"items": {"enum": values}}}));
    let begun = Instant::now();
    let said = issues(schema, json!({"l": vec!["z"; 260_000]}));
    assert_eq!(said, "args: too large to be checked");
    assert!(begun.elapsed() < MOMENTS, "{:?}", begun.elapsed());
}

#[test]
fn refuses_what_is_not_json_schema() {
    // tool-spec-v2 §15: the parameters' JSON Schema is valid
    let check = |schema: Value, expected: &str| {
        assert_eq!(compile(schema).unwrap_err().to_string(), expected);
    };
    check(
        object(json!({"a": {"type": "strng"}})),
        "parameters.properties.a.type: fits none of the allowed forms \
         (must be one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \
         \"string\" but is \"strng\" / expected array but got string)",
    );
    check(
        json!({"type": "object", "properties": [1]}),
        "parameters.properties: expected object but got array",
    );
    check(
        json!({"type": "object", "required": "a"}),
        "parameters.required: expected array but got string",
    );
    check(
        object(json!({"a": 5})),
        "parameters.properties.a: expected boolean or object but got integer",
    );
    check(
        json!({"type": "object", "$schema": "http://example.com/own"}),
        "parameters: unknown $schema 'http://example.com/own'",
    );
    for pattern in ["(", "(?=a)b", r"(a)\1", "(a{1000}){1000}"] {
        check(
            object(json!({"a": {"pattern": pattern}})),
            &format!(
                "'{pattern}' at parameters.properties.a.pattern is not a pattern that can be \
                 matched in linear time"
            ),
        );
    }
}

#[test]
fn refuses_schemas_with_outer_references_and_too_costly_ones() {
    let refused = |schema: Value| compile(schema).unwrap_err();
    for outer in ["file:///etc/passwd", "http://127.0.0.1:1/x"] {
        let error = refused(object(json!({"a": {"$ref": outer}})));
        assert!(matches!(error, SchemaError::OuterRef(_)), "{error}");
    }
    let long = object(json!({"a": {"description": "d".repeat(SCHEMA_MAX_BYTES)}}));
    let error = refused(long).to_string();
    assert!(
        error.ends_with(" bytes of JSON: at most 262144 are allowed"),
        "{error}"
    );
    let patterns: Vec<Value> = (0..101)
        .map(|i| json!({"pattern": i.to_string()}))
        .collect();
    let error = refused(json!({"type": "object", "anyOf": patterns}));
    assert_eq!(
        error.to_string(),
        "the schema has 101 patterns: at most 100 are allowed"
    );
    let mut deep = json!({});
    for _ in 0..SCHEMA_MAX_DEPTH {
        deep = json!({"not": deep});
    }
    let error = refused(json!({"type": "object", "not": deep}));
    assert_eq!(
        error.to_string(),
        "the schema is nested 130 deep: at most 128 are allowed"
    );
}

#[test]
fn the_error_of_an_output_names_the_tool_and_the_places() {
    let schema = json!({
        "type": "object",
        "properties": {"count": {"type": "integer"}},
        "required": ["count"],
        "additionalProperties": false,
    });
    let schema = JsonSchemaObject::parse(schema).unwrap();
    let schema = OutputSchema::compile(&schema, &mut PatternBudget::default()).unwrap();
    let tool = ToolName::parse("a__b").unwrap();
    let check = |output: Value| schema.validate(&tool, &output, json::measure(&output), Locale::En);
    assert_eq!(check(json!({"count": 1})), Ok(()));
    for (output, issue) in [
        (
            json!({"count": "1"}),
            "output.count: expected integer but got string",
        ),
        (json!({}), "output.count: required property is missing"),
        (
            json!({"count": 1, "more": 2}),
            "output.more: unexpected property",
        ),
        (json!("text"), "output: expected object but got string"),
        (json!(null), "output: expected object but got null"),
    ] {
        let error = check(output).unwrap_err();
        assert_eq!(error.code.as_str(), "E_TOOL_INVALID_OUTPUT");
        let message =
            format!("Tool 'a__b' failed: its output does not fit its outputSchema: {issue}");
        assert_eq!(error.message, message);
    }
}

#[test]
fn a_wrong_output_schema_is_refused_at_its_place() {
    let compile = |schema: Value| {
        let schema = JsonSchemaObject::parse(schema).unwrap();
        OutputSchema::compile(&schema, &mut PatternBudget::default()).map(drop)
    };
    let wrong = compile(object(json!({"a": {"type": "text"}}))).unwrap_err();
    assert!(
        wrong
            .to_string()
            .starts_with("outputSchema.properties.a.type: "),
        "{wrong}"
    );
    let pattern = compile(object(json!({"a": {"pattern": "(a)\\1"}}))).unwrap_err();
    assert!(pattern.to_string().contains("linear time"), "{pattern}");
}

#[test]
fn a_pattern_of_a_server_that_cannot_be_checked_leaves_the_rest_of_the_schema_in_force() {
    let mail = "^(?!\\.)(?!.*\\.\\.)[A-Za-z0-9_+.-]+@[A-Za-z0-9.-]+$";
    let many = (0..100).map(|n| (format!("p{n}"), json!({"type": "string", "pattern": mail})));
    let schema = object(Value::from_iter(many));
    let schema = JsonSchemaObject::parse(schema).unwrap();
    let mut budget = PatternBudget::default();
    let (args, unchecked) = ArgsSchema::compile_foreign(&schema, &mut budget).unwrap();
    assert_eq!(unchecked.len(), 100);
    let tool = ToolName::parse("a__b").unwrap();
    let check = |args_: Value| args.validate(&tool, &args_, json::measure(&args_));
    assert_eq!(check(json!({"p0": "no address"})), Ok(()));
    let refused = check(json!({"p0": 1})).unwrap_err().to_string();
    assert!(
        refused.contains("args.p0: expected string but got integer"),
        "{refused}"
    );
    // What is wrong for other reasons is refused as before.
    let wrong = JsonSchemaObject::parse(object(json!({"a": {"type": "text", "pattern": mail}})));
    let wrong = ArgsSchema::compile_foreign(&wrong.unwrap(), &mut budget).unwrap_err();
    assert!(matches!(wrong, SchemaError::Invalid { .. }), "{wrong:?}");
}
