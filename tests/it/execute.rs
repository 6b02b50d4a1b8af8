//! Executes calls, from the ToolCall to the ToolResult.

mod cancellation;
mod concurrency;
mod denials;
mod failures;
mod lifetime;
mod live_log;
mod messages;
pub(crate) mod output_schema;
mod protection;
mod text;

use serde_json::{Value, json};
use toolhost::{AssistantMessage, ToolCall, ToolStatus, TurnStart};
use toolhost_tests::test_host::{TestHost, code, tool_call};

pub(crate) const EXAMPLES: &[&str] = &["upper", "count", "fail"];

#[tokio::test]
async fn a_result_carries_the_id_and_the_name_of_its_call() {
    // tool-spec-v2 §10.1, §10.2
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let result = test_host.call("text__upper", json!({"text": "hi"})).await;
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({
            "toolCallId": "call-1", "toolName": "text__upper", "status": "ok", "output": {"text": "HI"},
        })
    );
    assert!(result.usage().memory_peak > 0);
}

#[tokio::test]
async fn a_tool_with_one_export_is_called_by_its_full_name() {
    // tool-spec-v2 §2.2(4), §5.2(4)
    let test_host = TestHost::with_tools(&[("text", "text", &["upper"])], "").await;
    let args = json!({"text": "hi"});
    let result = test_host.call("text__upper", args.clone()).await;
    assert_eq!(result.status(), ToolStatus::Ok);
    for name in ["text", "upper"] {
        assert_eq!(
            code(&test_host.call(name, args.clone()).await),
            "E_TOOL_NOT_IN_CATALOG"
        );
    }
}

const TWO_TOOLS_ONE_SHOWN: &str = r#"
{"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "text"},
 "spec": {"entry": "./text.wasm", "exports": [{"name": "upper"}]}}
---
{"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "hidden"},
 "spec": {"entry": "./write_bytes.wasm", "exports": [{"name": "run"}]}}
---
{"apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": "coder"},
 "spec": {"tools": ["Tool/text"]}}
"#;

#[tokio::test]
async fn a_call_outside_the_catalog_is_refused_and_runs_nothing() {
    // tool-spec-v2 §2.3, §9.1, §9.2
    let guests = ["text", "write_bytes"];
    let test_host = TestHost::load(TWO_TOOLS_ONE_SHOWN, &guests, "", Some("coder")).await;
    let args = json!({"path": "/made", "bytes": 10});
    for outside in [
        "hidden__run",
        "unknown__action",
        "text__Upper",
        "text__upper ",
        "text___upper",
    ] {
        let result = test_host.call(outside, args.clone()).await;
        let error = result.tool_error().unwrap();
        assert_eq!(result.status(), ToolStatus::Error);
        assert_eq!(error.code.as_str(), "E_TOOL_NOT_IN_CATALOG");
        assert_eq!(error.name.as_deref(), Some("ToolNotInCatalogError"));
        let message = format!("Tool '{outside}' is not available in the current Tool Catalog.");
        assert_eq!(error.message, message);
    }
    assert!(!test_host.work.path("made").exists());
}

#[tokio::test]
async fn the_korean_refusal_of_an_unknown_tool_names_the_nearest_and_the_available_ones() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "locale: ko").await;
    let result = test_host.call("text__uper", json!({})).await;
    assert_eq!(
        result.tool_error().unwrap().suggestion.as_deref(),
        Some(
            "'text__upper'을(를) 말하는 건가요? 사용할 수 있는 도구: text__upper, text__count, text__fail"
        )
    );
}

#[tokio::test]
async fn only_the_policy_allows_calls_to_the_whole_registry() {
    // tool-spec-v2 §2.3(3), §9.1
    let guests = ["text", "write_bytes"];
    let policy = "registryDirectCall: true";
    let test_host = TestHost::load(TWO_TOOLS_ONE_SHOWN, &guests, policy, Some("coder")).await;
    let result = test_host
        .call("hidden__run", json!({"path": "/made", "bytes": 10}))
        .await;
    assert_eq!(result.status(), ToolStatus::Ok);
    assert!(test_host.work.path("made").exists());
    assert_eq!(
        code(&test_host.call("unknown__action", json!({})).await),
        "E_TOOL_NOT_FOUND"
    );
}

#[tokio::test]
async fn a_pending_result_carries_a_handle() {
    // tool-spec-v2 §10.2
    let test_host = TestHost::with_tools(&[("later", "pending", &["run"])], "").await;
    let result = test_host
        .call("later__run", json!({"handle": "job-7"}))
        .await;
    assert_eq!(result.status(), ToolStatus::Pending);
    assert!(result.handle().is_some());
    assert!(result.output().is_none() && result.tool_error().is_none());
}

