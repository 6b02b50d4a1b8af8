//! The whole way from a ToolCall to a ToolResult.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost::{AssistantMessage, CallContext, Host, Step, ToolCall, ToolResult, ToolStatus};
use toolhost_tests::house::{House, code, tool_call};
use toolhost_tests::{eventually, sandbox};

const EXAMPLES: &[&str] = &["upper", "count", "fail"];

/// A policy under which misbehaviour is stopped soon.
const SOON: &str = "defaults: {limits: {deadlineMs: 200}}";

fn is_send_and_sync<T: Send + Sync + Clone>() {}

#[test]
fn handles_may_be_sent_and_shared() {
    is_send_and_sync::<Host>();
    is_send_and_sync::<Step>();
    is_send_and_sync::<CallContext>();
    is_send_and_sync::<toolhost::LoadedBundle>();
    is_send_and_sync::<toolhost::Sandbox>();
}

#[tokio::test]
async fn answers_with_the_calls_own_id_and_name() {
    // tool-spec-v2 §10.1, §10.2
    let house = House::of(&[("text", "text", EXAMPLES)], "").await;
    let result = house.call("text__upper", json!({"text": "hi"})).await;
    assert_eq!(
        serde_json::to_value(&result).unwrap(),
        json!({
            "toolCallId": "call-1", "toolName": "text__upper", "status": "ok", "output": {"text": "HI"},
        })
    );
    assert!(result.usage().memory_peak > 0);
}

