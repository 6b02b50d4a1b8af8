//! Clients over HTTP that send too much, too slowly, or nothing.

use std::time::Duration;

use serde_json::json;
use tokio::io::AsyncReadExt;
use toolhost_tests::process_usage::ProcessUsage;

use super::http::Workspaces;
use super::http_client::{Answer, Served, call, initialize};
use super::{stateless, test_host};

async fn served(change: impl FnOnce(&mut toolhost_mcp::HttpConfig)) -> Served {
    super::served(&test_host().await, change).await
}

#[tokio::test]
async fn a_body_above_the_limit_is_refused() {
    let served = served(|config| config.body_bytes = 10_000).await;
    let large = call("echo__say", json!({"text": "x".repeat(20_000)}));
    assert_eq!(served.post(&large, &[]).await.status, 413);
}

#[tokio::test]
async fn a_slow_head_and_a_slow_body_end_the_connection() {
    let served = served(|config| config.read_timeout = Duration::from_millis(300)).await;
    let host = served.address;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n"
    );
    let mut slow_head = served.send(&head).await;
    let mut answer = Vec::new();
    slow_head.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8(answer).unwrap();
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
        "{answer}"
    );
    let mut slow_body = served
        .send(&format!("{head}Content-Length: 100\r\n\r\n{{"))
        .await;
    assert_eq!(Answer::read(&mut slow_body).await.status, 408);
}

#[tokio::test]
async fn bad_requests_get_a_status_and_the_server_goes_on() {
    let served = served(|_| ()).await;
    let host = served.address;
    for request in [
        "NONSENSE\r\n\r\n".to_owned(),
        format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
        "POST /mcp HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
        format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: 7\r\n\r\n{{\"bad\":"
        ),
        format!("PUT /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
        format!("GET /metrics/../mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
    ] {
        let answer = Answer::read(&mut served.send(&request).await).await;
        assert!((400..500).contains(&answer.status), "{request}: {answer:?}");
    }
    assert_eq!(served.get("/healthz").await.status, 200);
    assert_eq!(served.get("/readyz").await.status, 200);
}

#[tokio::test]
async fn abandoned_sessions_are_freed() {
    let served = served(|config| {
        config.max_sessions = 200;
        config.session_idle = Duration::from_millis(200);
    })
    .await;
    let open = async || {
        for _ in 0..100 {
            served.session("/mcp", &[]).await;
        }
        let freed = async {
            let none = "\ntoolhost_sessions 0\n";
            while !served.get("/metrics").await.body.contains(none) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(10), freed).await;
        waited.expect("the sessions are freed");
    };
    open().await;
    let before = ProcessUsage::now();
    for _ in 0..5 {
        open().await;
    }
    let after = ProcessUsage::now();
    assert_eq!(after.fds, before.fds);
    let grown = after.rss.saturating_sub(before.rss);
    assert!(grown < 8 << 20, "{grown} bytes for 500 sessions");
}

#[tokio::test]
async fn a_message_that_opens_a_session_is_small() {
    let served = served(|_| ()).await;
    let mut large = initialize();
    large["params"]["clientInfo"]["title"] = json!("x".repeat(70_000));
    assert_eq!(served.post(&large, &[]).await.status, 413);
    let repeated = initialize()
        .to_string()
        .replacen('{', "{\"method\":\"ping\",", 1);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n\
         Content-Length: {}\r\n\r\n{repeated}",
        served.address,
        repeated.len()
    );
    let answer = Answer::read(&mut served.send(&head).await).await;
    assert_eq!(answer.status, 400, "{answer:?}");
}

#[tokio::test]
async fn no_more_sessions_are_opened_at_once_than_may_be_open() {
    let served = served(|config| config.max_sessions = 5).await;
    let message = initialize();
    let opened = futures_util::future::join_all((0..40).map(|_| served.post(&message, &[]))).await;
    let count = opened.iter().filter(|answer| answer.status == 200).count();
    assert!((1..=5).contains(&count), "{count} sessions");
    assert!(
        opened
            .iter()
            .all(|answer| [200, 503].contains(&answer.status))
    );
}

#[tokio::test]
async fn one_instance_cannot_open_all_sessions_or_streams() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |config| {
        config.max_instance_sessions = 2;
        config.max_connections = 16;
    })
    .await;
    let message = initialize();
    let session = served.session("/mcp/a", &[]).await;
    served.session("/mcp/a", &[]).await;
    assert_eq!(served.post_to("/mcp/a", &message, &[]).await.status, 503);
    assert_eq!(served.post_to("/mcp/b", &message, &[]).await.status, 200);
    // One stream each: those of a session, and those of clients without one.
    let listen = json!({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen",
        "params": stateless(json!({"notifications": {"toolsListChanged": true}}), &json!({}))});
    let headers = [
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "subscriptions/listen"),
    ];
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(served.begin("/mcp/a", &listen, &headers).await);
    }
    // All of them have begun.
    for stream in &mut streams {
        let mut begun = [0; 12];
        stream.read_exact(&mut begun).await.unwrap();
        assert_eq!(&begun, b"HTTP/1.1 200");
    }
    let refused = served.post_to("/mcp/a", &listen, &headers).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    let mut other = served.begin("/mcp/b", &listen, &headers).await;
    let mut begun = [0; 12];
    other.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 200");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}});
    let header = [("Mcp-Session-Id", session.as_str())];
    let answer = served.post_to("/mcp/a", &list, &header).await;
    assert_eq!(answer.status, 200, "calls go on: {answer:?}");
    drop(streams);
}
