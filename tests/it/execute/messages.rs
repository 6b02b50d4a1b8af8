//! The calls of a model's message, and their results in the format of its provider.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Barrier;
use toolhost::{
    AssistantMessage, HandlerError, JsonObject, ToolResult,
    extension::HandlerContext,
    middleware::{Next, ToolCallContext},
};
use toolhost_tests::test_host::{TestHost, code};

use super::EXAMPLES;

/// A message with calls in the format of OpenAI, each with its arguments as text.
fn message(calls: &[(&str, &str)]) -> AssistantMessage {
    let call = |(index, (name, arguments)): (usize, &(&str, &str))| {
        let function = json!({"name": name, "arguments": arguments});
        json!({"id": format!("call_{index}"), "type": "function", "function": function})
    };
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    AssistantMessage::parse(message).unwrap()
}

#[tokio::test]
async fn the_calls_of_a_message_are_executed_and_answered_in_its_order() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let message = message(&[
        ("text__upper", r#"{"text": "a"}"#),
        ("other__tool", "{}"),
        ("text__upper", r#"{"text": "b"}"#),
    ]);
    let results = test_host.step.execute_all(&message).await;
    let answers: Vec<Value> = results.iter().map(ToolResult::to_openai).collect();
    let answer =
        |id: &str, content: &str| json!({"role": "tool", "tool_call_id": id, "content": content});
    assert_eq!(answers[0], answer("call_0", r#"{"text":"A"}"#));
    assert_eq!(answers[2], answer("call_2", r#"{"text":"B"}"#));
    assert_eq!(code(&results[1]), "E_TOOL_NOT_IN_CATALOG");
    assert_eq!(answers[1]["tool_call_id"], "call_1");
    assert_eq!(results[2].to_anthropic()["tool_use_id"], "call_2");
}

#[tokio::test]
async fn the_calls_of_a_message_run_at_the_same_time() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let both = Arc::new(Barrier::new(2));
    let wait = move |_: HandlerContext, _: JsonObject| {
        let both = Arc::clone(&both);
        async move {
            both.wait().await;
            Ok::<_, HandlerError>(Value::Null)
        }
    };
    let extended = test_host.agent.extend("waits", |api| {
        let item = serde_json::from_value(json!({"name": "waits__both"}));
        let item = item.map_err(|reason| api.error(reason))?;
        api.tools().register(item, wait)
    });
    extended.unwrap();
    let step = test_host.another_step().await;
    // Each waits for the other.
    let message = message(&[("waits__both", "{}"), ("waits__both", "{}")]);
    let results = step.execute_all(&message).await;
    assert!(
        results.iter().all(|result| result.tool_error().is_none()),
        "{results:?}"
    );
}

#[tokio::test]
async fn arguments_that_are_not_json_are_refused_and_the_other_calls_run() {
    let test_host = TestHost::with_tools(&[("w", "write_bytes", &["run"])], "").await;
    let message = message(&[
        ("w__run", r#"{"path": "/cut", "bytes": 1"#),
        ("w__run", r#"{"path": "/made", "bytes": 1}"#),
        ("w__other", "{"),
    ]);
    let results = test_host.step.execute_all(&message).await;
    let error = results[0].tool_error().unwrap();
    assert_eq!(error.code.as_str(), "E_TOOL_INVALID_ARGS");
    assert!(
        error.message.contains("their text is not valid JSON: EOF"),
        "{error}"
    );
    assert!(results[1].tool_error().is_none(), "{results:?}");
    // The catalog refuses before the arguments do.
    assert_eq!(code(&results[2]), "E_TOOL_NOT_IN_CATALOG");
    let made: Vec<_> = std::fs::read_dir(test_host.work.dir.path())
        .unwrap()
        .collect();
    assert_eq!(made.len(), 1, "{made:?}");
}

#[tokio::test]
async fn a_number_without_a_fraction_is_an_integer_to_a_tool() {
    let test_host = TestHost::with_tools(&[("w", "write_bytes", &["run"])], "").await;
    let message = message(&[
        ("w__run", r#"{"path": "/three", "bytes": 3.0}"#),
        ("w__run", r#"{"path": "/thousand", "bytes": 1e3}"#),
    ]);
    for result in test_host.step.execute_all(&message).await {
        assert!(result.tool_error().is_none(), "{result:?}");
    }
    let length = |name: &str| {
        let file = test_host.work.dir.path().join(name);
        std::fs::metadata(file).unwrap().len()
    };
    assert_eq!((length("three"), length("thousand")), (3, 1_000));
}

#[tokio::test]
async fn a_middleware_may_replace_arguments_that_are_not_json() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let extended = test_host.agent.extend("repair", |api| {
        let repair = |mut call: ToolCallContext, next: Next<_>| async move {
            if call.args_error().is_some() {
                call.args.insert("text".to_owned(), json!("repaired"));
            }
            next.run(call).await
        };
        api.pipeline().tool_call(0, repair)
    });
    extended.unwrap();
    let step = test_host.another_step().await;
    let results = step
        .execute_all(&message(&[("text__upper", "{\"te")]))
        .await;
    assert_eq!(results[0].output(), Some(&json!({"text": "REPAIRED"})));
    let pass = test_host.agent.extend("pass", |api| {
        let empty = |mut call: ToolCallContext, next: Next<_>| async move {
            call.args.clear();
            next.run(call).await
        };
        api.pipeline().tool_call(1, empty)
    });
    pass.unwrap();
    let step = test_host.another_step().await;
    let results = step
        .execute_all(&message(&[("text__upper", "{\"te")]))
        .await;
    let error = results[0].tool_error().unwrap();
    assert!(
        error.message.contains("their text is not valid JSON"),
        "{error}"
    );
}
