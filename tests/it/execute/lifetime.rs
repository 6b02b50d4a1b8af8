//! Sharing and dropping the public handles, and awaiting calls outside of a runtime.

use std::time::Duration;

use serde_json::json;
use toolhost::{Host, Step, ToolResult, ToolStatus, Turn};
use toolhost_tests::eventually;
use toolhost_tests::test_host::{TestHost, code, open_step, tool_call};

use super::EXAMPLES;

/// A policy with a short deadline.
const SHORT_DEADLINE: &str = "defaults: {limits: {deadlineMs: 200}}";

fn is_send_and_sync<T: Send + Sync>() {}

#[test]
fn public_handles_are_send_and_sync() {
    is_send_and_sync::<Host>();
    is_send_and_sync::<Step>();
    is_send_and_sync::<Turn>();
    is_send_and_sync::<toolhost::Agent>();
    is_send_and_sync::<toolhost::LoadedBundle>();
    is_send_and_sync::<toolhost::Sandbox>();
}

#[tokio::test]
async fn dropping_execute_stops_the_guest() {
    // A sandbox that no other test uses.
    let own = Host::builder().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("spin", "spin_forever", &["run"])]);
    toolhost_tests::test_host::write_bundle(dir.path(), &manifest, &["spin_forever"]);
    let loaded = own.load(dir.path()).await.unwrap();
    let work = tempfile::tempdir().unwrap();
    let workdir = own.workdir(work.path()).unwrap();
    let step = open_step(&loaded.only_agent().unwrap(), "key", &workdir).await;
    let call = tool_call("spin__run", json!({}));
    let (sandbox, places) = (own.sandbox(), own.sandbox().free_call_slots());

    let running = tokio::spawn(async move { step.execute_without_message(call).await });
    eventually("the call runs", || sandbox.free_call_slots() == places - 1).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert!(!running.is_finished());
    running.abort();
    eventually("the slot is free", || sandbox.free_call_slots() == places).await;
    eventually("the memory is free", || sandbox.memory_in_use() == 0).await;
}

#[tokio::test]
async fn two_hosts_share_one_sandbox() {
    let strict = TestHost::with_tools(&[("spin", "spin_forever", &["run"])], SHORT_DEADLINE).await;
    let other = TestHost::with_tools(&[("text", "text", EXAMPLES)], "").await;
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
}

#[tokio::test]
async fn a_host_can_be_dropped_in_async_code() {
    let own = Host::builder().build().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("text", "text", EXAMPLES)]);
    toolhost_tests::test_host::write_bundle(dir.path(), &manifest, &["text"]);
    let work = tempfile::tempdir().unwrap();
    let call = tool_call("text__upper", json!({"text": "x"}));
    let workdir = own.workdir(work.path()).unwrap();
    let agent = own.load(dir.path()).await.unwrap().only_agent().unwrap();
    let step = open_step(&agent, "key", &workdir).await;
    drop((own, agent));
    let result: ToolResult = step.execute_without_message(call).await;
    assert_eq!(
        result.status(),
        ToolStatus::Ok,
        "the step keeps its bundle alive"
    );
    drop(step);
}

#[test]
fn execute_needs_no_runtime() {
    let result = futures_executor::block_on(async {
        let test_host =
            TestHost::with_tools(&[("spin", "spin_forever", &["run"])], SHORT_DEADLINE).await;
        test_host.call("spin__run", json!({})).await
    });
    assert_eq!(code(&result), "E_TOOL_TIMEOUT");
}