#[tokio::test]
async fn a_single_export_is_called_by_both_its_names() {
    // tool-spec-v2 §2.2(4), §5.2(4)
    let house = House::of(&[("text", "text", &["upper"])], "").await;
    let args = json!({"text": "hi"});
    let result = house.call("text__upper", args.clone()).await;
    assert_eq!(result.status(), ToolStatus::Ok);
    for name in ["text", "upper"] {
        assert_eq!(
            code(&house.call(name, args.clone()).await),
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
async fn refuses_a_call_outside_the_catalog_and_runs_nothing() {
    // tool-spec-v2 §2.3, §9.1, §9.2
    let guests = ["text", "write_bytes"];
    let house = House::load(TWO_TOOLS_ONE_SHOWN, &guests, "", Some("coder")).await;
    let args = json!({"path": "/made", "bytes": 10});
    for outside in [
        "hidden__run",
        "unknown__action",
        "text__Upper",
        "text__upper ",
        "text___upper",
    ] {
        let result = house.call(outside, args.clone()).await;
        let error = result.tool_error().unwrap();
        assert_eq!(result.status(), ToolStatus::Error);
        assert_eq!(error.code.as_str(), "E_TOOL_NOT_IN_CATALOG");
        assert_eq!(error.name.as_deref(), Some("ToolNotInCatalogError"));
        let message = format!("Tool '{outside}' is not available in the current Tool Catalog.");
        assert_eq!(error.message, message);
    }
    assert!(!house.work.path("made").exists());
}

#[tokio::test]
async fn the_refusal_in_korean_is_the_specifications_own() {
    // tool-spec-v2 §9.2
    let house = House::of(&[("text", "text", EXAMPLES)], "locale: ko").await;
    let result = house.call("unknown__action", json!({})).await;
    assert_eq!(
        result.tool_error().unwrap().suggestion.as_deref(),
        Some(
            "Agent 구성의 spec.tools에 해당 도구를 추가하거나, step 미들웨어에서 동적으로 등록하세요."
        )
    );
}

#[tokio::test]
async fn the_policy_alone_lets_a_call_go_to_the_registry() {
    // tool-spec-v2 §2.3(3), §9.1
    let guests = ["text", "write_bytes"];
    let policy = "registryDirectCall: true";
    let house = House::load(TWO_TOOLS_ONE_SHOWN, &guests, policy, Some("coder")).await;
    let result = house
        .call("hidden__run", json!({"path": "/made", "bytes": 10}))
        .await;
    assert_eq!(result.status(), ToolStatus::Ok);
    assert!(house.work.path("made").exists());
    assert_eq!(
        code(&house.call("unknown__action", json!({})).await),
        "E_TOOL_NOT_FOUND"
    );
}

#[tokio::test]
async fn every_way_to_misbehave_has_its_code() {
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
        let house = House::of(&[(&tool, guest, &["run"])], policy).await;
        let result = house.call(&format!("{tool}__run"), args()).await;
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
async fn a_pending_result_carries_a_handle() {
    // tool-spec-v2 §10.2
    let house = House::of(&[("later", "pending", &["run"])], "").await;
    let result = house.call("later__run", json!({"handle": "job-7"})).await;
    assert_eq!(result.status(), ToolStatus::Pending);
    assert!(result.handle().is_some());
    assert!(result.output().is_none() && result.tool_error().is_none());
}

#[tokio::test]
async fn a_guest_cannot_pose_as_the_host() {
    let house = House::of(&[("forge", "forge_host_code", &["run"])], "").await;
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
        let result = house.call("forge__run", forged(host_code)).await;
        assert_eq!(code(&result), "E_TOOL", "{host_code:?}");
    }
    assert_eq!(
        code(&house.call("forge__run", forged("ENOENT")).await),
        "ENOENT"
    );

    let all = json!({
        "message": "a\u{1b}[31mb", "name": "n".repeat(500), "code": "X",
        "suggestion": "s".repeat(5000), "helpUrl": "javascript:alert(1)",
    });
    let result = house.call("forge__run", all).await;
    let error = result.tool_error().unwrap();
    assert!(!error.message.contains('\u{1b}'));
    assert!(error.name.as_ref().unwrap().chars().count() <= 128);
    assert!(error.suggestion.as_ref().unwrap().encode_utf16().count() <= 1000);
    assert_eq!(error.help_url, None);
}

#[tokio::test]
async fn an_error_message_is_cut_to_the_tools_limit() {
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
        let house = House::load(&limited(limit), &["text"], "", None).await;
        let result = house.call("text__fail", json!({"length": length})).await;
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
async fn a_refused_call_is_cut_to_the_default_limit() {
    // tool-spec-v2 §2.4(2)
    let house = House::of(&[("text", "text", EXAMPLES)], "").await;
    let result = house.call(&"x".repeat(100_000), json!({})).await;
    assert!(result.tool_error().unwrap().message.len() <= 1000);
    assert!(result.tool_name().chars().count() <= 129);
}

#[tokio::test]
async fn arguments_that_do_not_fit_never_reach_the_tool() {
    let manifest = r#"{"apiVersion": "goondan.ai/v1", "kind": "Tool", "metadata": {"name": "w"},
        "spec": {"entry": "./write_bytes.wasm", "exports": [{"name": "run", "parameters": {
            "type": "object", "additionalProperties": false, "required": ["path", "bytes"],
            "properties": {"path": {"type": "string"}, "bytes": {"type": "integer", "maximum": 100}}}}]}}"#;
    let house = House::load(manifest, &["write_bytes"], "", None).await;
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
        let result = house.call("w__run", args).await;
        assert_eq!(code(&result), "E_TOOL_INVALID_ARGS", "{says}");
        let message = &result.tool_error().unwrap().message;
        assert!(message.contains(says), "{message}");
    }
    assert!(
        std::fs::read_dir(house.work.dir.path())
            .unwrap()
            .next()
            .is_none()
    );
    let fits = house
        .call("w__run", json!({"path": "/made", "bytes": 100}))
        .await;
    assert_eq!(fits.status(), ToolStatus::Ok);
}

#[tokio::test]
async fn the_message_of_a_call_has_its_limits_too() {
    let house = House::of(&[("text", "text", EXAMPLES)], "").await;
    let call = tool_call("text__upper", json!({"text": "hi"}));
    let with = |more: Value| {
        let content = json!([{"type": "tool-call", "toolCallId": call.id}, more]);
        let message = json!({"role": "assistant", "content": content});
        AssistantMessage::parse(message, &call.id).unwrap()
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
        let workdir = house.work.workdir.clone();
        let context = CallContext::new("key", "turn", with(more), workdir);
        let result = house.step.execute(call.clone(), &context).await;
        assert!(code(&result).starts_with(expected), "{}", code(&result));
    }
}

#[tokio::test]
async fn a_call_needs_the_message_that_holds_it() {
    // tool-spec-v2 §2.5(4)
    let house = House::of(&[("echo", "echo", &["context"])], "").await;
    let one = ToolCall::new("one", "echo__context", serde_json::Map::new());
    let other = ToolCall::new("other", "echo__context", serde_json::Map::new());
    let message = AssistantMessage::for_call(&one);
    let context = CallContext::new("key", "turn-9", message, house.work.workdir.clone())
        .with_trace_id("trace-9");
    assert_eq!(code(&house.step.execute(other, &context).await), "E_HOST");
    let result = house.step.execute(one.clone(), &context).await;
    let told = result.output().unwrap();
    assert_eq!(told["toolCallId"], "one");
    assert_eq!(told["turnId"], "turn-9");
    assert_eq!(told["traceId"], "trace-9");
    assert_eq!(told["instanceKey"], "key");
    assert_eq!(told["agentName"], "default");
    assert_eq!(told["workdir"], "/");
    let message = Value::Object(AssistantMessage::for_call(&one).as_object().clone());
    assert_eq!(told["message"], message);
}

#[tokio::test]
async fn a_denial_is_named_and_a_disk_limit_has_its_own_code() {
    let policy = "tools: {writer: {limits: {diskBytes: 1000}}}";
    let tools: &[_] = &[
        ("dial", "dial_out", &["run"] as &[&str]),
        ("writer", "write_bytes", &["run"]),
    ];
    let house = House::of(tools, policy).await;
    let result = house
        .call("dial__run", json!({"host": "127.0.0.1", "port": 9}))
        .await;
    assert_eq!(
        result.usage().denials,
        ["network: dns", "network: tcp", "network: udp"]
    );

    let result = house
        .call("writer__run", json!({"path": "/f", "bytes": 5000}))
        .await;
    let written = std::fs::metadata(house.work.path("f")).map_or(0, |file| file.len());
    assert!(written <= 1000);
    assert_eq!(result.usage().bytes_written, written);
}

#[tokio::test]
async fn a_bundle_beneath_the_workdir_cannot_be_rewritten() {
    let house = House::of(&[("climb", "climb_out_of_workdir", &["run"])], "").await;
    let workdir = house.host.workdir(house.bundle.path()).unwrap();
    let before = std::fs::read(house.bundle.path().join("goondan.yaml")).unwrap();
    let paths = json!(["goondan.yaml", "climb_out_of_workdir.wasm"]);
    for op in [
        "write",
        "append",
        "truncate",
        "unlink",
        "rename",
        "rename_from",
        "set_times",
    ] {
        let call = tool_call(
            "climb__run",
            json!({"op": op, "paths": paths, "other": "/elsewhere"}),
        );
        let context = CallContext::for_call(&call, "instance", workdir.clone());
        let result = house.step.execute(call, &context).await;
        for attempt in result.output().unwrap()["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
        let after = std::fs::read(house.bundle.path().join("goondan.yaml")).unwrap();
        assert_eq!(after, before, "{op}");
        assert!(
            house
                .bundle
                .path()
                .join("climb_out_of_workdir.wasm")
                .exists(),
            "{op}"
        );
    }
    let call = tool_call("climb__run", json!({"op": "read", "paths": paths}));
    let context = CallContext::for_call(&call, "instance", workdir);
    let result = house.step.execute(call, &context).await;
    assert_eq!(
        result.output().unwrap()["results"][0]["ok"],
        true,
        "it may be read"
    );
}

#[tokio::test]
async fn no_tool_rewrites_another_bundle_or_what_replaced_a_file_of_its_own() {
    let top = tempfile::tempdir().unwrap();
    let climb: &[&str] = &["run"];
    let manifest = toolhost_tests::house::yaml(&[("climb", "climb_out_of_workdir", climb)]);
    let host = Host::builder().sandbox(sandbox()).build().unwrap();
    let mut loaded = Vec::new();
    for bundle in ["a", "b"] {
        let dir = top.path().join(bundle);
        std::fs::create_dir(&dir).unwrap();
        toolhost_tests::house::write_bundle(&dir, &manifest, &["climb_out_of_workdir"]);
        loaded.push(host.load(&dir).await.unwrap());
    }
    // As an editor saves: another file under the same name.
    std::fs::write(top.path().join("a/new"), "edited").unwrap();
    std::fs::rename(top.path().join("a/new"), top.path().join("a/goondan.yaml")).unwrap();

    let step = loaded[1].only_agent().unwrap().open_step();
    let paths = json!([
        "/a/goondan.yaml",
        "/a/climb_out_of_workdir.wasm",
        "/b/goondan.yaml"
    ]);
    for op in ["write", "append", "unlink"] {
        let call = tool_call("climb__run", json!({"op": op, "paths": paths}));
        let workdir = host.workdir(top.path()).unwrap();
        let result = step
            .execute(call.clone(), &CallContext::for_call(&call, "key", workdir))
            .await;
        for attempt in result.output().unwrap()["results"].as_array().unwrap() {
            assert_eq!(attempt["ok"], false, "{op}: {attempt}");
        }
    }
    let kept = std::fs::read_to_string(top.path().join("a/goondan.yaml")).unwrap();
    assert_eq!(kept, "edited");
    assert!(top.path().join("a/climb_out_of_workdir.wasm").exists());
}

#[tokio::test]
async fn execute_dropped_in_the_middle_stops_the_guest() {
    let house = House::of(&[("spin", "spin_forever", &["run"])], "").await;
    let sandbox = house.host.sandbox().clone();
    let places = sandbox.free_places();
    {
        let call = house.call("spin__run", json!({}));
        let stopped = tokio::time::timeout(Duration::from_millis(50), call).await;
        assert!(stopped.is_err());
    }
    // Other tests of this process may run calls of their own meanwhile.
    eventually("its place is free", || {
        sandbox.free_places() >= places.min(1000)
    })
    .await;
}

#[tokio::test]
async fn two_hosts_share_one_sandbox() {
    let strict = House::of(&[("spin", "spin_forever", &["run"])], SOON).await;
    let other = House::of(&[("text", "text", EXAMPLES)], "").await;
    let (stopped, answered) = tokio::join!(
        strict.call("spin__run", json!({})),
        other.call("text__upper", json!({"text": "x"})),
    );
    assert_eq!(code(&stopped), "E_TOOL_TIMEOUT");
    assert_eq!(answered.status(), ToolStatus::Ok);
    drop(strict);
    assert_eq!(
        other
            .call("text__upper", json!({"text": "x"}))
            .await
            .status(),
        ToolStatus::Ok
    );
    assert_eq!(sandbox().allocation(), toolhost::Allocation::Pooling);
}

#[tokio::test]
async fn a_host_may_be_dropped_in_async_code() {
    let own = Host::builder().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::house::yaml(&[("text", "text", EXAMPLES)]);
    toolhost_tests::house::write_bundle(dir.path(), &manifest, &["text"]);
    let work = tempfile::tempdir().unwrap();
    let call = tool_call("text__upper", json!({"text": "x"}));
    let context = CallContext::for_call(&call, "key", own.workdir(work.path()).unwrap());
    let step = own
        .load(dir.path())
        .await
        .unwrap()
        .only_agent()
        .unwrap()
        .open_step();
    drop(own);
    let result: ToolResult = step.execute(call, &context).await;
    assert_eq!(
        result.status(),
        ToolStatus::Ok,
        "the step holds what it needs"
    );
    drop(step);
}

#[test]
fn a_caller_needs_no_runtime() {
    let result = futures_executor::block_on(async {
        let house = House::of(&[("spin", "spin_forever", &["run"])], SOON).await;
        house.call("spin__run", json!({})).await
    });
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");
}
