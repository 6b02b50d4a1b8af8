//! A tool calls other tools: `goondan:tool/tools`.

mod hostile;
mod stopped;
mod transactions;

use std::fs;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use toolhost::events::{EventKind, Received};
use toolhost::middleware::{CallKind, Next, ToolCallContext};
use toolhost::recording::CallRecorder;
use toolhost::{ToolResult, ToolStatus, TurnStart};
use toolhost_tests::test_host::{TestHost, TestTool, code};
use toolhost_tests::{eventually, own_sandbox};

const TOOLS: [TestTool<'_>; 4] = [
    ("caller", "call_tools", &["run"]),
    ("other", "call_tools", &["run"]),
    ("third", "call_tools", &["run"]),
    ("files", "file-system", &["read", "write", "remove"]),
];

const GRANT: &str = "tools: {caller: {tools: [\"files__*\", \"other__run\"]}}";

async fn host(policy: &str) -> TestHost {
    TestHost::with_tools(&TOOLS, policy).await
}

fn write(path: &str) -> Value {
    json!({"do": "call", "tool": "files__write", "args": {"path": path, "content": "x"}})
}

async fn run(host: &TestHost, steps: Value) -> ToolResult {
    host.call("caller__run", json!({ "steps": steps })).await
}

/// Returns what each step came to.
fn answers(result: &ToolResult) -> &Vec<Value> {
    let output = result.output().unwrap_or_else(|| panic!("{result:?}"));
    output.as_array().unwrap()
}

#[tokio::test]
async fn a_tool_calls_the_tools_that_the_policy_grants() {
    let host = host(GRANT).await;
    let read = json!({"do": "call", "tool": "files__read", "args": {"path": "a"}});
    let steps =
        json!([{"do": "names"}, write("a"), read, {"do": "describe", "tool": "files__read"}]);
    let result = run(&host, steps).await;
    let answers = answers(&result);
    let names = ["other__run", "files__read", "files__write", "files__remove"];
    assert_eq!(answers[0]["ok"], json!(names));
    assert_eq!(answers[1]["ok"]["written"], true);
    assert_eq!(answers[2]["ok"]["content"], "x");
    assert_eq!(answers[3]["ok"]["name"], "files__read");
    let usage = result.usage();
    let calls = usage.tool_calls.as_ref().unwrap();
    assert_eq!((calls.count, calls.failed), (2, 0));
    let ids: Vec<_> = calls
        .calls
        .iter()
        .map(|call| (&*call.id, &*call.tool))
        .collect();
    assert_eq!(
        ids,
        [("call-1/1", "files__write"), ("call-1/2", "files__read")]
    );
    // What they used is part of the caller's usage.
    assert_eq!((usage.bytes_written, usage.files_made), (1, 1));
}

#[tokio::test]
async fn a_tool_without_a_grant_calls_no_tool() {
    let host = host("").await;
    let steps = json!([write("a"), {"do": "names"}, {"do": "describe", "tool": "files__read"},
        {"do": "search", "query": "read"}]);
    let result = run(&host, steps).await;
    for answer in answers(&result) {
        assert_eq!(answer["error"]["code"], "E_TOOL_DENIED", "{answer}");
    }
    assert!(!host.work.path("a").exists());
    let denials: Vec<_> = result
        .usage()
        .denials
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(denials, ["tools: call files__write", "tools: list"]);
    assert_eq!(result.usage().tool_calls, None);
    // A failure names the key that grants it.
    let result = run(&host, json!([{"do": "names"}, {"do": "fail"}])).await;
    let suggestion = result.tool_error().unwrap().suggestion.clone().unwrap();
    let line = "tools: {caller: {tools: [\"file-system__read\"]}}";
    assert!(suggestion.contains(line), "{suggestion}");
}

