use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use toolhost_contract::ToolCatalogItem;

use super::super::tests::{item, shapes};
use crate::ToolCatalog;

/// The output for `shapes`.
const SHAPES: &str = include_str!("shapes.pyi");

/// Code that fails if a text of a tool gets out of its comment, docstring or literal.
const HOSTILE: &str = "\"\"\"\nimport evil\r__import__('evil') #\\\"\"\"\\N{x}\\x\u{2028}\u{202e}\0\u{e0041}'''\u{c}evil()\"";

/// Parses stubs with Python, and returns the names that their code has.
fn names_of(stubs: &[String]) -> Vec<String> {
    const PROGRAM: &str = "import ast, json, sys
for stub in json.load(sys.stdin):
    tree = ast.parse(stub)
    compile(tree, 'stub', 'exec')
    print(json.dumps(sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} | {'import ' + a.name for n in ast.walk(tree) if isinstance(n, (ast.Import, ast.ImportFrom)) for a in n.names})))";
    let mut python = Command::new("python3")
        .args(["-I", "-W", "error", "-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is installed");
    let mut stdin = python.stdin.take().unwrap();
    stdin
        .write_all(json!(stubs).to_string().as_bytes())
        .unwrap();
    drop(stdin);
    let done = python.wait_with_output().unwrap();
    assert!(done.status.success());
    let names = String::from_utf8(done.stdout).unwrap();
    names
        .lines()
        .flat_map(|line| serde_json::from_str::<Vec<String>>(line).unwrap())
        .collect()
}

fn object(name: &str, value: Value) -> Value {
    Value::Object(serde_json::Map::from_iter([(name.to_owned(), value)]))
}

fn stub(parameters: Value) -> String {
    ToolCatalog::new([item("a__b", "", parameters, None)]).to_python()
}

/// Returns what the text says between the head of the method and its end.
fn method(parameters: Value) -> String {
    let stub = stub(parameters);
    let (_, from) = stub.split_once("async def b(self").unwrap();
    from.split_once(':')
        .map(|_| from.split("\"\"\"").next().unwrap().to_owned())
        .unwrap()
}

#[test]
fn every_shape_of_a_schema_has_a_stub_in_python() {
    let stub = shapes().to_python();
    assert!(stub == SHAPES, "shapes.pyi should be:\n{stub}");
    assert_eq!(stub, shapes().to_python());
    names_of(&[stub]);
}

#[test]
fn no_name_or_text_of_a_tool_becomes_code() {
    let object = json!({
        "type": "object",
        "title": HOSTILE,
        "description": HOSTILE,
        "properties": {
            HOSTILE: {"type": "string", "description": HOSTILE, "default": HOSTILE},
            "a": {"enum": [HOSTILE, 1, {HOSTILE: HOSTILE}], HOSTILE: HOSTILE, "description": HOSTILE},
            "b": {"type": "array", "items": {"type": "string", "description": HOSTILE, "pattern": HOSTILE}},
            "c": {"type": "object", "description": HOSTILE, "properties": {HOSTILE: {"$ref": format!("#/$defs/{HOSTILE}")}}},
        },
        "$defs": {HOSTILE: {"description": HOSTILE, "type": "object", "properties": {"x": {"const": HOSTILE}}}},
    });
    let plain = json!({
        "type": "object",
        "properties": {
            "import": {"type": "string"},
            "self": {"type": "string", "description": HOSTILE},
            "__mangled": {"type": "string", "default": HOSTILE},
            "str": {"type": "string", "default": "\"\\\n"},
        },
    });
    let catalog = ToolCatalog::new([
        item("a__b", HOSTILE, object.clone(), Some(object)),
        item(
            "import__class",
            "Ends in a quote\"",
            plain.clone(),
            Some(plain),
        ),
        item(
            "7z__list",
            "\\",
            json!({"type": "object", "properties": {"list": {"default": HOSTILE}}}),
            None,
        ),
    ]);
    let stub = catalog.to_python();
    let names = names_of(std::slice::from_ref(&stub));
    assert!(
        !names
            .iter()
            .any(|name| name.contains("evil") || name.contains("__import__")),
        "{names:?}\n{stub}"
    );
    assert!(!stub.contains(['\0', '\r', '\u{2028}', '\u{202e}', '\u{e0041}']));
}

