//! What a host keeps of calls, writes into an audit log, and records.

use std::path::Path;

use serde_json::{Value, json};
use toolhost::calls::{CallKind, CallLog, CallQuery, CallRecord};
use toolhost::extension::HandlerContext;
use toolhost::middleware::AuditLog;
use toolhost::recording::{CallRecording, KeptRecordings, ReplayEnd, ReplayOptions};
use toolhost::{
    HandlerError, Host, HostBuilder, JsonObject, Policy, ToolCatalogItem, ToolResult, ToolStatus,
};
use toolhost_tests::sandbox;
use toolhost_tests::shared_buffer::SharedBuffer;
use toolhost_tests::test_host::{TestHost, TestTool, tool_call_of};

const TOOLS: [TestTool<'_>; 3] = [
    ("caller", "call_tools", &["run"]),
    ("files", "file-system", &["read", "write"]),
    ("later", "pending", &["run"]),
];

const POLICY: &str = "tools: {caller: {tools: [\"files__*\"]}}";

fn builder(state: &Path) -> HostBuilder {
    let policy = Policy::parse(POLICY, "policy.yaml").unwrap();
    let builder = Host::builder().sandbox(sandbox()).policy(policy);
    builder.state_root(state)
}

async fn start(builder: HostBuilder) -> TestHost {
    TestHost::with_tools_in(builder.build().unwrap(), &TOOLS).await
}

async fn call(test_host: &TestHost, id: &str, tool: &str, args: Value) -> ToolResult {
    let call = tool_call_of(id, tool, args);
    test_host.step.execute_without_message(call).await
}

/// The kept calls, the oldest first.
async fn kept(state: &Path) -> Vec<CallRecord> {
    let log = CallLog::open(state).unwrap().unwrap();
    let mut calls = log.search(CallQuery::default()).await.unwrap().calls;
    calls.reverse();
    calls
}