#[tokio::test]
async fn only_granted_tools_of_the_step_are_called() {
    let host = host("tools: {caller: {tools: [files__read, gone__*]}}").await;
    let call = |tool: &str| json!({"do": "call", "tool": tool, "args": {}});
    let long = "n".repeat(2_000);
    let steps = json!([
        write("a"),
        call("gone__x"),
        call("files__reed"),
        call("__proto__"),
        call(&long)
    ]);
    let result = run(&host, steps).await;
    let answers = answers(&result);
    let error = &answers[0]["error"];
    assert_eq!(error["code"], "E_TOOL_DENIED");
    let suggestion = error["suggestion"].as_str().unwrap();
    let line = "tools: {caller: {tools: [\"files__write\"]}}";
    assert!(suggestion.contains(line), "{suggestion}");
    assert!(!host.work.path("a").exists());
    for answer in &answers[1..4] {
        assert_eq!(answer["error"]["code"], "E_TOOL_NOT_IN_CATALOG", "{answer}");
    }
    let suggestion = answers[2]["error"]["suggestion"].as_str().unwrap();
    let advice =
        "Did you mean 'files__read'? Use a name that tools.names() or tools.search(…) returns.";
    assert_eq!(suggestion, advice);
    assert_eq!(answers[4]["error"]["code"], "E_TOOL_INVALID_ARGS");
    let denials: Vec<_> = result
        .usage()
        .denials
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(denials, ["tools: call files__write"]);
}

#[tokio::test]
async fn a_denied_tool_is_denied_by_each_of_its_aliases_and_never_suggested() {
    let host = host("tools: {caller: {tools: [files__read]}}").await;
    let call =
        |tool: &str| json!({"do": "call", "tool": tool, "args": {"path": "a", "content": "x"}});
    let denied = ["files.write", "files_write", "Files-Write", "files__wrte"];
    let mut steps = denied.map(call).to_vec();
    steps.push(call("files.read"));
    let result = run(&host, json!(steps)).await;
    let answers = answers(&result);
    for answer in &answers[..3] {
        let error = &answer["error"];
        assert_eq!(error["code"], "E_TOOL_DENIED", "{error}");
        assert!(error.to_string().contains("files__write"), "{error}");
    }
    assert_eq!(answers[3]["error"]["code"], "E_TOOL_NOT_IN_CATALOG");
    assert!(
        !answers[3].to_string().contains("files__write"),
        "{}",
        answers[3]
    );
    // An alias of one that is granted is a wrong name, and the right one is suggested.
    assert_eq!(answers[4]["error"]["code"], "E_TOOL_NOT_IN_CATALOG");
    assert!(
        answers[4].to_string().contains("'files__read'"),
        "{}",
        answers[4]
    );
    let denials = &result.usage().denials;
    assert_eq!(
        denials.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["tools: call files__write"]
    );
    assert!(!host.work.path("a").exists());
}

#[tokio::test]
async fn arguments_that_do_not_fit_come_back_with_the_schema() {
    let manifest = toolhost_tests::test_host::yaml(&TOOLS).replace(
        r#"{"name":"read"}"#,
        r#"{"name":"read","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"],"additionalProperties":false}}"#,
    );
    let host = TestHost::load(&manifest, &["call_tools", "file-system"], GRANT, None).await;
    let call = |args: Value| json!({"do": "call", "tool": "files__read", "args": args});
    let steps = json!([
        call(json!({"path": 1})),
        call(json!([])),
        call(json!({"file": "a"}))
    ]);
    let result = run(&host, steps).await;
    for answer in answers(&result) {
        let error = &answer["error"];
        assert_eq!(error["code"], "E_TOOL_INVALID_ARGS", "{error}");
        assert_eq!(error["parameters"]["required"], json!(["path"]));
    }
}

