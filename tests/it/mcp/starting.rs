//! A server over HTTP that listens before its bundle is loaded.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use tokio::sync::Notify;
use tokio::time::timeout;
use toolhost_mcp::{HttpConfig, HttpServer, StartingServer};

use super::http::{call_2026, headers_2026};
use super::http_client::{Served, initialize};
use super::{server, test_host};

#[tokio::test]
async fn a_server_that_starts_is_alive_and_not_ready_and_then_serves_at_the_same_address() {
    let mut config = HttpConfig::default();
    config.default_instance = "instance".to_owned();
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let mut starting = StartingServer::listen(loopback, config).await.unwrap();
    let address = starting.address();
    let loaded = Arc::new(Notify::new());
    let is_loaded = Arc::clone(&loaded);
    let running = tokio::spawn(async move {
        let loading = async {
            is_loaded.notified().await;
            test_host().await
        };
        let progress = || "3 components of the bundle can be called".to_owned();
        let test_host = starting.answer_during(loading, progress).await;
        let server = server(&test_host, |_| ());
        HttpServer::start(starting, &server).unwrap().run().await;
    });
    let served = Served { address, running };
    let upper = call_2026("text__upper", json!({"text": "hi"}));
    let headers = headers_2026("text__upper", &[]);
    assert_eq!(served.get("/healthz").await.status, 200);
    let readiness = served.get("/readyz").await;
    assert_eq!(readiness.status, 503);
    assert_eq!(
        readiness.body,
        "starting: 3 components of the bundle can be called\n"
    );
    for answer in [
        readiness,
        served.post(&upper, &headers).await,
        served.post(&initialize(), &[]).await,
        served.get("/metrics").await,
    ] {
        assert_eq!(answer.status, 503, "{answer:?}");
        assert_eq!(answer.header("retry-after").as_deref(), Some("1"));
        assert!(answer.header("content-type").is_some(), "{answer:?}");
    }
    let refused = served.post(&upper, &headers).await.message();
    assert_eq!(refused["error"]["message"], "the server is starting");
    loaded.notify_one();
    let ready = async { while served.get("/readyz").await.status != 200 {} };
    timeout(Duration::from_secs(10), ready).await.unwrap();
    let answer = served.post(&upper, &headers).await;
    assert_eq!(answer.output(), json!({"text": "HI"}), "{answer:?}");
}
