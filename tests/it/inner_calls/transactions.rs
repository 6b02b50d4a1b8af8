//! With `workdir: transactional`, a call and the calls that it makes are one transaction.

use std::fs;

use serde_json::{Value, json};
use toolhost::{Host, Policy, ToolStatus};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::{TestHost, code};

use super::{TOOLS, answers, run, write};

const TRANSACTIONAL: &str =
    "tools: {caller: {tools: ['*'], workdir: transactional}, other: {tools: ['*']}}";

async fn host(state: &std::path::Path, policy: &str) -> TestHost {
    let host = Host::builder()
        .sandbox(sandbox())
        .policy(Policy::parse(policy, "policy.yaml").unwrap())
        .state_root(state)
        .build();
    TestHost::with_tools_in(host.unwrap(), &TOOLS).await
}

fn own(path: &str) -> Value {
    json!({"do": "write", "path": path, "text": "own"})
}

#[tokio::test]
async fn what_all_calls_changed_is_kept_together_and_each_sees_it_before() {
    let state = tempfile::tempdir().unwrap();
    let host = host(state.path(), TRANSACTIONAL).await;
    let nested = json!({"do": "call", "tool": "other__run", "args": {"steps": [
        write("b"), {"do": "read", "path": "a"}, {"do": "read", "path": "own"}]}});
    let steps = json!([own("own"), write("a"), nested, {"do": "read", "path": "b"}]);
    let result = run(&host, steps).await;
    let answers = answers(&result);
    assert_eq!(answers[2]["ok"][1]["ok"], "x", "{answers:?}");
    assert_eq!(answers[2]["ok"][2]["ok"], "own");
    assert_eq!(answers[3]["ok"], "x");
    for path in ["own", "a", "b"] {
        assert!(host.work.path(path).exists(), "{path}");
    }
    // One receipt and one undo for all of them.
    let changes = result.usage().changes.counts();
    assert_eq!(changes.created, 3, "{:?}", result.usage());
    assert_eq!(result.usage().tool_calls.as_ref().unwrap().count, 3);
    let instance = host.agent.instance("instance", host.work.workdir.clone());
    instance.undo(None).await.unwrap();
    for path in ["own", "a", "b"] {
        assert!(!host.work.path(path).exists(), "{path}");
    }
}

#[tokio::test]
async fn a_call_that_fails_leaves_nothing_of_the_calls_that_it_made() {
    for end in ["fail", "trap"] {
        let state = tempfile::tempdir().unwrap();
        let host = host(state.path(), TRANSACTIONAL).await;
        let result = run(&host, json!([write("a"), own("own"), {"do": end}])).await;
        assert_eq!(result.status(), ToolStatus::Error);
        assert_eq!(
            fs::read_dir(host.work.dir.path()).unwrap().count(),
            0,
            "{end}"
        );
    }
}

#[tokio::test]
async fn changes_of_a_failed_transactional_call_that_cannot_be_undone_alone_are_kept_by_no_one() {
    let state = tempfile::tempdir().unwrap();
    let policy = "tools: {caller: {tools: ['*'], workdir: transactional}, other: {tools: ['*'], workdir: transactional}}";
    let host = host(state.path(), policy).await;
    let fails =
        |steps: Value| json!({"do": "call", "tool": "other__run", "args": {"steps": steps}});
    let result = run(
        &host,
        json!([write("a"), fails(json!([own("b"), {"do": "fail"}]))]),
    )
    .await;
    assert_eq!(code(&result), "E_TOOL_CALL_NOT_UNDONE", "{result:?}");
    assert!(result.tool_error().unwrap().message.contains("call-1/2"));
    assert_eq!(fs::read_dir(host.work.dir.path()).unwrap().count(), 0);
    // What it changed of a file that another call made, and what its own calls changed, cannot be undone either.
    for changes in [own("a"), write("b")] {
        let steps = json!([own("a"), fails(json!([changes, {"do": "fail"}]))]);
        let result = run(&host, steps).await;
        assert_eq!(code(&result), "E_TOOL_CALL_NOT_UNDONE", "{result:?}");
        assert_eq!(fs::read_dir(host.work.dir.path()).unwrap().count(), 0);
    }
    // One that failed before it changed anything is an error like any other.
    let result = run(&host, json!([write("a"), fails(json!([{"do": "fail"}]))])).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert!(host.work.path("a").exists());
}