#[tokio::test]
async fn calls_of_every_kind_are_kept_and_read_while_the_host_lives_and_after_it() {
    let state = tempfile::tempdir().unwrap();
    let test_host = start(builder(state.path())).await;
    let echo =
        |_: HandlerContext, input: JsonObject| async move { Ok::<_, HandlerError>(json!(input)) };
    let item: ToolCatalogItem =
        serde_json::from_value(json!({"name": "own__echo", "description": "echoes"})).unwrap();
    let extended = test_host
        .agent
        .extend("own", |api| api.tools().register(item, echo));
    extended.unwrap();
    let native = test_host.another_step().await;
    let native_call = tool_call_of("native", "own__echo", json!({"text": "한국어"}));
    native.execute_without_message(native_call).await;
    let steps = json!([
        {"do": "call", "tool": "files__write", "args": {"path": "a", "content": "x"}},
        {"do": "call", "tool": "files__read", "args": {"path": "missing"}},
        {"do": "call", "tool": "later__run", "args": {}},
    ]);
    call(&test_host, "outer", "caller__run", json!({"steps": steps})).await;
    call(&test_host, "unknown", "no__tool", json!({})).await;
    call(&test_host, "invalid", "files__read", json!({"path": 7})).await;
    let waits = json!({"handle": "done:{\"n\":1}"});
    let pending = call(&test_host, "waits", "later__run", waits).await;
    let instance = test_host
        .agent
        .instance("instance", test_host.work.workdir.clone());
    let polled = instance.poll(pending.handle().unwrap()).await;
    assert_eq!(polled.status(), ToolStatus::Ok);
    test_host.host.events().flush().await;

    let calls = kept(state.path()).await;
    let shown: Vec<_> = calls
        .iter()
        .map(|it| {
            (
                it.kind.as_str(),
                &*it.call_id,
                &*it.tool,
                it.status.as_str(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("call", "native", "own__echo", "ok"),
            ("call", "outer/1", "files__write", "ok"),
            ("call", "outer/2", "files__read", "error"),
            ("call", "outer", "caller__run", "ok"),
            ("call", "unknown", "no__tool", "error"),
            ("call", "invalid", "files__read", "error"),
            ("call", "waits", "later__run", "pending"),
            ("poll", "waits", "later__run", "ok"),
            ("settled", "waits", "later__run", "ok"),
        ]
    );
    let [_, write, read, outer, unknown, ..] = calls.as_slice() else {
        panic!("{calls:?}");
    };
    assert_eq!(write.parent_call_id.as_deref(), Some("outer"));
    assert_eq!(write.files[0].path, "a");
    assert_eq!(read.code.as_deref(), Some("NOT_FOUND"));
    assert_eq!(unknown.code.as_deref(), Some("E_TOOL_NOT_IN_CATALOG"));
    assert_eq!(outer.denials[0].operation, "tools: call later__run");
    let line = "tools: {caller: {tools: [\"later__run\"]}}";
    assert_eq!(outer.denials[0].policy_line.as_deref(), Some(line));
    let recording = read.recording.as_deref().unwrap();
    assert!(recording.exists(), "a failed call is recorded");
    assert!(outer.usage.memory_peak > 0 && outer.duration_ms > Some(0.0));
    assert_eq!(calls[7].usage.memory_peak, polled.usage().memory_peak);

    let log = CallLog::open(state.path()).unwrap().unwrap();
    let mut made = CallQuery::default();
    made.made_by = Some(outer.into());
    let made = log.search(made).await.unwrap().calls;
    assert_eq!(made.len(), 2, "{made:?}");
    let mut text = CallQuery::default();
    text.text = Some("한국어".to_owned());
    let found = log.search(text).await.unwrap().calls;
    assert_eq!(found.len(), 1, "{found:?}");
    let mut query = CallQuery::default();
    query.call_id = Some("native".to_owned());
    let native_id = log.search(query).await.unwrap().calls[0].id;
    let native = log.get(native_id).await.unwrap().unwrap();
    let json = r#"{"text":"한국어"}"#;
    assert_eq!(
        (native.arguments.as_deref(), native.output.as_deref()),
        (Some(json), Some(json))
    );
    drop(test_host);
    assert_eq!(kept(state.path()).await, calls, "the host has ended");
}

#[tokio::test]
async fn a_call_that_is_dropped_is_kept_as_cancelled() {
    let state = tempfile::tempdir().unwrap();
    let tools = [("spin", "spin_forever", &["run"] as &[_])];
    let host = Host::builder().sandbox(sandbox()).state_root(state.path());
    let test_host = TestHost::with_tools_in(host.build().unwrap(), &tools).await;
    let spinning = call(&test_host, "dropped", "spin__run", json!({}));
    let soon = std::time::Duration::from_millis(50);
    assert!(tokio::time::timeout(soon, spinning).await.is_err());
    test_host.host.events().flush().await;
    let calls = kept(state.path()).await;
    assert_eq!(calls.len(), 1);
    assert_eq!(calls[0].code.as_deref(), Some("E_TOOL_CANCELLED"));
    assert_eq!(calls[0].kind, CallKind::Call);
}

#[tokio::test]
async fn the_audit_log_of_a_host_has_the_calls_of_every_bundle_and_load() {
    let state = tempfile::tempdir().unwrap();
    let lines = SharedBuffer::default();
    let log = AuditLog::to(lines.clone());
    let test_host = start(builder(state.path()).audit_log(log)).await;
    call(&test_host, "one", "files__read", json!({"path": "missing"})).await;
    let again = test_host.host.reload(&test_host.loaded).await.unwrap();
    let other = test_host.host.load(test_host.bundle.path()).await.unwrap();
    for (id, bundle) in [("two", again), ("three", other)] {
        let agent = bundle.only_agent().unwrap();
        let step =
            toolhost_tests::test_host::open_step(&agent, "instance", &test_host.work.workdir);
        let call = tool_call_of(id, "no__tool", json!({}));
        step.await.execute_without_message(call).await;
    }
    test_host.host.audit_log().unwrap().flush().await;
    let written: Vec<(String, String)> = lines
        .text()
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().unwrap().to_owned();
            (text("call"), text("decision"))
        })
        .collect();
    let of = |id: &str, end: &str| {
        ["requested", end].map(|decision| (id.to_owned(), decision.to_owned()))
    };
    let expected = [
        of("one", "ran"),
        of("two", "refused"),
        of("three", "refused"),
    ];
    assert_eq!(written, expected.concat());
}

#[tokio::test]
async fn kept_recordings_can_be_replayed_as_they_are_asked_for() {
    for (keeps, expected) in [
        (KeptRecordings::Summaries, [None, Some(false)]),
        (KeptRecordings::Failed, [None, Some(true)]),
        (KeptRecordings::All, [Some(true), Some(true)]),
    ] {
        let state = tempfile::tempdir().unwrap();
        let test_host = start(builder(state.path()).kept_recordings(keeps)).await;
        let write = json!({"path": "a", "content": "x"});
        let written = call(&test_host, "ok", "files__write", write).await;
        let missing = json!({"path": "missing"});
        let failed = call(&test_host, "failed", "files__read", missing).await;
        test_host.host.events().flush().await;
        let calls = kept(state.path()).await;
        for ((result, call), expected) in [written, failed].iter().zip(&calls).zip(expected) {
            assert_eq!(result.recording(), call.recording.as_deref());
            let Some(path) = result.recording() else {
                assert_eq!(expected, None, "{keeps:?}");
                continue;
            };
            let recording = CallRecording::parse(&std::fs::read(path).unwrap(), "a.call").unwrap();
            assert_eq!(Some(recording.can_be_replayed()), expected, "{keeps:?}");
            if recording.can_be_replayed() {
                let replay = test_host
                    .loaded
                    .replay(&recording, ReplayOptions::default());
                assert_eq!(replay.await.unwrap().report.end, ReplayEnd::Finished);
            }
        }
    }
}
