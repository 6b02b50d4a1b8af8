//! Submitted calls that the catalog or the schema refuses.

use std::sync::{Arc, Mutex};

use serde_json::json;
use toolhost::{
    ToolResult, ToolStatus,
    middleware::{AuditLog, ToolCallContext},
};
use toolhost_tests::shared_buffer::SharedBuffer;
use toolhost_tests::test_host::{TestHost, code};

use super::submit;
use crate::execute::EXAMPLES;

async fn test_host() -> TestHost {
    TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await
}

#[tokio::test]
async fn a_submitted_call_that_the_catalog_or_the_schema_refuses_fails_at_once_without_a_handle() {
    // requirements-v1 §12.2(4), tool-spec-v2 §9.2
    let test_host = test_host().await;
    let mut completions = test_host.host.completions().await.unwrap();
    for (name, args, expected) in [
        ("text__upper", json!({}), "E_TOOL_INVALID_ARGS"),
        ("text__upper", json!({"text": 1}), "E_TOOL_INVALID_ARGS"),
        ("unknown__tool", json!({}), "E_TOOL_NOT_IN_CATALOG"),
    ] {
        let refused = submit(&test_host.step, "c", name, args.clone()).await;
        assert_eq!(code(&refused), expected, "{name}");
        assert_eq!(
            (refused.status(), refused.handle(), refused.tool_call_id()),
            (ToolStatus::Error, None, "c"),
            "{name}"
        );
        let executed = test_host.call(name, args).await;
        assert_eq!(refused.tool_error(), executed.tool_error(), "{name}");
    }
    // Of all these calls only this one has run in the background.
    submit(&test_host.step, "last", "text__upper", json!({"text": "x"})).await;
    let Some(toolhost::pending::Completed::Call(completed)) = completions.next().await else {
        panic!("a completion arrives")
    };
    assert_eq!(completed.result.tool_call_id(), "last");
}

#[tokio::test]
async fn middleware_sees_the_refusal_of_a_submitted_call_and_may_repair_the_call() {
    let test_host = test_host().await;
    let lines = SharedBuffer::default();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (audit, codes) = (AuditLog::to(lines.clone()), Arc::clone(&seen));
    test_host
        .agent
        .extend("ext", move |api| {
            api.pipeline().tool_call(-1, audit)?;
            api.pipeline().tool_call(
                0,
                move |mut context: ToolCallContext, next: toolhost::middleware::Next<_>| {
                    let codes = Arc::clone(&codes);
                    async move {
                        if context.args.contains_key("repair") {
                            context.args = serde_json::from_value(json!({"text": "ok"})).unwrap();
                        }
                        let result: ToolResult = next.run(context).await;
                        codes.lock().unwrap().push(code(&result));
                        result
                    }
                },
            )
        })
        .unwrap();
    let step = test_host.another_step().await;
    let refused = submit(&step, "c", "text__upper", json!({})).await;
    assert_eq!(code(&refused), "E_TOOL_INVALID_ARGS");
    assert_eq!(*seen.lock().unwrap(), ["E_TOOL_INVALID_ARGS"]);
    let lines = lines.text();
    assert!(lines.contains(r#""decision":"refused""#), "{lines}");

    let repaired = submit(&step, "d", "text__upper", json!({"repair": 1})).await;
    assert_eq!(repaired.output(), Some(&json!({"text": "OK"})));
}
