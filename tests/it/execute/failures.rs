//! Every way in which a call can fail, and the error that the model gets.

use serde_json::{Value, json};
use toolhost::tool::Denial;
use toolhost_tests::test_host::{TestHost, code};

use super::EXAMPLES;

#[tokio::test]
async fn every_kind_of_failure_has_its_code() {
    // tool-spec-v2 §2.4(1), §10.3
    type Case = (&'static str, fn() -> Value, &'static str, &'static str);
    let cases: [Case; 17] = [
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
            || json!({"output": r#"{"list": [{"n": 1000000000000000000000000000000}]}"#}),
            "E_TOOL_INVALID_OUTPUT",
            "the integer 1000000000000000000000000000000 at /list/0/n",
        ),
        (
            "echo_raw",
            || json!({"output": r#"{"mean": NaN}"#}),
            "E_TOOL_INVALID_OUTPUT",
            "the number NaN at /mean",
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
                  strict: false\n\
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

/// Calls a handler of the guest that fails as tools in several languages do.
async fn fail(handler: &str, args: Value) -> toolhost::ToolError {
    let handlers: &[_] = &[
        "read", "unwrap", "reserve", "print", "invalid", "spawn", "raise",
    ];
    let policy = "tools: {fail: {limits: {memoryBytes: 32MiB}}}";
    let test_host = TestHost::with_tools(&[("fail", "fail_in_words", handlers)], policy).await;
    std::fs::write(test_host.work.path("there"), "x").unwrap();
    let result = test_host.call(&format!("fail__{handler}"), args).await;
    result.tool_error().unwrap().clone()
}

#[tokio::test]
async fn an_error_after_memory_was_refused_is_out_of_memory_in_every_language() {
    let most = 33_554_432;
    let limit = format!("it needed more than the {most} bytes of memory a call may use.");
    for (say, reported) in [
        // Python and JavaScript.
        ("MemoryError", ""),
        ("out of memory", ""),
        // An author in C.
        (
            "cannot load the table",
            " It reported: cannot load the table",
        ),
    ] {
        let error = fail("reserve", json!({"bytes": 64 << 20, "say": say})).await;
        assert_eq!(error.code.as_str(), "E_TOOL_OUT_OF_MEMORY", "{error:?}");
        assert_eq!(
            error.message,
            format!("Tool 'fail__reserve' failed: {limit}{reported}")
        );
        assert!(error.suggestion.unwrap().contains("memoryBytes"));
    }
    // It went on: the words decide what is suggested, and not the code.
    let later = |say: &str| json!({"bytes": 64 << 20, "say": say, "path": "there"});
    let error = fail("reserve", later("no such city")).await;
    assert_eq!(
        (error.code.as_str(), &*error.message),
        ("E_TOOL", "no such city")
    );
    assert!(!error.suggestion.unwrap().contains("memoryBytes"));
    let error = fail("reserve", later("Cannot allocate memory")).await;
    assert_eq!(error.code.as_str(), "E_TOOL", "{error:?}");
    assert!(error.suggestion.unwrap().contains("memoryBytes"));
    // Words without a refusal are words.
    let error = fail("print", json!({"stderr": "out of memory"})).await;
    assert_eq!(error.code.as_str(), "E_TOOL_TRAP");
}

#[tokio::test]
async fn an_error_of_a_file_names_its_path() {
    let error = fail("read", json!({"path": "data/none.txt"})).await;
    assert_eq!(error.code.as_str(), "NOT_FOUND");
    assert_eq!(error.message, "file does not exist: data/none.txt");
    let error = fail("unwrap", json!({"path": "data/none.txt"})).await;
    assert_eq!(error.code.as_str(), "E_TOOL_TRAP");
    assert!(
        error.message.contains("No such file or directory"),
        "{error}"
    );
    assert!(
        error.message.ends_with("The path was 'data/none.txt'."),
        "{error}"
    );
}

#[tokio::test]
async fn a_path_outside_the_workdir_is_denied_whether_the_tool_returns_an_error_or_panics() {
    for handler in ["read", "unwrap"] {
        let error = fail(handler, json!({"path": "../x"})).await;
        assert_eq!(error.code.as_str(), "E_TOOL_DENIED", "{handler}: {error:?}");
        assert_eq!(error.name.as_deref(), Some("ToolDeniedError"));
        assert_eq!(
            error.suggestion.as_deref(),
            Some(
                "Use a path within the workdir, without `..` and links that lead out of it: no policy \
                 grants other paths."
            )
        );
    }
    let error = fail("read", json!({"path": "../x"})).await;
    assert_eq!(error.message, "not permitted: ../x");
}

#[tokio::test]
async fn a_crash_has_the_words_of_its_runtime() {
    for (stderr, exits, words) in [
        (
            "Traceback (most recent call last):\n  File \"/0/app.py\", line 3, in call\nValueError: no \
             city\n\nthread '<unnamed>' panicked at runtime/src/lib.rs:1:1:\nunexpected exception\n",
            false,
            "it crashed: ValueError: no city.",
        ),
        (
            "panic: no city\n\ngoroutine 1 [running]:\nmain.main()\n\t/main.go:3\n",
            true,
            "it crashed: panic: no city.",
        ),
        (
            "Error: no city\nStack:\n  find@tool.js:3:11\n",
            false,
            "it crashed: Error: no city.",
        ),
        (
            "Assertion failed: city (tool.c: run: 12)\n",
            false,
            "it crashed: Assertion failed: city (tool.c: run: 12).",
        ),
        (
            "no city\n",
            true,
            "it ended its process instead of answering, reporting failure: no city.",
        ),
    ] {
        let error = fail("print", json!({"stderr": stderr, "exits": exits})).await;
        assert_eq!(error.message, format!("Tool 'fail__print' failed: {words}"));
    }
}

#[tokio::test]
async fn an_answer_that_is_not_allowed_says_what_it_is() {
    let error = fail("invalid", json!({})).await;
    assert_eq!(error.code.as_str(), "E_TOOL_INVALID_OUTPUT");
    assert_eq!(
        error.message,
        "Tool 'fail__invalid' failed: its answer is not UTF-8 text: the byte at offset 3 is invalid."
    );
    for (guest, args, words) in [
        (
            "pending",
            json!({"handle": ""}),
            "its answer is pending with an empty handle.",
        ),
        (
            "echo_raw",
            json!({"depth": 1_000}),
            "its answer is nested 1000 deep, at most 64 is allowed.",
        ),
    ] {
        let test_host = TestHost::with_tools(&[("t", guest, &["run"])], "").await;
        let result = test_host.call("t__run", args).await;
        let error = result.tool_error().unwrap();
        assert_eq!(error.code.as_str(), "E_TOOL_INVALID_OUTPUT");
        assert_eq!(error.message, format!("Tool 't__run' failed: {words}"));
        assert!(
            !error.suggestion.as_deref().unwrap().contains("JSON"),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_process_that_a_tool_starts_is_not_supported() {
    let error = fail("spawn", json!({})).await;
    assert_eq!(error.code.as_str(), "NOT_SUPPORTED", "{error:?}");
}
