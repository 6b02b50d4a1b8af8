//! Denials are reported in the usage and in the suggestion. A failure counts as denied only if the
//! denial ended the call.

use serde_json::{Value, json};
use toolhost::{ToolResult, ToolStatus, tool::Denial};
use toolhost_tests::test_host::{TestHost, code};

use super::EXAMPLES;

const NETWORK: [Denial; 3] = [Denial::NetworkDns, Denial::NetworkTcp, Denial::NetworkUdp];
const NEVER_GRANTED: &str = "The tool attempted operations that are not granted: network: dns, network: tcp, network: udp (no policy grants it).";

fn suggestion(result: &ToolResult) -> String {
    let error = result.tool_error().unwrap();
    error.suggestion.clone().unwrap()
}

/// Runs a guest that opens a socket, reads its files `files` times, and then ends as `then` says.
async fn dial_out(policy: &str, then: &str, files: u32) -> ToolResult {
    // A listener on loopback that must receive no connection.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let test_host = TestHost::with_tools(&[("dial", "dial_out", &["run"])], policy).await;
    let args = json!({"port": port, "then": then, "files": files});
    let result = test_host.call("dial__run", args).await;
    assert!(listener.accept().is_err(), "no connection arrived");
    assert_eq!(result.usage().denials, NETWORK, "{result:?}");
    result
}

#[tokio::test]
async fn a_trap_right_after_a_denial_is_reported_as_denied() {
    for then in ["trap", "panic"] {
        let result = dial_out("", then, 0).await;
        assert_eq!(code(&result), "E_TOOL_DENIED", "{then}");
        let suggested = suggestion(&result);
        assert!(suggested.starts_with("The operator's policy does not allow this"));
        assert!(suggested.ends_with(NEVER_GRANTED), "{suggested}");
    }
    let message = dial_out("", "panic", 0).await;
    let message = &message.tool_error().unwrap().message;
    assert!(message.contains("no answer arrived"), "{message}");
}