#[tokio::test]
async fn no_tool_is_called_twice_within_itself_and_calls_end_at_a_depth_of_three() {
    let grant = "tools: {caller: {tools: ['*']}, other: {tools: ['*']}, third: {tools: ['*']}}";
    let host = host(grant).await;
    let nested =
        |tool: &str, steps: Value| json!([{"do": "call", "tool": tool, "args": {"steps": steps}}]);
    let result = run(&host, nested("caller__run", json!([]))).await;
    let error = &answers(&result)[0]["error"];
    assert_eq!(error["code"], "E_TOOL_CALL_LIMIT");
    let suggestion = error["suggestion"].as_str().unwrap();
    assert!(suggestion.contains("in the calling one"), "{suggestion}");
    let back = nested("other__run", nested("caller__run", json!([])));
    let result = run(&host, back).await;
    let inner = &answers(&result)[0]["ok"][0];
    assert_eq!(inner["error"]["code"], "E_TOOL_CALL_LIMIT", "{inner}");
    // Three calls: caller, other, third. The fourth is one too many.
    let deep = nested("other__run", nested("third__run", json!([write("deep")])));
    let result = run(&host, deep).await;
    let innermost = &answers(&result)[0]["ok"][0]["ok"][0];
    assert_eq!(
        innermost["error"]["code"], "E_TOOL_CALL_LIMIT",
        "{innermost}"
    );
    let suggestion = innermost["error"]["suggestion"].as_str().unwrap();
    assert!(suggestion.contains("no policy allows more"), "{suggestion}");
    assert!(!host.work.path("deep").exists());
    let calls = result.usage().tool_calls.as_ref().unwrap();
    let ids: Vec<_> = calls.calls.iter().map(|call| &*call.id).collect();
    assert_eq!((calls.count, &*ids), (2, &["call-1/1/1", "call-1/1"][..]));
}

#[tokio::test]
async fn all_calls_within_a_call_share_its_budget() {
    let policy = "tools: {caller: {tools: ['*'], limits: {toolCalls: 5, toolCallsAtOnce: 2, diskBytes: 10000}}, other: {tools: ['*']}}";
    let host = host(policy).await;
    let many = |times: u64, at_once: u64| json!({"do": "many", "tool": "files__write", "args": {"path": "a", "content": "x"}, "times": times, "atOnce": at_once});
    let result = run(&host, json!([many(4, 3), many(10, 1)])).await;
    let ended = answers(&result);
    // The third at once is refused; of the rest, five are allowed in all.
    assert!(
        ended[0]["ok"]["codes"]
            .as_array()
            .unwrap()
            .contains(&json!("E_TOOL_CALL_LIMIT"))
    );
    let succeeded = |index: usize| ended[index]["ok"]["succeeded"].as_u64().unwrap();
    assert_eq!(succeeded(0) + succeeded(1), 5, "{ended:?}");
    // Each limit has its own advice.
    let one_more = json!([many(5, 1), write("b")]);
    let result = run(&host, one_more).await;
    let suggestion = answers(&result)[1]["error"]["suggestion"].as_str().unwrap();
    assert!(
        suggestion.contains("in another call") && suggestion.contains("raise toolCalls for"),
        "{suggestion}"
    );
    // The disk of the outer call bounds what the inner ones write, at any depth.
    let large = json!({"do": "call", "tool": "files__write", "args": {"path": "large", "content": "x".repeat(9_000)}});
    let within = json!({"do": "call", "tool": "other__run", "args": {"steps": [large]}});
    let result = run(&host, json!([within])).await;
    let refused = &answers(&result)[0]["ok"][0]["error"]["code"];
    assert_eq!(refused, "E_TOOL_DISK_LIMIT", "{result:?}");
    assert_ne!(
        fs::metadata(host.work.path("large"))
            .map(|file| file.len())
            .unwrap_or(0),
        9_000
    );
}

