use serde_json::{Value, json};
use toolhost_contract::{JsonSchemaObject, ToolCatalogItem, ToolName};

use crate::ToolCatalog;

/// The output for `shapes`, which the tests of the TypeScript kit check with the compiler.
const SHAPES: &str = include_str!("shapes.d.ts");

pub(super) fn item(
    name: &str,
    description: &str,
    parameters: Value,
    output: Option<Value>,
) -> ToolCatalogItem {
    ToolCatalogItem {
        name: ToolName::parse(name).unwrap(),
        source: None,
        description: Some(description.to_owned()).filter(|text| !text.is_empty()),
        parameters: Some(JsonSchemaObject::parse(parameters).unwrap()),
        output_schema: output.map(|schema| JsonSchemaObject::parse(schema).unwrap()),
    }
}

/// A catalog with every shape of a schema.
pub(super) fn shapes() -> ToolCatalog {
    let node = json!({
        "type": "object",
        "description": "A part of the tree.",
        "properties": {
            "name": {"type": "string", "minLength": 1},
            "children": {"type": "array", "items": {"$ref": "#/$defs/node"}, "maxItems": 9},
            "parent": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
        },
        "required": ["name"],
    });
    let nested = json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Relative to the workdir.", "pattern": "^[a-z/*]+$"},
            "offset": {"type": "integer", "default": 1, "minimum": 1},
            "mode": {"enum": ["text", "base64", null, 3, {"deep": [true]}], "title": "Mode", "description": "How it\nis read."},
            "kind": {"const": "file"},
            "size": {"type": ["integer", "null"], "exclusiveMinimum": 0},
            "either": {"oneOf": [{"type": "string", "format": "date-time"}, {"type": "object", "properties": {"at": {"type": "number"}}, "required": ["at"], "additionalProperties": false}]},
            "both": {"allOf": [{"$ref": "#/definitions/base"}, {"type": "object", "properties": {"extra": {"type": "boolean"}}}], "description": "Both"},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"enum": [1, 2]}], "items": false, "minItems": 1},
            "old_pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": {"type": "boolean"}},
            "labels": {"type": "object", "additionalProperties": {"type": "string", "maxLength": 9}},
            "mixed": {"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": {"type": "string"}},
            "open": {"type": "object", "properties": {"a": {"type": "number"}}, "additionalProperties": true},
            "by_pattern": {"type": "object", "patternProperties": {"^x-": {"type": "string"}}, "additionalProperties": false},
            "nothing": false,
            "anything": true,
            "empty": {"type": "object", "additionalProperties": false},
            "list": {"type": "array", "items": {"type": "array", "items": {"type": "integer", "maximum": 5}}, "uniqueItems": true},
            "conditional": {"type": "string", "not": {"const": "*/ no"}, "if": {"minLength": 2}, "then": {"maxLength": 4}},
            "__proto__": {"type": "string"},
            "a-b \"c\"": {"type": "string"},
            "whole": {"$ref": "#"},
            "unknown": {"$ref": "https://example.com/schema"},
        },
        "required": ["path", "missing"],
        "additionalProperties": false,
        "dependentRequired": {"offset": ["path"]},
        "definitions": {"base": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}},
    });
    let either = json!({
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
    });
    let tree = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/node"}},
        "required": ["root"],
        "$defs": {"node": node},
    });
    ToolCatalog::new([
        item(
            "file-system__read",
            "Reads a file.\n\nNever ends a comment: */ declare const x: 1;",
            nested,
            Some(tree.clone()),
        ),
        item("tree__walk", "Walks a tree.", tree, None),
        item("either__one", "", either, Some(json!({"type": "object"}))),
        ToolCatalogItem {
            parameters: None,
            ..item(
                "clock__now",
                "Tells the time.",
                json!({"type": "object"}),
                None,
            )
        },
    ])
}

#[test]
fn every_shape_of_a_schema_has_a_declaration_in_typescript() {
    let declarations = shapes().to_typescript();
    assert!(
        declarations == SHAPES,
        "shapes.d.ts should be:\n{declarations}"
    );
}

