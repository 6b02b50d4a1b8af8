//! Pending results: the tool `poll`, and tasks.

use serde_json::{Value, json};
use toolhost_tests::test_host::TestHost;

use super::{initialized, server, stateless};
use crate::mcp::peer::Peer;

/// The guest `pending` returns its input's handle, and `done:{json}` has that output when it is polled.
const PENDING: &[(&str, &str, &[&str])] = &[("later", "pending", &["run"])];

const TASKS: &str = "io.modelcontextprotocol/tasks";

#[tokio::test]
async fn a_pending_result_is_polled_with_the_tool_poll() {
    // tool-spec-v2 §10.2
    let test_host = TestHost::with_tools(PENDING, "").await;
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    let listed = peer.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.last().unwrap()["name"], "poll");
    let accepted = peer
        .call("later__run", json!({"handle": "done:{\"made\": 1}"}))
        .await;
    assert_eq!(
        accepted["structuredContent"]["status"], "pending",
        "{accepted}"
    );
    let handle = accepted["structuredContent"]["handle"].clone();
    let text = accepted["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("`poll`") && text.contains(handle.as_str().unwrap()),
        "{text}"
    );
    let polled = peer.call("poll", json!({"handle": handle})).await;
    assert_eq!(polled["structuredContent"], json!({"made": 1}), "{polled}");
    let unknown = peer
        .call("poll", json!({"handle": "pending_unknown"}))
        .await;
    assert_eq!(
        unknown["_meta"]["toolhost/result"]["error"]["code"],
        "E_TOOL_UNKNOWN_HANDLE"
    );
    for wrong in [json!({}), json!({"handle": 7})] {
        let params = json!({"name": "poll", "arguments": wrong});
        let answer = peer.request("tools/call", params).await;
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
    }
}

#[tokio::test]
async fn a_pending_result_is_a_task_of_a_client_that_knows_tasks() {
    let test_host = TestHost::with_tools(PENDING, "").await;
    let mut peer = Peer::connect(&server(&test_host, |_| ()));
    let capabilities = json!({"extensions": {TASKS: {}}});
    let request = |params: Value| stateless(params, &capabilities);
    let arguments = json!({"handle": "next:done:{\"made\": 1}"});
    let call = json!({"name": "later__run", "arguments": arguments});
    let created = peer.request("tools/call", request(call)).await;
    let task = &created["result"];
    assert_eq!(task["resultType"], "task", "{created}");
    let id = task["taskId"].clone();
    let get = |id: &Value| request(json!({"taskId": id}));
    let task = peer.request("tasks/get", get(&id)).await["result"].clone();
    assert_eq!(task["status"], "working", "{task}");
    let task = peer.request("tasks/get", get(&id)).await["result"].clone();
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["createdAt"], created["result"]["createdAt"]);
    assert_eq!(task["result"]["structuredContent"], json!({"made": 1}));
    let cancelled = peer.request("tasks/cancel", get(&id)).await;
    assert!(cancelled["error"].is_null(), "{cancelled}");
    for wrong in [
        "",
        "x",
        "@",
        "x@y",
        "x@99999999999999999",
        "pending_unknown@1",
    ] {
        let answer = peer.request("tasks/get", get(&json!(wrong))).await;
        assert_eq!(answer["error"]["code"], -32602, "{wrong}: {answer}");
    }
}

#[tokio::test]
async fn a_poll_that_the_host_stops_leaves_its_task_working() {
    let policy = json!({"tools": {"later": {"limits": {"deadlineMs": 300}}}});
    let test_host = TestHost::with_tools(PENDING, &policy.to_string()).await;
    let mut peer = Peer::connect(&server(&test_host, |_| ()));
    let capabilities = json!({"extensions": {TASKS: {}}});
    let request = |params: Value| stateless(params, &capabilities);
    let call = json!({"name": "later__run", "arguments": {"handle": "spin"}});
    let created = peer.request("tools/call", request(call)).await;
    let id = json!({"taskId": created["result"]["taskId"]});
    let task = peer.request("tasks/get", request(id.clone())).await;
    assert_eq!(task["result"]["status"], "working", "{task}");
    peer.request("tasks/cancel", request(id.clone())).await;
    let task = peer.request("tasks/get", request(id)).await;
    assert_eq!(task["result"]["status"], "cancelled", "{task}");
}

