//! Limits of requests and responses, against guests and servers that exceed them.

use std::io::Write;
use std::net::TcpStream;

use serde_json::{Value, json};
use toolhost_tests::eventually;
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::test_host::{TestHost, code};

use super::server::Server;
use super::{WEB, answer, answers, error, fetch, fetch_within, policy};
use crate::leaks::alone;

/// Writes the same bytes until the other side closes the connection.
fn write_endlessly(stream: &mut TcpStream, piece: &[u8]) {
    while stream.write_all(piece).is_ok() {}
}

#[tokio::test]
async fn unsent_requests_count_towards_the_memory_of_the_call() {
    let limits = json!({"memoryBytes": "24MiB"});
    let input = |hold| {
        let long = "x".repeat(60_000);
        json!({"url": "http://other.example/", "headers": {"x-long": long}, "times": 0, "hold": hold})
    };
    // Every tool can create requests, with or without a grant.
    let held = fetch_within(&json!({}), &limits, input(40)).await;
    assert_eq!(answers(&held).len(), 0);
    assert!(held.usage().memory_peak >= 40 * 60_000, "{held:?}");
    let result = fetch_within(&json!({}), &limits, input(300)).await;
    assert_eq!(code(&result), "E_TOOL_OUT_OF_MEMORY");
    assert!(result.usage().memory_peak <= 24 << 20, "{result:?}");
}

#[tokio::test]
async fn a_tool_cannot_create_an_http_response() {
    let input = json!({"url": "http://other.example/", "times": 0, "respond": true});
    let result = fetch(&json!({}), input).await;
    assert_eq!(code(&result), "E_TOOL_TRAP");
    let error = result.tool_error().unwrap();
    assert!(
        error.message.contains("cannot make a response"),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_tool_that_repeats_denied_requests_is_stopped() {
    let ask = async |times| {
        let input = json!({"url": "http://other.example/x", "times": times});
        fetch_within(
            &json!({}),
            &json!({"httpRequests": 1, "handles": 10_000}),
            input,
        )
        .await
    };
    let result = ask(900).await;
    assert_eq!(answers(&result).len(), 900, "{result:?}");
    let result = ask(1_500).await;
    assert_eq!(code(&result), "E_TOOL_DENIED");
    let error = result.tool_error().unwrap();
    assert!(
        error
            .message
            .contains("repeats HTTP requests that are refused"),
        "{result:?}"
    );
}

#[tokio::test]
async fn a_request_body_beyond_the_limit_is_aborted() {
    let server = Server::echo();
    let http = json!({"allow": [server.origin()]});
    let input = json!({"url": server.origin(), "method": "POST", "bodyBytes": 100_000});
    let result = fetch_within(&http, &json!({"httpRequestBytes": "16KiB"}), input.clone()).await;
    assert!(
        error(&result).starts_with("ErrorCode::HttpRequestBodySize"),
        "{result:?}"
    );
    eventually("the connection is closed", || server.open() == 0).await;
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.len() < 40_000)
    );
    let result = fetch(&http, input).await;
    assert_eq!(result.usage().http_sent, 100_000);
}

/// Ten gigabytes, with and without a content length, plain and marked as compressed.
#[test]
fn a_response_body_of_ten_gigabytes_does_not_grow_the_host() {
    alone(async {
        let piece = vec![b'x'; 64 << 10];
        let head = |more: &str| format!("HTTP/1.1 200 OK\r\n{more}\r\n\r\n");
        for (more, limit) in [
            ("content-length: 10737418240", "8MiB"),
            ("connection: close", "8MiB"),
            ("content-encoding: gzip", "8MiB"),
        ] {
            let (head, piece) = (head(more), piece.clone());
            let server = Server::does(move |_, stream| {
                let _sent = stream.write_all(head.as_bytes());
                write_endlessly(stream, &piece);
            });
            let http = json!({"allow": [server.origin()]});
            let limits = json!({"httpResponseBytes": limit});
            let test_host = TestHost::with_tools(WEB, &policy(&http, &limits)).await;
            // Resets the peak memory of this process.
            std::fs::write("/proc/self/clear_refs", "5").unwrap();
            let before = ProcessUsage::now().rss;
            let result = test_host
                .call("web__run", json!({"url": server.origin()}))
                .await;
            assert!(
                error(&result).starts_with("HTTP response body size exceeds limit"),
                "{result:?}"
            );
            assert!(answer(&result)["bytes"].as_u64().unwrap() <= 8 << 20);
            let grown = ProcessUsage::now().peak.saturating_sub(before);
            assert!(grown < 64 << 20, "{more}: {grown}");
            eventually("the connection is closed", || server.open() == 0).await;
            // A guest that reads only the start of the body closes the connection too.
            let input = json!({"url": server.origin(), "read": 1000});
            let result = test_host.call("web__run", input).await;
            assert_eq!(answer(&result)["failed"], Value::Null, "{result:?}");
            eventually("the connection is closed", || server.open() == 0).await;
        }
    });
}

#[tokio::test]
async fn an_invalid_root_certificate_is_an_error_when_the_sandbox_starts() {
    let mut config = toolhost::SandboxConfig::default();
    config.http.roots = vec![b"-----BEGIN".to_vec()];
    let error = toolhost::Sandbox::new(config).err().unwrap();
    assert!(
        error
            .to_string()
            .starts_with("a root certificate cannot be used"),
        "{error}"
    );
}