#[tokio::test]
async fn calls_end_with_the_call_that_made_them() {
    let policy =
        "tools: {caller: {tools: ['*'], limits: {deadlineMs: 300}}, other: {tools: ['*']}}";
    let host = toolhost::Host::builder()
        .sandbox(own_sandbox(|_| {}))
        .policy(toolhost::Policy::parse(policy, "policy.yaml").unwrap())
        .build()
        .unwrap();
    let host = TestHost::with_tools_in(host, &TOOLS).await;
    let spin = json!({"steps": [{"do": "spin"}]});
    let leave = json!([{"do": "leave", "tool": "other__run", "args": spin}]);
    let result = run(&host, leave).await;
    assert_eq!(answers(&result)[0]["ok"], "call-1/1");
    let wait = json!([{"do": "call", "tool": "other__run", "args": spin}]);
    let result = run(&host, wait).await;
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");
    let message = &result.tool_error().unwrap().message;
    assert!(
        message.contains("its call 'call-1/1' of tool 'other__run' had run for"),
        "{message}"
    );
    let stopped = &result.usage().tool_calls.as_ref().unwrap().calls[0];
    assert_eq!(stopped.code.as_deref(), Some("E_TOOL_CANCELLED"));
    assert!(stopped.wall.as_millis() >= 200, "{stopped:?}");
    let cancel = json!([{"do": "cancel", "tool": "other__run", "args": spin}]);
    let result = run(&host, cancel).await;
    assert_eq!(answers(&result)[0]["error"]["code"], "E_TOOL_CANCELLED");
    // Their memory and their slots are free again.
    let sandbox = host.host.sandbox();
    eventually("no call holds memory", || sandbox.memory_in_use() == 0).await;
}

#[tokio::test]
async fn a_tool_that_waits_for_another_gives_its_slot_back() {
    // One slot: the inner call can only run in it.
    let host = toolhost::Host::builder()
        .sandbox(own_sandbox(|config| config.live_calls = 1))
        .policy(toolhost::Policy::parse(GRANT, "policy.yaml").unwrap())
        .build()
        .unwrap();
    let host = TestHost::with_tools_in(host, &TOOLS).await;
    let result = run(&host, json!([write("a"), write("b")])).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert!(host.work.path("b").exists());
}

#[tokio::test]
async fn middleware_sees_each_call_of_a_tool_and_may_refuse_it() {
    let host = host(GRANT).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let names = Arc::clone(&seen);
    let layer = move |call: ToolCallContext, next: Next<ToolCallContext>| {
        let kind = call.call_kind();
        let shown = (
            call.tool_call_id().to_owned(),
            call.tool_name().to_owned(),
            kind,
        );
        names.lock().unwrap().push(shown);
        async move {
            if call.args.get("path") == Some(&json!("secret")) {
                return call.refuse("not this file");
            }
            next.run(call).await
        }
    };
    let extended = host
        .agent
        .extend("watch", |api| api.pipeline().tool_call(0, layer));
    extended.unwrap();
    let step = host.another_step().await;
    let steps = json!({"steps": [write("a"), write("secret")]});
    let call = toolhost_tests::test_host::tool_call("caller__run", steps);
    let result = step.execute_without_message(call).await;
    assert_eq!(answers(&result)[1]["error"]["code"], "E_MIDDLEWARE");
    assert!(host.work.path("a").exists() && !host.work.path("secret").exists());
    let seen = seen.lock().unwrap().clone();
    let expected = [
        ("call-1", "caller__run", CallKind::Call),
        ("call-1/1", "files__write", CallKind::CallOfTool),
        ("call-1/2", "files__write", CallKind::CallOfTool),
    ];
    let expected = expected.map(|(id, tool, kind)| (id.to_owned(), tool.to_owned(), kind));
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn each_call_of_a_tool_has_events_with_its_own_receipt() {
    let host = host(GRANT).await;
    let mut events = host.host.events().subscribe();
    run(&host, json!([write("a"), write("b")])).await;
    let mut calls = Vec::new();
    while calls.len() < 6 {
        let Some(Received::Event(event)) = events.next().await else {
            panic!("an event was lost");
        };
        let id = event.tool_call_id.as_deref().unwrap_or_default().to_owned();
        let written = event.usage.as_ref().map(|usage| usage.bytes_written);
        calls.push((event.kind, id, written));
    }
    let called = |id: &str| (EventKind::ToolCalled, id.to_owned(), None);
    let completed = |id: &str, bytes| (EventKind::ToolCompleted, id.to_owned(), Some(bytes));
    let expected = [
        called("call-1"),
        called("call-1/1"),
        completed("call-1/1", 1),
        called("call-1/2"),
        completed("call-1/2", 1),
        completed("call-1", 2),
    ];
    assert_eq!(calls, expected);
}

#[tokio::test]
async fn a_recorded_call_is_replayed_without_the_tools_that_it_called() {
    let host = host(GRANT).await;
    let recordings = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&recordings);
    let recorder = CallRecorder::new(move |call| kept.lock().unwrap().push(call));
    let instance = host.agent.instance("instance", host.work.workdir.clone());
    let turn = instance
        .open_turn(TurnStart::new("turn-1").with_recorder(recorder))
        .await
        .unwrap();
    let step = turn.open_step().await.unwrap();
    let read = json!({"do": "call", "tool": "files__read", "args": {"path": "a"}});
    let many = json!({"do": "many", "tool": "files__read", "args": {"path": "a"}, "times": 9, "atOnce": 3});
    let steps = json!({"steps": [write("a"), read, many]});
    let call = toolhost_tests::test_host::tool_call("caller__run", steps);
    let result = step.execute_without_message(call).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    fs::remove_file(host.work.path("a")).unwrap();
    let recordings = recordings.lock().unwrap().clone();
    assert_eq!(recordings.len(), 12);
    for recording in &recordings {
        let replayed = host
            .loaded
            .replay(recording, Default::default())
            .await
            .unwrap();
        assert_eq!(replayed.report.divergence, None, "{}", recording.tool);
    }
    assert!(!host.work.path("a").exists());
}

