//! What a tool is denied: told in its receipt and in the suggestion, and blamed only where it was what
//! ended the call.

use serde_json::{Value, json};
use toolhost::{Denial, ToolResult, ToolStatus};
use toolhost_tests::test_host::{TestHost, code};

use super::EXAMPLES;

const NETWORK: [Denial; 3] = [Denial::NetworkDns, Denial::NetworkTcp, Denial::NetworkUdp];
const NEVER_GRANTED: &str = "The tool tried what it is not granted: network: dns, network: tcp, network: udp (no policy grants it).";

fn suggestion(result: &ToolResult) -> String {
    let error = result.tool_error().unwrap();
    error.suggestion.clone().unwrap()
}

/// What a tool comes to that dials, looks at its files so many times, and then ends so.
async fn dialled(policy: &str, then: &str, files: u32) -> ToolResult {
    // A listener of ours, on loopback, that must never hear of the guest.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let test_host = TestHost::with_tools(&[("dial", "dial_out", &["run"])], policy).await;
    let args = json!({"port": port, "then": then, "files": files});
    let result = test_host.call("dial__run", args).await;
    assert!(listener.accept().is_err(), "nobody called");
    assert_eq!(result.usage().denials, NETWORK, "{result:?}");
    result
}

#[tokio::test]
async fn a_call_that_ends_at_a_denial_is_denied() {
    for then in ["trap", "panic"] {
        let result = dialled("", then, 0).await;
        assert_eq!(code(&result), "E_TOOL_DENIED", "{then}");
        let told = suggestion(&result);
        assert!(told.starts_with("The operator's policy does not allow this"));
        assert!(told.ends_with(NEVER_GRANTED), "{told}");
    }
    let message = dialled("", "panic", 0).await;
    let message = &message.tool_error().unwrap().message;
    assert!(message.contains("nobody answered"), "{message}");
}

#[tokio::test]
async fn a_call_that_went_on_ends_for_its_own_reason_and_the_denial_is_told_beside() {
    for then in ["trap", "panic"] {
        let result = dialled("", then, 10).await;
        assert_eq!(code(&result), "E_TOOL_TRAP", "{then}");
        let told = suggestion(&result);
        assert!(told.starts_with("The tool crashed on this input"), "{told}");
        assert!(told.ends_with(NEVER_GRANTED), "{told}");
    }
    let stopped = dialled("defaults: {limits: {deadlineMs: 300}}", "spin", 0).await;
    assert_eq!(code(&stopped), "E_TOOL_TIMEOUT");
    let told = suggestion(&stopped);
    assert!(
        told.contains("deadlineMs") && told.ends_with(NEVER_GRANTED),
        "{told}"
    );

    let failed = dialled("", "fail", 0).await;
    assert_eq!(code(&failed), "E_TOOL");
    assert!(suggestion(&failed).ends_with(NEVER_GRANTED));
    let answered = dialled("", "answer", 0).await;
    assert_eq!(answered.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn in_korean_as_well() {
    let result = dialled("locale: ko", "trap", 0).await;
    let told = suggestion(&result);
    assert!(
        told.ends_with(
            "network: dns, network: tcp, network: udp (어떤 정책으로도 허용되지 않습니다)."
        ),
        "{told}"
    );
}

#[tokio::test]
async fn the_suggestion_names_the_line_of_the_policy_that_would_allow_it() {
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
    let told = suggestion(&refused);
    assert!(
        told.starts_with("do not try again"),
        "its own stays: {told}"
    );
    let line = "tools: {files: {readOnly: false}}";
    assert!(
        told.ends_with(&format!("(the policy may grant it with `{line}`).")),
        "{told}"
    );
    let (allowed, exists) = write(TestHost::with_tools(files, line).await).await;
    assert_eq!((allowed.status(), exists), (ToolStatus::Ok, true));
}

#[tokio::test]
async fn what_a_bundle_needs_is_no_policys_to_grant() {
    let test_host = TestHost::with_tools(&[("files", "file-system", &["write"])], "").await;
    let workdir = test_host.host.workdir(test_host.bundle.path()).unwrap();
    let step = toolhost_tests::test_host::open_step(&test_host.agent, "instance", &workdir).await;
    let args = json!({"path": "goondan.yaml", "content": "x"});
    let call = toolhost_tests::test_host::tool_call("files__write", args);
    let result = step.execute_without_message(call).await;
    assert_eq!(result.usage().denials, [Denial::WriteProtected]);
    let told = suggestion(&result);
    let ends = "filesystem: change a write-protected file (no policy grants it).";
    assert!(told.ends_with(ends), "{told}");
    let manifest = std::fs::read_to_string(test_host.bundle.path().join("goondan.yaml")).unwrap();
    assert_ne!(manifest, "x");
}

#[tokio::test]
async fn a_limit_that_was_met_is_named_by_its_key_and_raising_it_lets_the_call_pass() {
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
        let told = suggestion(&result);
        assert!(
            told.contains(&format!("raise {key} for")),
            "{policy}: {told}"
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
async fn what_is_outside_the_catalog_keeps_the_suggestion_of_the_specification() {
    // tool-spec-v2 §9.2
    let test_host = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
    let result = test_host.call("unknown__action", json!({})).await;
    assert_eq!(
        suggestion(&result),
        "Add the tool to spec.tools of the Agent, or register it in a step middleware."
    );
}
