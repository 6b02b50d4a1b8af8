//! The rules that allow requests.

use std::sync::Arc;

use serde_json::json;
use toolhost::Policy;
use toolhost::http::{HttpConfig, HttpResolveFuture, HttpResolver};
use toolhost::tool::Denial;
use toolhost_tests::test_host::TestHost;

use super::server::{Server, ok};
use super::{WEB, Web, answer, answers, error, fetch};

#[tokio::test]
async fn a_request_that_a_rule_allows_is_answered() {
    let server = Server::echo();
    let allow = json!({"allow": [format!("POST {}/v1/*", server.origin())]});
    let input = json!({
        "url": format!("{}/v1/items?q=1", server.origin()),
        "method": "POST",
        "headers": {"x-one": ["1", "2"], "content-type": "text/plain"},
        "body": "hello",
    });
    let result = fetch(&allow, input).await;
    let answer = answer(&result);
    assert_eq!(answer["status"], 200, "{result:?}");
    let echoed = answer["body"].as_str().unwrap();
    assert!(
        echoed.starts_with("POST /v1/items?q=1 HTTP/1.1\r\n"),
        "{echoed}"
    );
    assert!(echoed.contains("x-one: 1\r\nx-one: 2\r\n"), "{echoed}");
    assert!(
        echoed.contains(&format!("host: {}\r\n", server.address)),
        "{echoed}"
    );
    assert!(echoed.contains("hello"), "{echoed}");
    let usage = result.usage();
    assert_eq!((usage.http_requests, usage.http_sent), (1, 5));
    assert_eq!(usage.http_received, echoed.len() as u64);
    assert!(usage.denials.is_empty(), "{usage:?}");
}

#[tokio::test]
async fn the_denial_names_the_policy_line_that_allows_exactly_the_request() {
    let server = Server::says(&ok("hello"));
    let address = ([127, 0, 0, 1], server.port()).into();
    let url = "http://api.example.com/x";
    let web = Web::answered_by(&json!({}), address).await;
    let refused = web.fetch(json!({"url": url, "then": "panic"})).await;
    assert_eq!(server.accepted(), 0);
    let denied = refused.tool_error().unwrap();
    assert_eq!(denied.code.to_string(), "E_TOOL_DENIED", "{denied:?}");
    let line = format!("tools: {{web: {{http: {{allow: [\"GET {url}\"]}}}}}}");
    let suggestion = denied.suggestion.as_deref().unwrap();
    assert!(
        suggestion.ends_with(&format!(
            "http: GET {url} (the policy may grant it with `{line}`)."
        )),
        "{suggestion}"
    );
    let web = Web::answered_by(&json!({"allow": [format!("GET {url}")]}), address).await;
    let result = web.fetch(json!({"url": url})).await;
    assert_eq!(answer(&result)["body"], "hello");
    for other in ["http://api.example.com/xy", "http://api.example.com:81/x"] {
        let result = web.fetch(json!({"url": other})).await;
        assert_eq!(error(&result), "ErrorCode::HttpRequestDenied", "{other}");
    }
}