#[tokio::test]
async fn a_call_whose_many_calls_fail_leaves_room_for_the_recordings_of_others() {
    let state = tempfile::tempdir().unwrap();
    let host = toolhost::Host::builder()
        .sandbox(own_sandbox(|_| {}))
        .policy(toolhost::Policy::parse(GRANT, "policy.yaml").unwrap())
        .state_root(state.path())
        .build()
        .unwrap();
    let host = TestHost::with_tools_in(host, &TOOLS).await;
    let failing = json!({"do": "many", "tool": "files__read", "args": {"path": "none"}, "times": 30, "atOnce": 4});
    let result = run(&host, json!([failing, {"do": "fail"}])).await;
    assert_eq!(result.status(), ToolStatus::Error);
    assert_eq!(result.usage().tool_calls.as_ref().unwrap().failed, 30);
    // Three of them, and that of the whole.
    let kept = result.recording().unwrap().parent().unwrap();
    assert_eq!(fs::read_dir(kept).unwrap().count(), 4);
}

#[tokio::test]
async fn a_pending_call_of_a_tool_is_polled_until_it_has_a_result() {
    let tools = [
        ("caller", "call_tools", &["run"] as &[&str]),
        ("later", "pending", &["run"]),
    ];
    let policy = "tools: {caller: {tools: ['*'], limits: {deadlineMs: 1500}}}";
    let state = tempfile::tempdir().unwrap();
    let host = toolhost::Host::builder()
        .sandbox(own_sandbox(|_| {}))
        .policy(toolhost::Policy::parse(policy, "policy.yaml").unwrap())
        .state_root(state.path())
        .build()
        .unwrap();
    let host = TestHost::with_tools_in(host, &tools).await;
    let later =
        |handle: &str| json!({"do": "call", "tool": "later__run", "args": {"handle": handle}});
    let result = run(&host, json!([later("next:done:42"), later("fail:no luck")])).await;
    let ended = answers(&result);
    assert_eq!(ended[0]["ok"], 42);
    assert_eq!(ended[1]["error"]["message"], "no luck");
    // One that never ends is cancelled with the call that waits for it.
    let result = run(&host, json!([later("never")])).await;
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");
    let cancelled = host.work.path("cancelled");
    eventually("the pending call is cancelled", || cancelled.exists()).await;
}