#[tokio::test]
async fn invalid_arguments_never_reach_the_tool() {
    let manifest = r#"{"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "w"},
        "spec": {"entry": "./write_bytes.wasm", "exports": [{"name": "run", "parameters": {
            "type": "object", "additionalProperties": false, "required": ["path", "bytes"],
            "properties": {"path": {"type": "string"}, "bytes": {"type": "integer", "maximum": 100}}}}]}}"#;
    let test_host = TestHost::load(manifest, &["write_bytes"], "", None).await;
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    for (args, says) in [
        (
            json!({"path": "/made"}),
            "args.bytes: required property is missing",
        ),
        (
            json!({"path": 1, "bytes": 1}),
            "args.path: expected string but got integer",
        ),
        (json!({"path": "/made", "bytes": 101}), "args.bytes"),
        (json!({"path": "/made", "bytes": 1, "x": 1}), "args.x"),
        (json!({"path": "/made", "bytes": deep}), "nested 101 deep"),
        (
            json!({"path": "x".repeat(2 << 20), "bytes": 1}),
            "bytes, at most 1048576",
        ),
    ] {
        let result = test_host.call("w__run", args).await;
        assert_eq!(code(&result), "E_TOOL_INVALID_ARGS", "{says}");
        let message = &result.tool_error().unwrap().message;
        assert!(message.contains(says), "{message}");
    }
    assert!(
        std::fs::read_dir(test_host.work.dir.path())
            .unwrap()
            .next()
            .is_none()
    );
    let fits = test_host
        .call("w__run", json!({"path": "/made", "bytes": 100}))
        .await;
    assert_eq!(fits.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn the_size_of_a_calls_message_is_limited() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let call = tool_call("text__upper", json!({"text": "hi"}));
    let with = |more: Value| {
        let content = json!([{"type": "tool-call", "toolCallId": call.id}, more]);
        let message = json!({"role": "assistant", "content": content});
        AssistantMessage::parse(message).unwrap()
    };
    let mut deep = json!(1);
    for _ in 0..80 {
        deep = json!([deep]);
    }
    for (more, expected) in [
        (json!("x".repeat(3 << 20)), "no error"),
        (json!("x".repeat(5 << 20)), "E_TOOL_INVALID_ARGS"),
        (deep, "E_TOOL_INVALID_ARGS"),
    ] {
        let result = test_host.step.execute(call.clone(), &with(more)).await;
        assert!(code(&result).starts_with(expected), "{}", code(&result));
    }
}

#[tokio::test]
async fn a_call_needs_the_message_that_contains_it() {
    // tool-spec-v2 §2.5(4)
    let test_host = TestHost::with_tools(&[("echo", "echo", &["context"])], "").await;
    let one = ToolCall::new("one", "echo__context", serde_json::Map::new());
    let other = ToolCall::new("other", "echo__context", serde_json::Map::new());
    let message = AssistantMessage::for_call(&one);
    let instance = test_host
        .agent
        .instance("key", test_host.work.workdir.clone());
    let start = TurnStart::new("turn-9").with_trace_id("trace-9");
    let turn = instance.open_turn(start).await.unwrap();
    let step = turn.open_step().await.unwrap();
    assert_eq!(code(&step.execute(other, &message).await), "E_HOST");
    let result = step.execute(one.clone(), &message).await;
    let context = result.output().unwrap();
    assert_eq!(context["toolCallId"], "one");
    assert_eq!(context["turnId"], "turn-9");
    assert_eq!(context["traceId"], "trace-9");
    assert_eq!(context["instanceKey"], "key");
    assert_eq!(context["agentName"], "default");
    assert_eq!(context["workdir"], "/");
    let message = Value::Object(AssistantMessage::for_call(&one).as_object().clone());
    assert_eq!(context["message"], message);
}

#[tokio::test]
async fn slow_argument_validation_does_not_change_the_result() {
    let unique: Vec<_> = (0..100).map(|_| json!({"uniqueItems": true})).collect();
    let list = json!({"type": "array", "allOf": unique});
    let parameters = json!({"type": "object", "properties": {"l": list}, "required": ["text"]});
    let tool = json!({
        "apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "echo"},
        "spec": {"entry": "./echo.wasm", "exports": [{"name": "say", "parameters": parameters}]},
    });
    let test_host = TestHost::load(&tool.to_string(), &["echo"], "", None).await;
    let items: Vec<_> = (0..2_000).map(|n| json!({"n": n})).collect();
    let args = json!({"l": items, "text": "a"});
    let fits = test_host.call("echo__say", args.clone());
    assert_eq!(fits.await.output(), Some(&args));
    let same = vec![json!({"n": 1}); 2_000];
    let does_not = test_host.call("echo__say", json!({"l": same, "text": "a"}));
    assert_eq!(code(&does_not.await), "E_TOOL_INVALID_ARGS");
}
