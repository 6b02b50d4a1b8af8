//! Responses, connections and servers over HTTP that end while calls run.

use std::time::Duration;

use serde_json::json;
use toolhost_tests::{eventually, sandbox};

use super::http::{call_2026, headers_2026};
use super::http_client::{Answer, Served};
use super::{served, server, test_host};

#[tokio::test]
async fn a_dropped_response_stops_the_guest() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = served(&test_host, |_| ()).await;
    let spin = call_2026("spin__run", json!({}));
    let stream = served
        .begin("/mcp", &spin, &headers_2026("spin__run", &[]))
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    drop(stream);
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
}

#[tokio::test]
async fn health_is_answered_while_the_server_drains() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let server = server(&test_host, |_| ());
    let served = Served::start(&server, |config| {
        config.default_instance = "instance".to_owned();
    })
    .await;
    let sleep = call_2026("sleep__run", json!({"seconds": 4}));
    let mut stream = served
        .begin("/mcp", &sleep, &headers_2026("sleep__run", &[]))
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    server.drain();
    assert_eq!(served.get("/healthz").await.status, 200);
    assert_eq!(served.get("/readyz").await.status, 503);
    let upper = call_2026("text__upper", json!({"text": "x"}));
    let refused = served.post(&upper, &headers_2026("text__upper", &[])).await;
    assert_eq!(refused.status, 503, "{refused:?}");
    let answer = Answer::read(&mut stream).await;
    assert_eq!(answer.output()["slept"], 4.0, "{answer:?}");
}

#[tokio::test]
async fn dropping_the_server_ends_its_connections_and_calls() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = served(&test_host, |_| ()).await;
    let mut stream = served
        .begin(
            "/mcp",
            &call_2026("spin__run", json!({})),
            &headers_2026("spin__run", &[]),
        )
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    drop(served);
    let mut rest = Vec::new();
    let read = tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest);
    let ended = tokio::time::timeout(Duration::from_secs(10), read).await;
    assert!(ended.is_ok(), "the connection ends");
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
}

#[tokio::test]
async fn draining_answers_the_calls_that_run_and_then_ends() {
    let test_host = test_host().await;
    let server = server(&test_host, |_| ());
    let mut served = Served::start(&server, |config| {
        config.default_instance = "instance".to_owned();
    })
    .await;
    let free = sandbox().free_call_slots();
    let sleep = call_2026("sleep__run", json!({"seconds": 1}));
    let mut stream = served
        .begin("/mcp", &sleep, &headers_2026("sleep__run", &[]))
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    server.drain();
    let answer = Answer::read(&mut stream).await;
    assert_eq!(answer.output()["slept"], 1.0, "{answer:?}");
    let ended = tokio::time::timeout(Duration::from_secs(20), &mut served.running).await;
    assert!(ended.is_ok(), "the server ends");
    assert!(
        tokio::net::TcpStream::connect(served.address)
            .await
            .is_err()
    );
    assert_eq!(sandbox().free_call_slots(), free);
}
