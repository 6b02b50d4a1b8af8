//! Calls: their results, in the foreground and in the background, and how they are cancelled.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    assert_stopped, call, config, connect, endless_call, error_code, serve, tools, until_it_writes,
};

#[tokio::test]
async fn usage_is_added_where_it_is_asked_for() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let mut params = call("writer__run", json!({"path": "/f", "bytes": 5}));
    params["usage"] = true.into();
    let result = served.client.request("call/execute", params).await;
    assert_eq!(result["usage"]["bytesWritten"], 5);
}

#[tokio::test]
async fn calls_of_one_step_run_at_once_and_the_step_closes_after_them() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let (_, step) = client.open_step().await;
    let in_step = |mut params: Value| {
        params["step"] = step.clone();
        params
    };
    let slow = client
        .send(
            "call/execute",
            in_step(call("sleep__run", json!({"seconds": 1.0}))),
        )
        .await;
    let quick = client.send(
        "call/execute",
        in_step(call("text__upper", json!({"text": "a"}))),
    );
    let quick = quick.await;
    assert_eq!(client.answer().await["id"], quick);
    let close = json!({"step": step});
    assert_eq!(
        client.fails("step/close", close.clone()).await,
        "E_RPC_BUSY"
    );
    let answer = client.answer().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["status"]),
        (&json!(slow), &json!("ok"))
    );
    client.request("step/close", close).await;
}

#[tokio::test]
async fn a_message_of_a_provider_is_checked_and_given_to_the_tool() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let mut params = call("text__upper", json!({"text": "a"}));
    params["message"] = json!({"role": "assistant", "tool_calls": [{"id": "call-1"}]});
    let result = served.client.request("call/execute", params.clone()).await;
    assert_eq!(result["status"], "ok");
    params["message"]["tool_calls"][0]["id"] = "call-2".into();
    assert_eq!(
        served.client.fails("call/execute", params).await,
        "E_RPC_PARAMS"
    );
}

#[tokio::test]
async fn the_calls_of_a_message_run_and_are_answered_in_the_format_of_its_provider() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let (_, step) = client.open_step().await;
    let message = json!({"role": "assistant", "content": [
        {"type": "tool_use", "id": "a", "name": "text__upper", "input": {"text": "x"}},
        {"type": "tool_use", "id": "b", "name": "none__run", "input": {}},
    ]});
    let params = json!({"step": step, "message": message, "format": "anthropic", "usage": true});
    let executed = client.request("message/execute", params).await;
    let (results, answers) = (&executed["results"], &executed["answers"]);
    assert_eq!(results[0]["output"], json!({"text": "X"}));
    assert!(results[0]["usage"]["memoryPeak"].is_number(), "{results}");
    assert_eq!(results[1]["error"]["code"], "E_TOOL_NOT_IN_CATALOG");
    assert_eq!(
        (&answers[0]["tool_use_id"], &answers[0]["content"]),
        (&json!("a"), &json!(r#"{"text":"X"}"#))
    );
    assert_eq!(
        (&answers[1]["tool_use_id"], &answers[1]["is_error"]),
        (&json!("b"), &json!(true))
    );
    let params = json!({"step": step, "message": {"role": "user", "content": "x"}});
    assert_eq!(
        client.fails("message/execute", params).await,
        "E_RPC_PARAMS"
    );
}

#[tokio::test]
async fn a_submitted_call_is_polled_by_another_connection() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let params = call("text__upper", json!({"text": "a"}));
    let submitted = served.client.request("call/submit", params).await;
    assert_eq!(submitted["status"], "pending");
    drop(served.client);
    let (mut client, _) = connect(&served.server, 1 << 16);
    let handle = json!({"handle": submitted["handle"]});
    loop {
        let polled = client.request("call/poll", handle.clone()).await;
        if polled["status"] != "pending" {
            assert_eq!(polled["output"], json!({"text": "A"}));
            break;
        }
    }
    let mut other = handle.clone();
    other["instance"] = json!({"key": "other"});
    let polled = client.request("call/poll", other).await;
    assert_eq!(polled["error"]["code"], "E_TOOL_UNKNOWN_HANDLE");
}

