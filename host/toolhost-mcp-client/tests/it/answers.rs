//! Answers that are odd, broken or large: every call ends at once.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Place;

/// Much less than the deadline of a call, and enough for a busy machine.
const AT_ONCE: Duration = Duration::from_secs(100);

/// The output of a call, or its code and its message.
async fn ended(mode: &str) -> Result<Value, (String, String)> {
    let place = Place::new().await;
    let _server = place.start(mode).await;
    let call = place.call("srv__structured", json!({}));
    let result = tokio::time::timeout(AT_ONCE, call).await;
    let result = result.unwrap_or_else(|_| panic!("{mode}: no answer"));
    match result.tool_error() {
        None => Ok(result.output().unwrap().clone()),
        Some(error) => Err((error.code.to_string(), error.message.clone())),
    }
}

/// The same for a tool without an output schema.
async fn echo(mode: &str) -> Result<Value, (String, String)> {
    let place = Place::new().await;
    let _server = place.start(mode).await;
    let call = place.call("srv__echo", json!({"text": "hello"}));
    let result = tokio::time::timeout(AT_ONCE, call).await;
    let result = result.unwrap_or_else(|_| panic!("{mode}: no answer"));
    match result.tool_error() {
        None => Ok(result.output().unwrap().clone()),
        Some(error) => Err((error.code.to_string(), error.message.clone())),
    }
}

#[tokio::test]
async fn every_answer_ends_its_call_at_once() {
    let text = |text: &str| json!({"type": "text", "text": text});
    for (mode, expected) in [
        ("half-emoji", Ok(json!("cut \u{fffd}"))),
        ("bytes", Ok(json!("a\u{fffd}b"))),
        ("byte-order-mark", Ok(json!("hello"))),
        ("batch", Ok(json!("hello"))),
        ("data-null", Ok(json!("the answer"))),
        (
            "text-and-data",
            Ok(json!({"structuredContent": {"cached": false}, "content": [text("the page")]})),
        ),
        ("same-text-and-data", Ok(json!({"n": 1.0}))),
        (
            "new-block",
            Ok(json!({"content": [{"type": "hologram", "of": 1}]})),
        ),
        ("empty-result", Ok(Value::Null)),
        ("garbage", Ok(json!("hello"))),
        ("large-notifications", Ok(json!("hello"))),
        (
            "nan",
            Err("the number NaN at /structuredContent/seconds, which is not finite"),
        ),
        ("infinity", Err("-Infinity at /structuredContent/seconds")),
        ("huge-number", Err("1e999 at /structuredContent/n")),
        (
            "long-integer",
            Err("123456789012345678901234567890 at /structuredContent/ids/0"),
        ),
        ("deep", Err("its answer is nested 5001 deep")),
        ("no-json", Err("its answer is not valid JSON")),
        ("many-values", Err("values, at most 500000 are allowed")),
        ("id-last", Err("the number NaN at /content/0")),
    ] {
        match (echo(mode).await, expected) {
            (Ok(output), Ok(expected)) => assert_eq!(output, expected, "{mode}"),
            (Err((code, message)), Err(expected)) => {
                assert_eq!(code, "MCP_INVALID_ANSWER", "{mode}: {message}");
                assert!(
                    message.starts_with("The MCP server 'srv' "),
                    "{mode}: {message}"
                );
                assert!(message.contains(expected), "{mode}: {message}");
            }
            (found, expected) => panic!("{mode}: {found:?}, not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn an_error_without_an_id_and_an_answer_without_a_result_end_the_only_call() {
    for (mode, expected) in [
        ("id-null", "parse error (-32700)"),
        ("neither", "neither a result nor an error"),
        ("no-result", "a text"),
    ] {
        let (code, message) = ended(mode).await.unwrap_err();
        assert_eq!(code, "MCP_REFUSED", "{mode}: {message}");
        assert!(message.contains(expected), "{mode}: {message}");
    }
}

/// The most memory that this process has had, in KiB.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

#[tokio::test]
async fn answers_and_notifications_of_many_values_take_little_more_than_their_bytes() {
    let place = Place::new().await;
    let _server = place.start("many-values").await;
    let before = peak_kib();
    // Each has 9 MB: parsed, it takes some 500 MB.
    let calls = (0..4).map(|_| place.call("srv__echo", json!({"text": "x"})));
    for result in futures_util::future::join_all(calls).await {
        assert_eq!(
            result.tool_error().unwrap().code.to_string(),
            "MCP_INVALID_ANSWER"
        );
    }
    let noisy = Place::new().await;
    let _other = noisy.start("large-notifications").await;
    noisy.echoes().await;
    let taken = peak_kib() - before;
    assert!(taken < 150 << 10, "{taken} KiB");
}
