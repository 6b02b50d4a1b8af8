//! Results, cancellation, progress and log messages.

use std::time::Duration;

use serde_json::{Value, json};
use toolhost::LiveBundle;
use toolhost_mcp::{McpServer, ServedAgent};
use toolhost_tests::test_host::TestHost;
use toolhost_tests::{eventually, sandbox};

use super::{initialized, server, stateless, test_host};
use crate::mcp::peer::Peer;

/// Starts a call that never ends by itself, and waits until it runs.
async fn spinning(peer: &mut Peer) -> u64 {
    let params = json!({"name": "spin__run", "arguments": {}, "_meta": {"progressToken": "p"}});
    let id = peer.send("tools/call", params).await;
    peer.notification("notifications/progress").await;
    id
}

/// Waits until no call runs in the shared sandbox.
async fn none_runs(free: usize) {
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
}

#[tokio::test]
async fn cancelling_a_request_stops_its_guest_and_the_connection_goes_on() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let server = server(&test_host, |config| {
        config.progress_interval = Duration::from_millis(50)
    });
    let mut peer = initialized(&server).await;
    let id = spinning(&mut peer).await;
    assert_eq!(sandbox().free_call_slots(), free - 1, "it runs");
    peer.notify(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "enough"}),
    )
    .await;
    none_runs(free).await;
    let answer = peer.call("text__upper", json!({"text": "on"})).await;
    assert_eq!(answer["structuredContent"], json!({"text": "ON"}));
}

#[tokio::test]
async fn a_client_that_leaves_stops_its_guests() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let server = server(&test_host, |config| {
        config.progress_interval = Duration::from_millis(50)
    });
    let mut peer = initialized(&server).await;
    spinning(&mut peer).await;
    spinning(&mut peer).await;
    drop(peer);
    none_runs(free).await;
}

#[tokio::test]
async fn a_long_call_sends_progress_that_grows_if_the_client_asked_for_it() {
    let test_host = test_host().await;
    let server = server(&test_host, |config| {
        config.progress_interval = Duration::from_millis(100)
    });
    let mut peer = initialized(&server).await;
    let arguments = json!({"seconds": 1});
    let asked =
        json!({"name": "sleep__run", "arguments": arguments, "_meta": {"progressToken": 9}});
    peer.request("tools/call", asked).await;
    let progress: Vec<f64> = peer
        .notifications("notifications/progress")
        .iter()
        .inspect(|message| assert_eq!(message["params"]["progressToken"], 9))
        .map(|message| message["params"]["progress"].as_f64().unwrap())
        .collect();
    assert!(progress.len() >= 3, "{progress:?}");
    assert!(progress.is_sorted_by(|a, b| a < b), "{progress:?}");
    let mut silent = initialized(&server).await;
    silent.call("sleep__run", arguments).await;
    assert_eq!(silent.notifications("notifications/progress").len(), 0);
}

