use serde_json::{Value, json};
use toolhost_contract::{JsonSchemaObject, ToolName, ToolSource};

use super::*;

fn item(name: &str, description: Option<&str>, parameters: Option<Value>) -> ToolCatalogItem {
    let name = ToolName::parse(name).unwrap();
    ToolCatalogItem {
        source: Some(ToolSource::config(name.resource().as_str())),
        name,
        description: description.map(str::to_owned),
        parameters: parameters.map(|schema| JsonSchemaObject::parse(schema).unwrap()),
        output_schema: None,
    }
}

fn bash_and_clock() -> ToolCatalog {
    let schema = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    });
    ToolCatalog::new([
        item("bash__exec", Some("셸 명령 실행"), Some(schema)),
        item("clock__now", None, None),
    ])
}

#[test]
fn admits_exactly_the_names_of_its_items() {
    // tool-spec-v2 §9.1, §2.3(1)
    let catalog = bash_and_clock();
    for item in catalog.items() {
        let admitted = catalog.admit(item.name.as_str(), Locale::En);
        assert_eq!(admitted.as_ref(), Ok(&item));
    }
    for other in [
        "",
        "bash",
        "exec",
        "bash__",
        "__exec",
        "Bash__exec",
        "BASH__EXEC",
        "bash__exec ",
        " bash__exec",
        "bash___exec",
        "bash_exec",
        "bash__exec\0",
        "bash__exec__x",
        "clock__exec",
    ] {
        assert!(catalog.admit(other, Locale::En).is_err(), "{other:?}");
    }
}

#[test]
fn refuses_a_call_outside_the_catalog_with_the_error_of_the_specification() {
    // tool-spec-v2 §9.2, §2.3(2), §2.3(4). Where there are tools, they are named in the place of the suggestion.
    let refusal = ToolCatalog::default()
        .admit("unknown__action", Locale::Ko)
        .unwrap_err();
    assert_eq!(
        serde_json::to_value(refusal).unwrap(),
        json!({
            "code": "E_TOOL_NOT_IN_CATALOG",
            "name": "ToolNotInCatalogError",
            "message": "Tool 'unknown__action' is not available in the current Tool Catalog.",
            "suggestion": "Agent 구성의 spec.tools에 해당 도구를 추가하거나, step 미들웨어에서 동적으로 등록하세요.",
            "helpUrl": "https://docs.goondan.ai/errors/E_TOOL_NOT_IN_CATALOG",
        })
    );
}

#[test]
fn a_refusal_names_at_most_twenty_tools_and_how_to_find_others() {
    let catalog = |names: &[String]| -> ToolCatalog {
        names.iter().map(|name| item(name, None, None)).collect()
    };
    let mut names: Vec<String> = (10..40).map(|number| format!("t{number}__run")).collect();
    let told = |names: &[String]| {
        let refusal = catalog(names)
            .admit("weather__get", Locale::En)
            .unwrap_err();
        refusal.suggestion.unwrap()
    };
    let all = told(&names);
    assert_eq!(all.matches("__run").count(), 20);
    assert!(all.ends_with("t29__run, …"), "{all}");
    names.push("tools__search".to_owned());
    let all = told(&names);
    assert!(all.ends_with("…. Find others with tools__search."), "{all}");
}

#[test]
fn finds_the_most_similar_name() {
    let catalog = bash_and_clock();
    for (name, similar) in [
        ("bash__exe", Some("bash__exec")),
        ("bash_exec", Some("bash__exec")),
        ("Clock__now", Some("clock__now")),
        ("now", Some("clock__now")),
        ("bash", Some("bash__exec")),
        ("weather__get", None),
        ("", None),
    ] {
        assert_eq!(catalog.closest(name), similar, "{name:?}");
    }
}

#[test]
fn escapes_and_truncates_the_name_of_a_call() {
    let message = |name: &str| {
        ToolCatalog::default()
            .admit(name, Locale::En)
            .unwrap_err()
            .message
    };
    let check = |name: &str, quoted: &str| {
        let expected = format!("Tool '{quoted}' is not available in the current Tool Catalog.");
        assert_eq!(message(name), expected);
    };
    check("a\u{1b}[2Jb\nc", "a\\u{1b}[2Jb c");
    check(&"n".repeat(64), &"n".repeat(64));
    check(&"n".repeat(100_000), &format!("{}…", "n".repeat(64)));
}

#[test]
fn a_catalog_keeps_the_order_and_the_last_item_of_each_name() {
    let first = item("a__x", Some("first"), None);
    let other = item("b__x", None, None);
    let later = item("a__x", Some("later"), None);
    let catalog: ToolCatalog = [first, other.clone(), later.clone()].into_iter().collect();
    assert_eq!(catalog.items(), [later, other]);
    assert!(ToolCatalog::default().items().is_empty());
}

#[test]
fn exports_the_items_of_the_specification() {
    // tool-spec-v2 §13.1, §13.2
    assert_eq!(
        bash_and_clock().to_json(),
        json!([
            {
                "name": "bash__exec",
                "description": "셸 명령 실행",
                "parameters": {
                    "type": "object",
                    "properties": {"command": {"type": "string"}},
                    "required": ["command"],
                },
                "source": {"type": "config", "name": "bash"},
            },
            {"name": "clock__now", "source": {"type": "config", "name": "clock"}},
        ])
    );
}

#[test]
fn exports_the_formats_of_model_providers_and_mcp() {
    let schema = json!({
        "type": "object",
        "properties": {"command": {"type": "string"}},
        "required": ["command"],
    });
    let description = "셸 명령 실행";
    let catalog = bash_and_clock();
    assert_eq!(
        catalog.to_openai(),
        json!([
            {"type": "function", "function":
                {"name": "bash__exec", "description": description, "parameters": schema}},
            {"type": "function", "function":
                {"name": "clock__now", "parameters": {"type": "object", "properties": {}}}},
        ])
    );
    assert_eq!(
        catalog.to_anthropic(),
        json!([
            {"name": "bash__exec", "description": description, "input_schema": schema},
            {"name": "clock__now", "input_schema": {"type": "object"}},
        ])
    );
    assert_eq!(
        catalog.to_mcp(),
        json!([
            {"name": "bash__exec", "description": description, "inputSchema": schema},
            {"name": "clock__now", "inputSchema": {"type": "object"}},
        ])
    );
}
