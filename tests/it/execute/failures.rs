//! Every way in which a call can fail, and the error that the model gets.

use serde_json::{Value, json};
use toolhost::tool::Denial;
use toolhost_tests::test_host::{TestHost, code};

use super::EXAMPLES;

#[tokio::test]
async fn every_kind_of_failure_has_its_code() {
    // tool-spec-v2 §2.4(1), §10.3
    type Case = (&'static str, fn() -> Value, &'static str, &'static str);
    let cases: [Case; 15] = [
        (
            "spin_forever",
            || json!({}),
            "E_TOOL_TIMEOUT",
            "stopped after its deadline of 200 ms",
        ),
        (
            "sleep_forever",
            || json!({}),
            "E_TOOL_TIMEOUT",
            "stopped after its deadline of 200 ms",
        ),
        (
            "eat_memory",
            || json!({}),
            "E_TOOL_OUT_OF_MEMORY",
            "33554432 bytes of memory",
        ),
        ("trap", || json!({}), "E_TOOL_TRAP", "unreachable"),
        (
            "panic_with_reason",
            || json!({"reason": "no luck"}),
            "E_TOOL_TRAP",
            "the reason: no luck",
        ),
        ("recurse", || json!({}), "E_TOOL_TRAP", "recursion"),
        (
            "exit_process",
            || json!({"code": 0}),
            "E_TOOL_EXIT",
            "reporting success",
        ),
        (
            "exit_process",
            || json!({"code": 1}),
            "E_TOOL_EXIT",
            "reporting failure",
        ),
        (
            "flood_output",
            || json!({"bytes": 2_000_000}),
            "E_TOOL_OUTPUT_TOO_LARGE",
            "2000002 bytes",
        ),
        (
            "flood_output",
            || json!({"bytes": 20_000_000}),
            "E_TOOL_OUTPUT_TOO_LARGE",
            "at once",
        ),
        (
            "echo_raw",
            || json!({"output": "{not json"}),
            "E_TOOL_INVALID_OUTPUT",
            "not valid JSON",
        ),
        (
            "echo_raw",
            || json!({"output": ""}),
            "E_TOOL_INVALID_OUTPUT",
            "not valid JSON",
        ),
        (
            "echo_raw",
            || json!({"output": "1 2"}),
            "E_TOOL_INVALID_OUTPUT",
            "not valid JSON",
        ),
        (
            "echo_raw",
            || json!({"depth": 100_000}),
            "E_TOOL_INVALID_OUTPUT",
            "nested 100000 deep",
        ),
        (
            "pending",
            || json!({"bytes": 2_000}),
            "E_TOOL_INVALID_OUTPUT",
            "handle",
        ),
    ];
    let policy = "defaults: {limits: {deadlineMs: 200, memoryBytes: 32MiB}}\n\
                  tools: {flood-output: {limits: {deadlineMs: 5000, memoryBytes: 64MiB}}, echo-raw: {limits: {deadlineMs: 5000}}}";
    for (guest, args, expected, says) in cases {
        let tool = guest.replace('_', "-");
        let test_host = TestHost::with_tools(&[(&tool, guest, &["run"])], policy).await;
        let result = test_host.call(&format!("{tool}__run"), args()).await;
        assert_eq!(code(&result), expected, "{guest} {}", args());
        let error = result.tool_error().unwrap();
        assert!(error.message.contains(says), "{guest}: {}", error.message);
        assert!(
            error.suggestion.is_some() && error.help_url.is_some(),
            "{guest}"
        );
        assert!(
            error.message.contains(&format!("Tool '{tool}__run'")),
            "{guest}"
        );
    }
}

#[tokio::test]
async fn a_guest_cannot_return_an_error_code_of_the_host() {
    let test_host = TestHost::with_tools(&[("forge", "forge_host_code", &["run"])], "").await;
    let forged = |code: &str| json!({"message": "m", "code": code});
    for host_code in [
        "E_TOOL_NOT_IN_CATALOG",
        "E_TOOL_TIMEOUT",
        "E_TOOL",
        "E_HOST",
        "E_TOOL_NEW",
        "AGENT_NOT_FOUND",
        "E_CONFIG_X",
        "E_COMPONENT_X",
        "E_MIDDLEWARE",
        "IPC_X",
        "CIRCULAR_CALL_DETECTED",
        "A\nB",
        "",
    ] {
        let result = test_host.call("forge__run", forged(host_code)).await;
        assert_eq!(code(&result), "E_TOOL", "{host_code:?}");
    }
    assert_eq!(
        code(&test_host.call("forge__run", forged("ENOENT")).await),
        "ENOENT"
    );

    let all = json!({
        "message": "a\u{1b}[31mb", "name": "n".repeat(500), "code": "X",
        "suggestion": "s".repeat(5000), "helpUrl": "javascript:alert(1)",
    });
    let result = test_host.call("forge__run", all).await;
    let error = result.tool_error().unwrap();
    assert!(!error.message.contains('\u{1b}'));
    assert!(error.name.as_ref().unwrap().chars().count() <= 128);
    assert!(error.suggestion.as_ref().unwrap().encode_utf16().count() <= 1000);
    assert_eq!(error.help_url, None);
}

#[tokio::test]
async fn an_error_message_is_truncated_to_the_limit_of_the_tool() {
    // tool-spec-v2 §2.4(2), §2.4(3), §10.4
    let limited = |limit: &str| {
        format!(
            "{{\"apiVersion\": \"goondan.ai/v1\", \"kind\": \"Tool\", \"metadata\": {{\"name\": \"text\"}},
              \"spec\": {{\"entry\": \"./text.wasm\", {limit} \"exports\": [{{\"name\": \"fail\"}}]}}}}"
        )
    };
    for (limit, length, expected) in [
        ("", 5000, 1000),
        ("", 1000, 1000),
        ("", 999, 999),
        ("\"errorMessageLimit\": 50,", 51, 50),
        ("\"errorMessageLimit\": 50,", 50, 50),
        ("\"errorMessageLimit\": 5,", 10, 5),
        ("\"errorMessageLimit\": 2000,", 1999, 1999),
    ] {
        let test_host = TestHost::load(&limited(limit), &["text"], "", None).await;
        let result = test_host
            .call("text__fail", json!({"length": length}))
            .await;
        let message = &result.tool_error().unwrap().message;
        assert_eq!(message.encode_utf16().count(), expected, "{limit} {length}");
        let cut = length > expected;
        assert_eq!(
            message.ends_with("... (truncated)"),
            cut && expected > 15,
            "{limit} {length}"
        );
    }
}

#[tokio::test]
async fn the_message_of_a_refused_call_is_truncated_to_the_default_limit() {
    // tool-spec-v2 §2.4(2)
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let result = test_host.call(&"x".repeat(100_000), json!({})).await;
    assert!(result.tool_error().unwrap().message.len() <= 1000);
    assert!(result.tool_name().chars().count() <= 129);
}

#[tokio::test]
async fn a_denial_is_reported_and_a_disk_limit_has_its_own_code() {
    let policy = "tools: {writer: {limits: {diskBytes: 5096}}}";
    let tools: &[_] = &[
        ("dial", "dial_out", &["run"] as &[&str]),
        ("writer", "write_bytes", &["run"]),
    ];
    let test_host = TestHost::with_tools(tools, policy).await;
    let result = test_host
        .call("dial__run", json!({"host": "127.0.0.1", "port": 9}))
        .await;
    assert_eq!(
        result.usage().denials,
        [Denial::NetworkDns, Denial::NetworkTcp, Denial::NetworkUdp]
    );

    let result = test_host
        .call("writer__run", json!({"path": "/f", "bytes": 5000}))
        .await;
    let written = std::fs::metadata(test_host.work.path("f")).map_or(0, |file| file.len());
    assert!(written <= 1000);
    assert_eq!(result.usage().bytes_written, written);
}

#[tokio::test]
async fn a_tool_error_caused_by_a_disk_limit_has_the_code_of_the_limit() {
    let content = json!({"path": "f", "content": "x".repeat(5_000)});
    for (limit, expected) in [
        ("diskBytes: 1000", Some("E_TOOL_DISK_LIMIT")),
        ("files: 0", Some("E_TOOL_DISK_LIMIT")),
        ("workdirBytes: 1000", Some("E_TOOL_DISK_LIMIT")),
        ("diskBytes: 9096", None),
        ("files: 1", None),
        ("workdirBytes: 9096", None),
    ] {
        let policy = format!("tools: {{files: {{limits: {{{limit}}}}}}}");
        let test_host =
            TestHost::with_tools(&[("files", "file-system", &["write"])], &policy).await;
        let result = test_host.call("files__write", content.clone()).await;
        let refused = result.tool_error().map(|error| error.code.as_str());
        assert_eq!(refused, expected, "{limit}: {result:?}");
        let written = std::fs::metadata(test_host.work.path("f")).map_or(0, |file| file.len());
        assert!(expected.is_none() || written <= 1_000, "{limit}: {written}");
        assert!(expected.is_some() || written == 5_000, "{limit}: {written}");
    }
}
