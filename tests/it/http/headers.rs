//! Request headers: those that a guest can set, and those that only the host sets.

use serde_json::json;
use toolhost_tests::test_host::code;

use super::server::{Server, ok};
use super::{answer, error, fetch, fetch_within};

#[tokio::test]
async fn a_guest_cannot_set_connection_headers() {
    let server = Server::says(&ok("fine"));
    let http = json!({"allow": [server.origin()]});
    for name in [
        "Host",
        "connection",
        "Keep-Alive",
        "transfer-encoding",
        "upgrade",
        "te",
        "trailer",
        "proxy-authorization",
        "Proxy-Connection",
        "proxy-anything",
        "http2-settings",
        "x-http-method-override",
        "X-Original-URL",
        "x_http_method_override",
        "X_Original-URL",
    ] {
        let input = json!({"url": server.origin(), "headers": {name: "x"}});
        let result = fetch(&http, input).await;
        assert_eq!(
            error(&result),
            format!("header {name}: HeaderError::Forbidden")
        );
    }
    for (name, value) in [
        ("x\r\ny", "z"),
        ("x", "y\r\nHost: evil.example"),
        ("content-length", "+5"),
    ] {
        let input = json!({"url": server.origin(), "headers": {name: value}});
        let result = fetch(&http, input).await;
        assert!(
            error(&result).ends_with("HeaderError::InvalidSyntax"),
            "{result:?}"
        );
    }
    assert_eq!(server.accepted(), 0);
    let input = json!({"url": server.origin(), "headers": {"x-mine": "x", "accept": "*/*"}});
    let result = fetch(&http, input).await;
    assert_eq!(answer(&result)["body"], "fine");
    let request = server.requests().remove(0);
    assert!(
        request.contains("x-mine: x\r\n") && request.contains("connection: close\r\n"),
        "{request}"
    );
}

#[tokio::test]
async fn denials_truncate_long_methods_and_hosts() {
    let grant = json!({"allow": ["http://127.0.0.1:9"]});
    for (url, method, refused) in [
        ("http://127.0.0.1:9", "M".repeat(33), "method"),
        (
            &*format!("http://{}", "a".repeat(301)),
            "GET".to_owned(),
            "authority",
        ),
        (
            "http://127.0.0.1:9",
            "M".repeat(32),
            "ErrorCode::ConnectionRefused",
        ),
    ] {
        let result = fetch(&grant, json!({"url": url, "method": method})).await;
        assert_eq!(error(&result), refused);
    }
}

#[tokio::test]
async fn headers_beyond_the_limit_of_bytes_end_the_call() {
    let server = Server::says(&ok("fine"));
    let http = json!({"allow": [server.origin()]});
    let large = "x".repeat(10_000);
    let input = json!({"url": server.origin(), "headers": {"x": large}});
    let limits = json!({"httpHeaderBytes": "8KiB"});
    let result = fetch_within(&http, &limits, input.clone()).await;
    assert_eq!(code(&result), "E_TOOL_TRAP", "{result:?}");
    assert_eq!(server.accepted(), 0);
    let result = fetch(&http, input).await;
    assert_eq!(answer(&result)["body"], "fine");
}