#[tokio::test]
async fn what_a_guest_logs_is_its_progress_for_a_client_that_asked_for_it() {
    let test_host = test_host().await;
    let server = server(&test_host, |_| ());
    let capabilities = json!({});
    let mut peer = Peer::connect(&server);
    let call = stateless(
        json!({"name": "echo__context", "arguments": {}}),
        &capabilities,
    );
    let mut asked = call.clone();
    asked["_meta"]["progressToken"] = json!("p");
    peer.request("tools/call", asked).await;
    let progress = peer.notifications("notifications/progress");
    assert_eq!(progress.len(), 1, "{progress:?}");
    let params = &progress[0]["params"];
    assert_eq!(params["progressToken"], "p");
    assert!(!params["message"].as_str().unwrap().is_empty(), "{params}");
    // A client of 2026-07-28 that asks for no level gets no log messages.
    assert_eq!(messages(&peer), [Value::Null; 0]);
    let mut silent = Peer::connect(&server);
    silent.request("tools/call", call).await;
    assert_eq!(silent.notifications("notifications/progress").len(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_record_that_is_being_sent_when_the_call_ends_is_sent_whole() {
    const CALLS: usize = 200;
    let test_host = test_host().await;
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    let call = json!({"name": "echo__context", "arguments": {}, "_meta": {"progressToken": "p"}});
    for _ in 0..CALLS {
        peer.request("tools/call", call.clone()).await;
    }
    assert_eq!(messages(&peer).len(), CALLS);
    assert_eq!(peer.notifications("notifications/progress").len(), CALLS);
}

fn messages(peer: &Peer) -> Vec<Value> {
    let records = peer.notifications("notifications/message");
    records
        .iter()
        .map(|record| record["params"].clone())
        .collect()
}

#[tokio::test]
async fn what_a_guest_logs_reaches_the_client_at_the_level_that_it_set() {
    let test_host = test_host().await;
    let server = server(&test_host, |_| ());
    let mut peer = initialized(&server).await;
    peer.call("echo__context", json!({})).await;
    let received = messages(&peer);
    assert!(!received.is_empty());
    assert_eq!(received[0]["data"]["tool"], "echo__context");
    let mut quiet = initialized(&server).await;
    let set = quiet
        .request("logging/setLevel", json!({"level": "error"}))
        .await;
    assert!(set["error"].is_null(), "{set}");
    quiet.call("echo__context", json!({})).await;
    assert_eq!(messages(&quiet), Vec::<Value>::new());
}

#[tokio::test]
async fn a_client_of_2026_gets_log_messages_only_where_it_asks_for_them() {
    let test_host = test_host().await;
    let mut peer = Peer::connect(&server(&test_host, |_| ()));
    let call = json!({"name": "echo__context", "arguments": {}});
    peer.request("tools/call", stateless(call.clone(), &json!({})))
        .await;
    assert_eq!(messages(&peer), Vec::<Value>::new());
    let mut asking = stateless(call, &json!({}));
    asking["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    peer.request("tools/call", asking).await;
    assert!(!messages(&peer).is_empty());
}

#[tokio::test]
async fn calls_beyond_the_limit_are_answered_at_once() {
    let test_host = test_host().await;
    let server = server(&test_host, |config| {
        config.max_calls = 1;
        config.progress_interval = Duration::from_millis(50);
    });
    let mut peer = initialized(&server).await;
    spinning(&mut peer).await;
    let call = json!({"name": "text__upper", "arguments": {"text": "x"}});
    let refused = peer.request("tools/call", call).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("call again later"), "{message}");
}

#[tokio::test]
async fn an_instance_cannot_take_the_calls_of_others() {
    let mut config = toolhost_mcp::McpConfig::default();
    config.max_instance_calls = 1;
    config.progress_interval = Duration::from_millis(50);
    let root = tempfile::tempdir().unwrap();
    let host = toolhost::Host::builder()
        .sandbox(sandbox())
        .state_root(root.path());
    let host = TestHost::with_tools_in(host.build().unwrap(), super::TOOLS).await;
    let live = LiveBundle::new(host.loaded.clone());
    let server = McpServer::new(ServedAgent::new(live), config);
    let mut first = Peer::connect_as(&server, "first");
    first.initialize("2025-11-25").await;
    let running = spinning(&mut first).await;
    let call = json!({"name": "text__upper", "arguments": {"text": "x"}});
    let refused = first.request("tools/call", call.clone()).await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("this instance"), "{message}");
    let mut other = Peer::connect_as(&server, "other");
    other.initialize("2025-11-25").await;
    let answer = other.call("text__upper", json!({"text": "x"})).await;
    assert_eq!(answer["structuredContent"], json!({"text": "X"}));
    let cancel = json!({"requestId": running});
    first.notify("notifications/cancelled", cancel).await;
    eventually_answered(&mut first, &call).await;
}

/// Repeats a call until it is not refused.
async fn eventually_answered(peer: &mut Peer, call: &Value) {
    for _ in 0..200 {
        let answer = peer.request("tools/call", call.clone()).await;
        if answer["error"].is_null() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("every call is refused");
}

#[tokio::test]
async fn no_requests_are_read_from_a_client_that_reads_no_responses() {
    let test_host = test_host().await;
    let server = server(&test_host, |config| config.max_instance_calls = 1);
    let mut peer = initialized(&server).await;
    // Each response is larger than the request by far; the stream holds 1 MiB of either.
    let list = json!({"jsonrpc": "2.0", "method": "tools/list", "params": {}});
    let mut sent: u64 = 0;
    let flood = async {
        loop {
            let mut message = list.clone();
            message["id"] = json!(1000 + sent);
            peer.send_line(&message.to_string()).await;
            sent += 1;
        }
    };
    let stopped = tokio::time::timeout(Duration::from_secs(3), flood).await;
    assert!(stopped.is_err());
    let before = sent;
    // What was sent is at most what the stream holds, and 257 requests of which the responses wait.
    assert!(before < 40_000, "{before}");
    for id in 0..before {
        let answer = peer.response(1000 + id).await;
        assert!(answer["result"]["tools"].is_array(), "{answer}");
    }
    // Ends the line that was being written.
    peer.send_line("").await;
    let answer = peer.call("text__upper", json!({"text": "on"})).await;
    assert_eq!(answer["structuredContent"], json!({"text": "ON"}));
}

#[tokio::test]
async fn readings_of_files_are_within_the_limits_of_calls() {
    let test_host = test_host().await;
    let server = server(&test_host, |config| {
        config.max_calls = 1;
        config.serve_workdir = true;
        config.progress_interval = Duration::from_millis(50);
    });
    let mut peer = initialized(&server).await;
    spinning(&mut peer).await;
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": "workdir:///a"})),
    ] {
        let refused = peer.request(method, params).await;
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("call again later"), "{message}");
    }
}

#[tokio::test]
async fn only_a_traceparent_becomes_the_id_of_a_trace() {
    let test_host = test_host().await;
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    let mut trace_id = async |traceparent: &str| {
        let params = json!({"name": "echo__context", "arguments": {},
            "_meta": {"traceparent": traceparent}});
        let answer = peer.request("tools/call", params).await;
        answer["result"]["structuredContent"]["traceId"].clone()
    };
    let valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(trace_id(valid).await, valid);
    let long = format!("{valid}{}", "0".repeat(100_000));
    for wrong in [&*long, "", "00-0af7651916cd43dd8448eb211c80319c", "a text"] {
        let made = trace_id(wrong).await;
        assert_ne!(made, wrong);
        assert!(made.as_str().is_some_and(|id| id.len() < 64), "{made}");
    }
}

#[tokio::test]
async fn a_request_with_an_id_in_use_does_not_take_the_response_of_another() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let server = server(&test_host, |config| {
        config.progress_interval = Duration::from_millis(50)
    });
    let mut peer = initialized(&server).await;
    let id = spinning(&mut peer).await;
    let again = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call",
        "params": {"name": "text__upper", "arguments": {"text": "x"}}});
    peer.send_line(&again.to_string()).await;
    let answer = peer.call("text__upper", json!({"text": "on"})).await;
    assert_eq!(answer["structuredContent"], json!({"text": "ON"}));
    assert_eq!(sandbox().free_call_slots(), free - 1, "the first goes on");
    peer.notify("notifications/cancelled", json!({"requestId": id}))
        .await;
    none_runs(free).await;
}