fn typescript(parameters: Value) -> String {
    ToolCatalog::new([item("a__b", "", parameters, None)]).to_typescript()
}

#[test]
fn no_description_or_name_ends_its_comment_or_text() {
    let hostile = "*/ }; evil(); /* \u{2028}\u{202e}`${x}`\"\\\n";
    let declarations = typescript(json!({
        "type": "object",
        "description": hostile,
        "properties": {hostile: {"description": hostile, "default": hostile, "enum": [hostile, {hostile: hostile}], hostile: 1}},
        "required": [hostile],
    }));
    // What is left without comments and texts.
    let mut code = String::new();
    let mut rest = declarations.as_str();
    while let Some(start) = rest.find(['"', '/']) {
        let (before, from) = rest.split_at(start);
        code.push_str(before);
        let end = if from.starts_with('"') {
            let mut is_escaped = false;
            1 + from
                .bytes()
                .skip(1)
                .position(|byte| {
                    let is_end = byte == b'"' && !is_escaped;
                    is_escaped = byte == b'\\' && !is_escaped;
                    is_end
                })
                .unwrap()
                + 1
        } else {
            from.find("*/").unwrap() + 2
        };
        rest = from.split_at(end).1;
    }
    code.push_str(rest);
    for absent in ["evil", "$", "`", "\u{2028}", "\u{202e}"] {
        assert!(!code.contains(absent), "{absent} in {code}");
    }
    assert!(!declarations.contains(['\u{2028}', '\u{202e}']));
}

#[test]
fn long_and_deep_schemas_have_declarations_in_bounds() {
    let long = "d".repeat(1 << 20);
    let declarations = typescript(json!({
        "type": "object",
        "description": long,
        "properties": {"a": {"description": long, "default": long, "not": {"enum": [long, long]}}},
    }));
    assert!(declarations.len() < 80_000, "{}", declarations.len());

    for keyword in ["items", "not", "anyOf", "properties", "const"] {
        let mut schema = json!({"type": "string"});
        // `json!` would copy the value.
        let object =
            |name: &str, value| Value::Object([(name.to_owned(), value)].into_iter().collect());
        for _ in 0..10_000 {
            schema = match keyword {
                "anyOf" => object(keyword, Value::Array(vec![schema, Value::Bool(false)])),
                "properties" => object(keyword, object("a", schema)),
                _ => object(keyword, schema),
            };
        }
        let mut parameters = json!({"type": "object"});
        parameters["properties"] = object("a", schema);
        let catalog = ToolCatalog::new([item("a__b", "", parameters, None)]);
        assert!(catalog.to_typescript().len() < 100_000, "{keyword}");
        // Dropping it takes more stack than a test has.
        std::mem::forget(catalog);
    }

    let definitions = (0..10_000).map(|n| {
        let next = json!({"$ref": format!("#/$defs/{}", n + 1)});
        (
            n.to_string(),
            json!({"type": "object", "properties": {"next": next}}),
        )
    });
    let declarations = typescript(json!({
        "type": "object",
        "properties": {"first": {"$ref": "#/$defs/0"}},
        "$defs": serde_json::Map::from_iter(definitions),
    }));
    assert_eq!(declarations.matches("\ntype ").count(), 10_000);
}

#[test]
fn a_type_that_is_itself_is_any() {
    let declarations = typescript(json!({
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/a"}},
        "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/b"}, {"type": "null"}]}, "b": {"$ref": "#/$defs/a"}},
    }));
    assert!(
        declarations.contains("type ABA = ABB | null;"),
        "{declarations}"
    );
    assert!(
        declarations.contains("type ABB = unknown;"),
        "{declarations}"
    );
}

#[test]
fn declarations_are_in_the_order_of_the_catalog_and_always_the_same() {
    let declarations = shapes().to_typescript();
    assert_eq!(declarations, shapes().to_typescript());
    let places = shapes()
        .items()
        .iter()
        .map(|item| declarations.find(&format!("\n  \"{}\"(", item.name)))
        .collect::<Vec<_>>();
    assert!(
        places.is_sorted() && places.iter().all(Option::is_some),
        "{places:?}"
    );
}