#[test]
fn long_and_deep_schemas_have_stubs_in_bounds() {
    let long = "d".repeat(1 << 20);
    let described = stub(json!({
        "type": "object",
        "description": long,
        "properties": {"a": {"description": long, "default": long, "not": {"enum": [long, long]}}},
    }));
    assert!(described.len() < 80_000, "{}", described.len());
    let mut stubs = vec![described];
    for keyword in [
        "items",
        "prefixItems",
        "not",
        "anyOf",
        "allOf",
        "properties",
        "additionalProperties",
        "const",
    ] {
        let mut schema = json!({"type": "string", "description": "deep"});
        for _ in 0..10_000 {
            // Not by `json!`, which copies what is inside.
            schema = match keyword {
                "anyOf" => object(
                    keyword,
                    Value::Array(vec![
                        schema,
                        json!({"type": "array", "items": {"type": "null"}}),
                    ]),
                ),
                "allOf" | "prefixItems" => object(
                    keyword,
                    Value::Array(vec![schema, json!({"type": "integer"})]),
                ),
                "properties" => object(keyword, object("a", schema)),
                _ => object(keyword, schema),
            };
        }
        let mut parameters = object("properties", object("a", schema));
        parameters["type"] = json!("object");
        let catalog = ToolCatalog::new([item("a__b", "", parameters, None)]);
        let stub = catalog.to_python();
        assert!(stub.len() < 300_000, "{keyword}: {}", stub.len());
        stubs.push(stub);
        // Dropping it takes more stack than a test has.
        std::mem::forget(catalog);
    }
    names_of(&stubs);
}

#[test]
fn tools_whose_aliases_are_the_same_are_in_the_overloads() {
    let object = || json!({"type": "object", "properties": {}, "additionalProperties": false});
    let tool = |name| item(name, "", object(), None);
    let stub =
        ToolCatalog::new(["a-b__c", "a_b__c", "a-b__d", "search__web", "import__x"].map(tool))
            .to_python();
    for line in [
        "def __getitem__(self, name: Literal[\"a-b__c\"]) -> ABC: ...",
        "def __getitem__(self, name: Literal[\"a_b__c\"]) -> ABC2: ...",
        "def __getitem__(self, name: Literal[\"search__web\"]) -> SearchWeb: ...",
        "class ABC(Protocol):\n    # tools[\"a-b__c\"]\n    async def __call__(self) -> Any:\n        ...\n",
        "    a_b: AB\n    import_: Import\n",
    ] {
        assert!(stub.contains(line), "{line}\n{stub}");
    }
    names_of(&[stub]);
}

#[test]
fn parameters_are_keywords_where_they_can_be() {
    let string = json!({"type": "string"});
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    for (parameters, expected) in [
        (
            json!({"type": "object"}),
            ", **arguments: Any) -> Any:\n        ...\n",
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "integer"}}),
            ", **arguments: int) -> Any:",
        ),
        (object(json!({"a": string})), ", *, a: str = ...) -> Any:"),
        (
            object(json!({"a": {"type": "integer", "default": 5}})),
            ", *, a: int = 5) -> Any:",
        ),
        (
            object(json!({"a": {"type": ["string", "null"], "default": null}})),
            ", *, a: str | None = None) -> Any:",
        ),
        (
            object(json!({"a-b": string})),
            ", arguments: ABInput = ..., /) -> Any:",
        ),
        (
            json!({"type": "object", "$ref": "#/$defs/x", "$defs": {"x": object(json!({"a": string}))}}),
            ", *, a: str = ...) -> Any:",
        ),
        (
            json!({"type": "object", "properties": {"a": string}, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}),
            ", *, a: str = ...) -> Any:",
        ),
    ] {
        let method = method(parameters.clone());
        assert!(method.starts_with(expected), "{parameters}: {method}");
    }
}

#[test]
fn a_tool_without_schemas_takes_and_returns_anything() {
    let item = ToolCatalogItem {
        parameters: None,
        ..item("a__b", "Says \"so\".", json!({"type": "object"}), None)
    };
    let stub = ToolCatalog::new([item]).to_python();
    let method = "    # tools[\"a__b\"]\n    async def b(self, **arguments: Any) -> Any:\n        \"\"\"Says \"so\".\"\"\"\n";
    assert!(stub.contains(method), "{stub}");
}