#[tokio::test]
async fn a_later_failure_keeps_its_own_code_and_the_suggestion_names_the_denial() {
    for then in ["trap", "panic"] {
        let result = dial_out("", then, 10).await;
        assert_eq!(code(&result), "E_TOOL_TRAP", "{then}");
        let suggested = suggestion(&result);
        assert!(
            suggested.starts_with("The tool crashed on this input"),
            "{suggested}"
        );
        assert!(suggested.ends_with(NEVER_GRANTED), "{suggested}");
    }
    let stopped = dial_out("defaults: {limits: {deadlineMs: 300}}", "spin", 0).await;
    assert_eq!(code(&stopped), "E_TOOL_TIMEOUT");
    let suggested = suggestion(&stopped);
    assert!(
        suggested.contains("deadlineMs") && suggested.ends_with(NEVER_GRANTED),
        "{suggested}"
    );

    let failed = dial_out("", "fail", 0).await;
    assert_eq!(code(&failed), "E_TOOL_DENIED");
    assert!(suggestion(&failed).ends_with(NEVER_GRANTED));
    let later = dial_out("", "fail", 10).await;
    assert_eq!(code(&later), "E_TOOL");
    assert!(suggestion(&later).ends_with(NEVER_GRANTED));
    let answered = dial_out("", "answer", 0).await;
    assert_eq!(answered.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn the_korean_suggestion_names_the_denial() {
    let result = dial_out("locale: ko", "trap", 0).await;
    let suggested = suggestion(&result);
    assert!(
        suggested.ends_with(
            "network: dns, network: tcp, network: udp (어떤 정책으로도 허용되지 않습니다)."
        ),
        "{suggested}"
    );
}

#[tokio::test]
async fn the_suggestion_names_the_policy_line_that_allows_the_call() {
    let write = |test_host: TestHost| async move {
        let args = json!({"path": "note", "content": "x"});
        let result = test_host.call("files__write", args).await;
        (result, test_host.work.path("note").exists())
    };
    let files: &[_] = &[("files", "file-system", &["write"] as &[&str])];
    let (refused, exists) =
        write(TestHost::with_tools(files, "tools: {files: {readOnly: true}}").await).await;
    assert_eq!((code(&refused).as_str(), exists), ("READ_ONLY", false));
    assert_eq!(refused.usage().denials, [Denial::ReadOnly]);
    let suggested = suggestion(&refused);
    assert!(
        suggested.starts_with("do not try again"),
        "the tool's own suggestion stays: {suggested}"
    );
    let line = "tools: {files: {readOnly: false}}";
    assert!(
        suggested.ends_with(&format!("(the policy may grant it with `{line}`).")),
        "{suggested}"
    );
    let (allowed, exists) = write(TestHost::with_tools(files, line).await).await;
    assert_eq!((allowed.status(), exists), (ToolStatus::Ok, true));
}

#[tokio::test]
async fn no_policy_grants_changes_to_the_files_of_a_bundle() {
    let test_host = TestHost::with_tools(&[("files", "file-system", &["write"])], "").await;
    let workdir = test_host.host.workdir(test_host.bundle.path()).unwrap();
    let step = toolhost_tests::test_host::open_step(&test_host.agent, "instance", &workdir).await;
    let args = json!({"path": "goondan.yaml", "content": "x"});
    let call = toolhost_tests::test_host::tool_call("files__write", args);
    let result = step.execute_without_message(call).await;
    assert_eq!(result.usage().denials, [Denial::WriteProtected]);
    let suggested = suggestion(&result);
    let ends = "filesystem: change a write-protected file (no policy grants it).";
    assert!(suggested.ends_with(ends), "{suggested}");
    let manifest = std::fs::read_to_string(test_host.bundle.path().join("goondan.yaml")).unwrap();
    assert_ne!(manifest, "x");
}

#[tokio::test]
async fn the_suggestion_names_the_key_of_the_limit_and_raising_it_allows_the_call() {
    fn deep(depth: usize) -> Value {
        (0..depth).fold(json!(1), |inner, _| json!([inner]))
    }
    type Case = (
        &'static str,
        &'static str,
        Value,
        (&'static str, &'static str, &'static str),
    );
    let cases: [Case; 10] = [
        (
            "flood_output",
            "run",
            json!({"bytes": 5_000}),
            ("E_TOOL_OUTPUT_TOO_LARGE", "outputBytes", "4KiB"),
        ),
        (
            "flood_output",
            "run",
            json!({"bytes": 50_000}),
            ("E_TOOL_OUTPUT_TOO_LARGE", "hostcallBytes", "16KiB"),
        ),
        (
            "echo_raw",
            "run",
            json!({"depth": 9}),
            ("E_TOOL_INVALID_OUTPUT", "jsonDepth", "8"),
        ),
        (
            "look_at_environment",
            "run",
            json!({}),
            ("E_TOOL_INVALID_OUTPUT", "jsonValues", "3"),
        ),
        (
            "echo",
            "say",
            json!({"deep": deep(9)}),
            ("E_TOOL_INVALID_ARGS", "jsonDepth", "8"),
        ),
        (
            "text",
            "upper",
            json!({"text": "x".repeat(2_000)}),
            ("E_TOOL_INVALID_ARGS", "inputBytes", "1KiB"),
        ),
        (
            "file-system",
            "write",
            json!({"path": "f", "content": "x".repeat(2_000)}),
            ("E_TOOL_DISK_LIMIT", "diskBytes", "1KiB"),
        ),
        (
            "file-system",
            "write",
            json!({"path": "f", "content": "x".repeat(2_000)}),
            ("E_TOOL_DISK_LIMIT", "workdirBytes", "1KiB"),
        ),
        (
            "file-system",
            "write",
            json!({"path": "f", "content": "x"}),
            ("E_TOOL_DISK_LIMIT", "files", "0"),
        ),
        (
            "spin_forever",
            "run",
            json!({}),
            ("E_TOOL_TIMEOUT", "deadlineMs", "100"),
        ),
    ];
    for (guest, handler, args, (expected, key, limit)) in cases {
        let name = guest.replace('_', "-");
        let tool = format!("{name}__{handler}");
        let policy = format!("tools: {{{name}: {{limits: {{{key}: {limit}}}}}}}");
        let test_host = TestHost::with_tools(&[(&name, guest, &[handler])], &policy).await;
        let result = test_host.call(&tool, args.clone()).await;
        assert_eq!(code(&result), expected, "{policy}");
        let suggested = suggestion(&result);
        assert!(
            suggested.contains(&format!("raise {key} for")),
            "{policy}: {suggested}"
        );
        let written = std::fs::metadata(test_host.work.path("f")).map_or(0, |file| file.len());
        assert!(written <= 1024, "{policy}: {written}");
        if guest == "spin_forever" {
            continue;
        }
        let test_host = TestHost::with_tools(&[(&name, guest, &[handler])], "").await;
        let result = test_host.call(&tool, args).await;
        assert_eq!(
            result.status(),
            ToolStatus::Ok,
            "without {policy}: {result:?}"
        );
    }
}

#[tokio::test]
async fn a_call_outside_the_catalog_is_told_the_nearest_and_the_available_tools() {
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    for (name, told) in [
        (
            "unknown__action",
            "The tools are: text__upper, text__count, text__fail",
        ),
        (
            "text__cuont",
            "Did you mean 'text__count'? The tools are: text__upper, text__count, text__fail",
        ),
    ] {
        let result = test_host.call(name, json!({})).await;
        assert_eq!(suggestion(&result), told);
    }
}