#[tokio::test]
async fn polls_are_calls_within_the_limits() {
    let policy = json!({"tools": {"later": {"limits": {"deadlineMs": 2000}}}});
    let test_host = TestHost::with_tools(PENDING, &policy.to_string()).await;
    let mut peer = Peer::connect(&server(&test_host, |config| config.max_calls = 1));
    let capabilities = json!({"extensions": {TASKS: {}}});
    let request = |params: Value| stateless(params, &capabilities);
    let call = json!({"name": "later__run", "arguments": {"handle": "spin"}});
    let created = peer.request("tools/call", request(call)).await;
    let id = json!({"taskId": created["result"]["taskId"]});
    let first = peer.send("tasks/get", request(id.clone())).await;
    let second = peer.request("tasks/get", request(id)).await;
    let message = second["error"]["message"].as_str().unwrap();
    assert!(message.contains("call again later"), "{second}");
    let polled = peer.response(first).await;
    assert_eq!(polled["result"]["status"], "working", "{polled}");
}

#[tokio::test]
async fn a_task_is_cancelled_also_while_no_further_call_may_run() {
    let policy = json!({"tools": {"later": {"limits": {"deadlineMs": 2000}}}});
    let test_host = TestHost::with_tools(PENDING, &policy.to_string()).await;
    let mut peer = Peer::connect(&server(&test_host, |config| config.max_instance_calls = 1));
    let capabilities = json!({"extensions": {TASKS: {}}});
    let request = |params: Value| stateless(params, &capabilities);
    let call = |handle: &str| json!({"name": "later__run", "arguments": {"handle": handle}});
    let other = peer.request("tools/call", request(call("other"))).await;
    let spins = peer.request("tools/call", request(call("spin"))).await;
    let id = |created: &Value| json!({"taskId": created["result"]["taskId"]});
    let polled = peer.send("tasks/get", request(id(&spins))).await;
    let cancelled = peer.request("tasks/cancel", request(id(&other))).await;
    assert!(cancelled["error"].is_null(), "{cancelled}");
    let written = std::fs::read_to_string(test_host.work.path("cancelled"));
    assert_eq!(written.unwrap(), "other", "the component was notified");
    peer.response(polled).await;
}

#[tokio::test]
async fn a_call_that_waits_for_approval_is_pending_and_says_so() {
    let policy = "tools: {later: {ask: always}}";
    let test_host = TestHost::with_tools(PENDING, policy).await;
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    let listed = peer.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.last().unwrap()["name"], "poll");
    let held = peer.call("later__run", json!({"handle": "done:1"})).await;
    let details = &held["structuredContent"]["details"];
    assert_eq!(
        (&details["reason"], &details["effect"]),
        (&json!("awaiting-approval"), &json!("call"))
    );
    let text = held["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("`poll`") && text.contains("A person has to approve this call"),
        "{text}"
    );
    let approvals = test_host.host.approvals();
    let waiting = approvals.waiting().await.unwrap();
    assert!(!held.to_string().contains(&waiting[0].id), "{held}");
    approvals
        .approve(&waiting[0].id, "ann", None)
        .await
        .unwrap();
    let handle = &held["structuredContent"]["handle"];
    for _ in 0..100 {
        let polled = peer.call("poll", json!({"handle": handle})).await;
        if polled["structuredContent"] != held["structuredContent"]
            && polled["content"][0]["text"] == "1"
        {
            return;
        }
    }
    panic!("it was never done");
}
