//! `wait__seconds` and `wait__until`.

use std::time::{Duration, Instant};

use serde_json::json;
use toolhost_tests::test_host::{code, tool_call};

use super::{base, fails, output};

#[tokio::test]
async fn wait_waits_for_the_given_time() {
    let test_host = base("").await;
    let started = Instant::now();
    let result = test_host
        .call("wait__seconds", json!({"seconds": 0.2}))
        .await;
    assert!(started.elapsed() >= Duration::from_millis(200));
    assert_eq!(
        *output(&result),
        json!({"done": true, "waitedSeconds": 0.2, "remainingSeconds": 0.0})
    );
    let result = test_host.call("wait__seconds", json!({"seconds": 0})).await;
    assert_eq!(output(&result)["done"], true);
    let past = json!({"time": "2001-02-03T04:05:06+07:00"});
    let result = test_host.call("wait__until", past).await;
    assert_eq!(output(&result)["waitedSeconds"], 0.0);
}

#[tokio::test]
async fn a_long_wait_ends_at_the_deadline_or_when_its_call_is_dropped() {
    let test_host = base("tools: {wait: {limits: {deadlineMs: 300}}}").await;
    let result = test_host
        .call("wait__seconds", json!({"seconds": 3600}))
        .await;
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");
    let far = json!({"time": "2999-01-01T00:00:00Z"});
    let result = test_host.call("wait__until", far).await;
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");

    let test_host = base("").await;
    let call = tool_call("wait__seconds", json!({"seconds": 3600}));
    let waiting = test_host.step.execute_without_message(call);
    let dropped = tokio::time::timeout(Duration::from_millis(200), waiting).await;
    assert!(dropped.is_err());
    let sandbox = test_host.host.sandbox();
    toolhost_tests::eventually("its memory is free", || sandbox.memory_in_use() == 0).await;
}

#[tokio::test]
async fn an_invalid_time_is_an_error() {
    let test_host = base("").await;
    for time in ["tomorrow", "2026-11-22 03:00", "2026-11-22T03:00:00", ""] {
        let result = test_host.call("wait__until", json!({"time": time})).await;
        fails(&result, "INVALID_TIME", time);
    }
    let result = test_host
        .call("wait__seconds", json!({"seconds": -1}))
        .await;
    assert_eq!(code(&result), "E_TOOL_INVALID_ARGS");
}