#[tokio::test]
async fn cancelling_a_pending_call_stops_its_guest() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let submitted = client.request("call/submit", endless_call()).await;
    until_it_writes(&test_host).await;
    let handle = json!({"handle": submitted["handle"]});
    let cancelled = client.request("call/cancel", handle.clone()).await;
    assert_eq!(cancelled["error"]["code"], "E_TOOL_CANCELLED");
    assert_stopped(&test_host).await;
    let polled = client.request("call/poll", handle).await;
    assert_eq!(polled["error"]["code"], "E_TOOL_CANCELLED");
}

#[tokio::test]
async fn a_pending_call_of_a_turn_is_polled_in_the_turn() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let (turn, step) = client.open_step().await;
    let mut params = call("pending__run", json!({"handle": "done:{\"n\":1}"}));
    params["step"] = step;
    let pending = client.request("call/execute", params).await;
    assert_eq!(pending["status"], "pending");
    let params = json!({"turn": turn, "handle": pending["handle"]});
    let polled = client.request("call/poll", params).await;
    assert_eq!(polled["output"], json!({"n": 1}));
}

#[tokio::test]
async fn cancelling_a_request_stops_the_guest_and_answers_once() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let id = client.send("call/execute", endless_call()).await;
    until_it_writes(&test_host).await;
    client.cancel(id).await;
    client.cancel(id).await;
    let answer = client.answer().await;
    assert_eq!(answer["id"], id);
    assert_eq!(answer["error"]["code"], -32800);
    assert_eq!(error_code(&answer), "E_RPC_CANCELLED");
    assert_stopped(&test_host).await;
    // No second answer comes, and one that has ended or never began cannot be cancelled.
    client.cancel(id).await;
    client.cancel(99).await;
    client.request("host/info", json!({})).await;
}

#[tokio::test]
async fn a_thousand_requests_at_once_are_each_answered_once() {
    let test_host = tools("").await;
    let served = serve(config(&test_host));
    let (mut client, mut writer) = (served.client, Vec::new());
    for number in 0..1000 {
        let params = call("text__upper", json!({"text": number.to_string()}));
        let request =
            json!({"jsonrpc": "2.0", "id": number, "method": "call/execute", "params": params});
        writer.extend(format!("{request}\n").into_bytes());
    }
    let sent = tokio::io::AsyncWriteExt::write_all(&mut client.writer, &writer);
    let mut answered = BTreeSet::new();
    let received = async {
        while answered.len() < 1000 {
            let mut line = String::new();
            tokio::io::AsyncBufReadExt::read_line(&mut client.reader, &mut line)
                .await
                .unwrap();
            let answer: Value = serde_json::from_str(&line).unwrap();
            let id = answer["id"].as_u64().unwrap();
            assert_eq!(answer["result"]["output"]["text"], id.to_string());
            assert!(answered.insert(id), "{id} was answered twice");
        }
    };
    let (sent, ()) = tokio::join!(sent, received);
    sent.unwrap();
}

#[tokio::test]
async fn the_answer_to_a_request_with_an_id_in_use_names_no_request() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let client = &mut served.client;
    let sleep = call("sleep__run", json!({"seconds": 1.0}));
    let id = client.send("call/execute", sleep).await;
    client.last_id = 0;
    client.send("host/info", json!({})).await;
    let refused = client.answer().await;
    assert_eq!(refused["id"], Value::Null);
    assert_eq!(error_code(&refused), "E_RPC_REQUEST");
    let answer = client.answer().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["status"]),
        (&json!(id), &json!("ok"))
    );
    // Then the id is free again.
    client.last_id = 0;
    client.request("host/info", json!({})).await;
}