#[tokio::test]
async fn no_rule_is_suggested_for_an_address_that_is_not_public() {
    let server = Server::says(&ok("inside"));
    let test_host = TestHost::with_tools(WEB, "").await;
    for url in [
        format!("{}/x", server.origin()),
        format!("http://localhost:{}/x", server.port()),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "http://metadata.google.internal/computeMetadata/v1".to_owned(),
    ] {
        let refused = test_host
            .call("web__run", json!({"url": url, "then": "panic"}))
            .await;
        let suggestion = refused.tool_error().unwrap().suggestion.clone().unwrap();
        let reason = "no rule is suggested for an address that is not public; an operator may write one, \
                      such as `GET http://127.0.0.1/*`";
        assert!(
            suggestion.ends_with(&format!("http: GET {url} ({reason}).")),
            "{suggestion}"
        );
        assert!(!suggestion.contains("allow:"), "{suggestion}");
    }
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn every_redirect_is_checked_against_the_rules() {
    let elsewhere = Server::says(&ok("elsewhere"));
    let to = format!("http://localhost:{}/secret", elsewhere.port());
    let moved = format!("HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::says(&moved);
    let input = json!({"url": server.origin(), "follow": 3});
    let result = fetch(&json!({"allow": [server.origin()]}), input.clone()).await;
    assert_eq!(answer(&result)["url"], to.as_str());
    assert_eq!(error(&result), "ErrorCode::HttpRequestDenied");
    assert_eq!((server.accepted(), elsewhere.accepted()), (1, 0));
    let denied = format!("GET {to}");
    assert_eq!(result.usage().denials, [Denial::HttpRequest(denied)]);

    let result = fetch(&json!({"allow": [server.origin(), to]}), input).await;
    assert_eq!(answers(&result)[0]["body"], "elsewhere");
    assert_eq!((server.accepted(), elsewhere.accepted()), (2, 1));
}

#[tokio::test]
async fn components_of_every_wasi_release_can_send_requests() {
    let server = Server::says(&ok("hello"));
    for version in ["0.2.0", "0.2.6", "0.2.9", "0.2.12"] {
        let guest = format!("fetch@{version}");
        let policy = json!({"tools": {"web": {"http": {"allow": [server.origin()]}}}});
        let tools = [("web", guest.as_str(), &["run"] as &[&str])];
        let test_host = TestHost::with_tools(&tools, &policy.to_string()).await;
        let result = test_host
            .call("web__run", json!({"url": server.origin()}))
            .await;
        assert_eq!(answer(&result)["body"], "hello", "{version}");
    }
}

#[tokio::test]
async fn the_http_rules_of_an_agent_replace_those_of_the_tool() {
    let server = Server::says(&ok("hello"));
    let agent = |name: &str| {
        json!({
            "apiVersion": "goondan.ai/v1", "kind": "Agent", "metadata": {"name": name},
            "spec": {"tools": ["Tool/web"]},
        })
    };
    let tool = toolhost_tests::test_host::yaml(super::WEB);
    let manifest = format!("{tool}\n---\n{}\n---\n{}", agent("free"), agent("kept"));
    let policy = json!({
        "tools": {"web": {"http": {"allow": [server.origin()]}}},
        "agents": {"kept": {"tools": {"web": {"http": {"allow": []}}}}},
    });
    for (name, comes) in [("kept", 0), ("free", 1)] {
        let test_host =
            TestHost::load(&manifest, &["fetch"], &policy.to_string(), Some(name)).await;
        let result = test_host
            .call("web__run", json!({"url": server.origin()}))
            .await;
        assert_eq!(result.usage().denials.len(), 1 - comes, "{result:?}");
        assert_eq!(server.accepted(), comes, "{name}");
    }
}

#[tokio::test]
async fn an_embedder_can_answer_every_allowed_request() {
    let server = Server::echo();
    let http = json!({
        "allow": ["https://api.example.com/v1/*"],
        "credentials": [{
            "origin": "https://api.example.com", "header": "authorization",
            "prefix": "Bearer ", "value": {"secret": "sk-12345"},
        }],
    });
    let web = Web::answered_by(&http, server.address).await;
    let result = web
        .fetch(json!({"url": "https://api.example.com/v1/x"}))
        .await;
    assert_eq!(answer(&result)["status"], 200, "{result:?}");
    let request = server.requests().remove(0);
    assert!(request.starts_with("GET /v1/x HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("host: api.example.com\r\n"), "{request}");
    assert!(
        request.contains("authorization: Bearer sk-12345\r\n"),
        "{request}"
    );
    // A request that is not allowed does not reach the embedder's server.
    for url in ["https://api.example.com/v2", "https://other.example/v1/x"] {
        let result = web.fetch(json!({"url": url})).await;
        assert_eq!(error(&result), "ErrorCode::HttpRequestDenied");
    }
    assert_eq!(server.accepted(), 1);
    // A policy cannot set the server.
    assert!(Policy::parse("tools: {t: {http: {answeredBy: 'x'}}}", "p.yaml").is_err());
}

/// Resolves all names to a private address.
#[derive(Debug)]
struct Private;

impl HttpResolver for Private {
    fn resolve<'a>(&'a self, _: &'a str) -> HttpResolveFuture<'a> {
        Box::pin(async { Ok(vec![[10, 0, 0, 1].into()]) })
    }
}

#[tokio::test]
async fn the_denial_of_a_private_address_names_it() {
    let mut config = HttpConfig::default();
    config.resolver = Arc::new(Private);
    let url = "http://api.example.com/";
    let web = Web::of(&json!({"allow": [url]}), config).await;
    let result = web.fetch(json!({"url": url})).await;
    assert_eq!(error(&result), "ErrorCode::DestinationIpProhibited");
    let denied = Denial::HttpNetwork {
        host: "api.example.com".to_owned(),
        network: "10.0.0.0/8".to_owned(),
    };
    assert_eq!(result.usage().denials, [denied]);
}