#[tokio::test]
async fn a_transactional_call_whose_output_is_no_success_fails_at_once_and_says_which_output() {
    let state = tempfile::tempdir().unwrap();
    let policy = "tools: {caller: {tools: ['*'], workdir: transactional}, other: {tools: ['*'], workdir: transactional, commitWhen: {pointer: /0/ok, equals: 'no'}}}";
    let host = host(state.path(), policy).await;
    let ends = |steps: Value| json!({"do": "call", "tool": "other__run", "args": {"steps": steps}});
    // Without a change it is an output like any other.
    let result = run(&host, json!([ends(json!([{"do": "names"}])), write("a")])).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert!(answers(&result)[0]["ok"].is_array(), "{result:?}");
    assert!(host.work.path("a").exists());
    let result = run(
        &host,
        json!([ends(json!([own("b")])), write("c"), {"do": "fail"}]),
    )
    .await;
    let calls = &result.usage().tool_calls.as_ref().unwrap();
    assert_eq!((calls.count, calls.failed), (2, 1), "{calls:?}");
    assert_eq!(
        calls.calls[0].code.as_deref(),
        Some("E_TOOL_CALL_NOT_UNDONE")
    );
    let result = run(&host, json!([ends(json!([own("b")])), write("c")])).await;
    assert_eq!(code(&result), "E_TOOL_CALL_NOT_UNDONE", "{result:?}");
    let message = &result.tool_error().unwrap().message;
    for part in [
        "'call-1/1' of tool 'other__run'",
        "`/0/ok` is",
        "not \"no\"",
    ] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!host.work.path("b").exists() && !host.work.path("c").exists());
}

#[tokio::test]
async fn a_caller_that_may_only_read_is_one_transaction_with_its_calls_too() {
    let state = tempfile::tempdir().unwrap();
    let policy = "tools: {caller: {tools: ['*'], workdir: transactional, readOnly: true}}";
    let host = host(state.path(), policy).await;
    let result = run(&host, json!([write("a"), own("own")])).await;
    assert!(answers(&result)[1]["error"].is_object(), "{result:?}");
    assert!(host.work.path("a").exists() && !host.work.path("own").exists());
    let result = run(&host, json!([write("b"), {"do": "fail"}])).await;
    assert_eq!(result.status(), ToolStatus::Error);
    assert!(!host.work.path("b").exists());
}

#[tokio::test]
async fn a_transactional_call_that_is_stopped_after_a_change_keeps_the_whole_from_being_committed()
{
    let state = tempfile::tempdir().unwrap();
    let policy = "tools: {caller: {tools: ['*'], workdir: transactional}, other: {tools: ['*'], workdir: transactional}}";
    let host = host(state.path(), policy).await;
    let left =
        json!({"do": "leave", "tool": "other__run", "args": {"steps": [own("b"), {"do": "spin"}]}});
    // The caller sees the change of the call that it leaves behind.
    let seen = json!({"do": "read", "path": "b"});
    let result = run(&host, json!([left, write("a"), write("c"), seen])).await;
    assert_eq!(code(&result), "E_TOOL_CALL_NOT_UNDONE", "{result:?}");
    assert!(result.tool_error().unwrap().message.contains("call-1/1"));
    assert_eq!(fs::read_dir(host.work.dir.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn what_other_calls_changed_meanwhile_is_not_laid_on_a_transactional_call_that_is_stopped() {
    let state = tempfile::tempdir().unwrap();
    let policy = "tools: {caller: {tools: ['*'], workdir: transactional}, other: {tools: ['*'], workdir: transactional}}";
    let host = host(state.path(), policy).await;
    // It changes nothing, and runs while the others do.
    let left = json!({"do": "leave", "tool": "other__run", "args": {"steps": [{"do": "spin"}]}});
    let result = run(&host, json!([left, write("a"), own("own")])).await;
    assert_eq!(result.status(), ToolStatus::Ok, "{result:?}");
    assert!(host.work.path("a").exists() && host.work.path("own").exists());
    assert_eq!(result.usage().changes.counts().created, 2);
}
