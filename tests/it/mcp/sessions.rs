//! Sessions of clients that send `initialize`, over HTTP.

use std::time::Duration;

use serde_json::json;
use toolhost_tests::{eventually, sandbox};

use super::http::{Workspaces, call_2026, headers_2026};
use super::http_client::{Answer, Served, call, initialize};
use super::{served, test_host};

#[tokio::test]
async fn a_session_serves_only_the_instance_that_it_began_with() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |_| ()).await;
    let session = served.session("/mcp/alice", &[]).await;
    let header = [("Mcp-Session-Id", session.as_str())];
    let list = call("list__run", json!({"path": "/"}));
    let answer = served.post_to("/mcp/alice", &list, &header).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(answer.message()["result"].is_object(), "{answer:?}");
    for path in ["/mcp", "/mcp/bob"] {
        assert_eq!(served.post_to(path, &list, &header).await.status, 404);
    }
    let unknown = [("Mcp-Session-Id", "11111111-1111-4111-8111-111111111111")];
    assert_eq!(
        served.post_to("/mcp/alice", &list, &unknown).await.status,
        404
    );
}

#[tokio::test]
async fn sessions_are_bounded_and_end_when_they_are_idle() {
    let test_host = test_host().await;
    let served = served(&test_host, |config| {
        config.max_sessions = 3;
        config.session_idle = Duration::from_millis(500);
    })
    .await;
    for _ in 0..3 {
        served.session("/mcp", &[]).await;
    }
    let refused = served.post(&initialize(), &[]).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some());
    let upper = call_2026("text__upper", json!({"text": "hi"}));
    let answer = served.post(&upper, &headers_2026("text__upper", &[])).await;
    assert_eq!(
        answer.output(),
        json!({"text": "HI"}),
        "clients without a session go on"
    );
    for _ in 0..200 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        if served.post(&initialize(), &[]).await.status == 200 {
            return;
        }
    }
    panic!("no session ended");
}

#[tokio::test]
async fn a_session_lasts_while_a_call_or_a_stream_of_it_is_open() {
    let test_host = test_host().await;
    let served = served(&test_host, |config| {
        config.session_idle = Duration::from_millis(200);
    })
    .await;
    let session = served.session("/mcp", &[]).await;
    let header = [("Mcp-Session-Id", session.as_str())];
    let sleep = call("sleep__run", json!({"seconds": 1}));
    let answer = served.post(&sleep, &header).await;
    assert_eq!(answer.output()["slept"], 1.0, "{answer:?}");
    let host = served.address;
    let listen = format!(
        "GET /mcp HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n\
         Mcp-Session-Id: {session}\r\nMCP-Protocol-Version: 2025-11-25\r\n\r\n"
    );
    let stream = served.send(&listen).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let upper = call("text__upper", json!({"text": "on"}));
    let answer = served.post(&upper, &header).await;
    assert_eq!(answer.output(), json!({"text": "ON"}), "{answer:?}");
    drop(stream);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(
        served.post(&upper, &header).await.status,
        404,
        "it has ended"
    );
}

#[tokio::test]
async fn a_dropped_response_of_a_session_stops_the_guest() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = served(&test_host, |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let header = [("Mcp-Session-Id", session.as_str())];
    let stream = served
        .begin("/mcp", &call("spin__run", json!({})), &header)
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    drop(stream);
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
    let upper = call("text__upper", json!({"text": "on"}));
    let answer = served.post(&upper, &header).await;
    assert_eq!(answer.output(), json!({"text": "ON"}), "{answer:?}");
}

#[tokio::test]
async fn a_cancelled_request_of_a_session_stops_the_guest() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = served(&test_host, |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let header = [("Mcp-Session-Id", session.as_str())];
    let _stream = served
        .begin("/mcp", &call("spin__run", json!({})), &header)
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 2}});
    assert_eq!(served.post(&cancel, &header).await.status, 202);
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
}

#[tokio::test]
async fn a_second_request_of_an_id_that_is_in_use_is_refused() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = served(&test_host, |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let header = [("Mcp-Session-Id", session.as_str())];
    let stream = served
        .begin("/mcp", &call("spin__run", json!({})), &header)
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    // `call` has the same id each time.
    let upper = call("text__upper", json!({"text": "on"}));
    assert_eq!(served.post(&upper, &header).await.status, 409);
    // It is the same number.
    let text = upper.to_string().replacen("\"id\":2", "\"id\":2.0", 1);
    let answer = served.post_text("/mcp", &text, &header).await;
    assert_ne!(answer.status, 200, "{answer:?}");
    drop(stream);
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
    let answer = served.post(&upper, &header).await;
    assert_eq!(answer.output(), json!({"text": "ON"}), "{answer:?}");
}

#[tokio::test]
async fn streams_are_not_resumed() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = served(&test_host, |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let header = [("Mcp-Session-Id", session.as_str())];
    let stream = served
        .begin("/mcp", &call("spin__run", json!({})), &header)
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    let host = served.address;
    for event in ["0/0", "0/1", "0"] {
        let resume = format!(
            "GET /mcp HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\nConnection: close\r\n\
             Mcp-Session-Id: {session}\r\nLast-Event-ID: {event}\r\n\r\n"
        );
        let answer = Answer::read(&mut served.send(&resume).await).await;
        assert_eq!(answer.status, 400, "{answer:?}");
    }
    drop(stream);
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
}
