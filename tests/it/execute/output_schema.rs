//! Outputs that are checked against the `outputSchema` of their tool.

use serde_json::{Value, json};
use toolhost::{HandlerError, JsonObject, ToolResult, ToolStatus, extension::HandlerContext};
use toolhost_tests::test_host::{TestHost, code};

/// The guest `echo_raw` returns the text in its input, and `pending` is done with the output in its handle.
const MANIFEST: &str = "\
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: raw}
spec:
  entry: ./echo_raw.wasm
  exports:
    - name: run
      outputSchema: &count
        type: object
        properties: {count: {type: integer, description: How many}}
        required: [count]
        additionalProperties: false
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: {name: later}
spec:
  entry: ./pending.wasm
  exports:
    - name: run
      outputSchema: {type: object, required: [count]}
";

pub(crate) async fn test_host() -> TestHost {
    TestHost::load(MANIFEST, &["echo_raw", "pending"], "", None).await
}

fn assert_refused(result: &ToolResult, issue: &str) {
    assert_eq!(code(result), "E_TOOL_INVALID_OUTPUT", "{result:?}");
    assert_eq!(result.output(), None, "nothing of the output is returned");
    let error = result.tool_error().unwrap();
    let (tool, message) = (result.tool_name(), &error.message);
    let expected =
        format!("Tool '{tool}' failed: its output does not fit its outputSchema: {issue}");
    assert_eq!(*message, expected);
    assert!(error.suggestion.as_ref().unwrap().contains("outputSchema"));
}

#[tokio::test]
async fn an_output_that_does_not_fit_the_schema_is_an_error() {
    let test_host = test_host().await;
    let raw = async |output: &str| test_host.call("raw__run", json!({"output": output})).await;
    let fits = raw("{\"count\": 3}").await;
    assert_eq!(fits.output(), Some(&json!({"count": 3})), "{fits:?}");
    for (output, issue) in [
        ("{}", "output.count: required property is missing"),
        (
            "{\"count\": 1.5}",
            "output.count: expected integer but got number",
        ),
        (
            "{\"count\": 1, \"more\": 2}",
            "output.more: unexpected property",
        ),
        ("[1]", "output: expected object but got array"),
        ("null", "output: expected object but got null"),
    ] {
        assert_refused(&raw(output).await, issue);
    }
}

#[tokio::test]
async fn a_later_output_is_checked_when_it_is_polled() {
    let test_host = test_host().await;
    let instance = test_host
        .agent
        .instance("instance", test_host.work.workdir.clone());
    for (output, issue) in [
        ("{\"count\": 1}", None),
        (
            "{\"n\": 1}",
            Some("output.count: required property is missing"),
        ),
    ] {
        let handle = json!({"handle": format!("done:{output}")});
        let pending = test_host.call("later__run", handle).await;
        assert_eq!(pending.status(), ToolStatus::Pending, "{pending:?}");
        let result = instance.poll(pending.handle().unwrap()).await;
        match issue {
            None => assert_eq!(result.output(), Some(&json!({"count": 1}))),
            Some(issue) => assert_refused(&result, issue),
        }
    }
}

#[tokio::test]
async fn an_extensions_output_is_checked_too() {
    let test_host = test_host().await;
    let item = |schema: Value| {
        let item = json!({"name": "ext__echo", "outputSchema": schema});
        serde_json::from_value(item).unwrap()
    };
    let echo = async |_: HandlerContext, input: JsonObject| {
        Ok::<_, HandlerError>(input.get("value").cloned().unwrap_or_default())
    };
    let api = test_host.agent.extend("ext", |api| {
        let wrong = item(json!({"type": "object", "properties": {"a": {"type": "text"}}}));
        let error = api.tools().register(wrong, echo).unwrap_err().to_string();
        assert!(
            error.contains("invalid outputSchema of ext__echo: outputSchema.properties.a.type"),
            "{error}"
        );
        let named = json!({"type": "object", "required": ["name"]});
        api.tools().register(item(named), echo)
    });
    api.unwrap();
    let step = test_host.another_step().await;
    let call = async |value: Value| {
        let call = toolhost_tests::test_host::tool_call("ext__echo", json!({"value": value}));
        step.execute_without_message(call).await
    };
    assert_eq!(
        call(json!({"name": 1})).await.output(),
        Some(&json!({"name": 1}))
    );
    assert_refused(
        &call(json!({})).await,
        "output.name: required property is missing",
    );
    assert_refused(
        &call(json!("x")).await,
        "output: expected object but got string",
    );
}

#[tokio::test]
async fn the_catalog_has_the_schema() {
    let test_host = test_host().await;
    let catalog = test_host.agent.catalog();
    let listed = catalog.to_json();
    let schema = &listed[0]["outputSchema"];
    assert_eq!(schema["properties"]["count"]["description"], "How many");
    assert_eq!(schema["additionalProperties"], false);
    assert_eq!(&catalog.to_mcp()[0]["outputSchema"], schema);
    assert_eq!(catalog.to_openai()[0]["function"].get("outputSchema"), None);
    assert_eq!(catalog.to_anthropic()[0].get("outputSchema"), None);
}
