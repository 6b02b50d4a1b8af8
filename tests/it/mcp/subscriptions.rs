//! Subscriptions to files of the workdir.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use toolhost_mcp::McpServer;
use toolhost_tests::test_host::TestHost;

use super::peer::Peer;
use super::{initialized, server, stateless};

const UPDATED: &str = "notifications/resources/updated";

async fn test_host() -> TestHost {
    let tools: &[(&str, &str, &[&str])] = &[
        ("write", "write_bytes", &["run"]),
        ("echo", "echo", &["say"]),
    ];
    TestHost::with_tools(tools, "").await
}

fn with_files(test_host: &TestHost) -> McpServer {
    server(test_host, |config| config.serve_workdir = true)
}

async fn subscribe(peer: &mut Peer, method: &str, path: &str) -> Value {
    let uri = json!({"uri": format!("workdir:///{path}")});
    peer.request(&format!("resources/{method}"), uri).await
}

async fn write(peer: &mut Peer, path: &str, bytes: u64) {
    let arguments = json!({"path": path, "bytes": bytes});
    let answer = peer.call("write__run", arguments).await;
    assert_eq!(answer["structuredContent"]["size"], bytes, "{answer}");
}

/// Waits for the next update, and returns the path of its file.
async fn updated(peer: &mut Peer) -> String {
    let update = peer.notification(UPDATED).await;
    let uri = update["params"]["uri"].as_str().unwrap();
    uri.trim_start_matches("workdir:///").to_owned()
}

#[tokio::test]
async fn a_subscriber_is_notified_of_what_calls_change() {
    let test_host = test_host().await;
    let server = with_files(&test_host);
    let mut peer = initialized(&server).await;
    let mut other = initialized(&server).await;
    for path in ["a%20b", "new", "last"] {
        let answer = subscribe(&mut peer, "subscribe", path).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    // A file that does not exist yet; a second call that changes it again; a change by another client.
    write(&mut peer, "/new", 1).await;
    assert_eq!(updated(&mut peer).await, "new");
    write(&mut peer, "/new", 2).await;
    assert_eq!(updated(&mut peer).await, "new");
    write(&mut other, "/a b", 1).await;
    assert_eq!(updated(&mut peer).await, "a%20b");
    // A file without a subscription, a call that changes nothing, and a subscription that has ended.
    write(&mut peer, "/unwatched", 1).await;
    peer.call("echo__say", json!({})).await;
    subscribe(&mut peer, "unsubscribe", "new").await;
    write(&mut peer, "/new", 3).await;
    write(&mut peer, "/last", 1).await;
    // Two updates of a file are right: the look after an earlier call may see it while it is written.
    assert_eq!(updated(&mut peer).await, "last");
    let others = peer.notifications(UPDATED).into_iter();
    let mut others = others.filter(|update| update["params"]["uri"] != "workdir:///last");
    assert_eq!(others.next(), None);
    other.call("echo__say", json!({})).await;
    assert_eq!(other.notifications(UPDATED), [&Value::Null; 0]);
}

#[tokio::test]
async fn a_stream_of_2026_is_notified_of_the_files_that_it_names() {
    let test_host = test_host().await;
    let server = with_files(&test_host);
    let mut peer = Peer::connect(&server);
    let files = json!([
        "workdir:///a",
        "other:///b",
        format!("workdir:///{}", "c".repeat(2000))
    ]);
    let filter = json!({"notifications": {"resourceSubscriptions": files}});
    let id = peer
        .send("subscriptions/listen", stateless(filter, &json!({})))
        .await;
    let accepted = peer
        .notification("notifications/subscriptions/acknowledged")
        .await;
    let accepted = &accepted["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted, json!(["workdir:///a"]));
    // The server may still be about to look at the file: each write has another size.
    let mut bytes = 0;
    let update = loop {
        bytes += 1;
        let call = json!({"name": "write__run", "arguments": {"path": "/a", "bytes": bytes}});
        peer.request("tools/call", stateless(call, &json!({})))
            .await;
        if let Some(update) = peer.notifications(UPDATED).first() {
            break (*update).clone();
        }
    };
    assert_eq!(update["params"]["uri"], "workdir:///a");
    let tag = &update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*tag, id, "{update}");
}

#[tokio::test]
async fn subscriptions_are_bounded_and_end_with_their_client() {
    let test_host = test_host().await;
    let server = with_files(&test_host);
    let mut peer = initialized(&server).await;
    for number in 0..128 {
        let answer = subscribe(&mut peer, "subscribe", &number.to_string()).await;
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    // Again, and one too many.
    assert_eq!(
        subscribe(&mut peer, "subscribe", "5").await["result"],
        json!({})
    );
    let refused = subscribe(&mut peer, "subscribe", "128").await;
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("128 subscriptions"), "{refused}");
    let long = subscribe(&mut peer, "subscribe", &"x".repeat(2000)).await;
    assert_eq!(long["error"]["code"], -32602, "{long}");
    drop(peer);
    let mut next = initialized(&server).await;
    let free = async {
        // The server notices that the client has left.
        while !subscribe(&mut next, "subscribe", "128").await["error"].is_null() {}
    };
    timeout(Duration::from_secs(10), free).await.unwrap();
    let mut refused = initialized(&super::server(&test_host, |_| ())).await;
    let answer = subscribe(&mut refused, "subscribe", "a").await;
    assert!(
        answer["error"].is_object(),
        "files are not served: {answer}"
    );
}
