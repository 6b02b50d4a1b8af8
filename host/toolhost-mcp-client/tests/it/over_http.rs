//! Servers over HTTP, through the egress rules of guests.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use serde_json::json;
use toolhost::{
    Sandbox, SandboxConfig,
    http::{AddressBlock, HttpCredential, HttpGrant, HttpResolveFuture, HttpResolver},
};
use toolhost_mcp_client::{HttpServer, McpServer, McpStatus, McpTransport};

use crate::support::{Place, config, python, until};

struct Endpoint {
    process: Child,
    port: u16,
}

impl Drop for Endpoint {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Endpoint {
    fn start(place: &Place, mode: &str) -> Self {
        let mut process = Command::new(python())
            .arg(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/tests/servers/over_http.py"
            ))
            .args([mode.as_ref(), place.record().as_os_str()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let port = line.trim().parse().unwrap();
        Self { process, port }
    }

    async fn connect_to(&self, place: &Place, host: &str, grant: HttpGrant) -> McpServer {
        let url = format!("http://{host}:{}/mcp", self.port);
        let server = HttpServer::new(place.host.sandbox(), &url, grant).unwrap();
        let mut config = config("srv", McpTransport::Http(server));
        config.limits.backoff_min = std::time::Duration::from_secs(5);
        McpServer::start(config, [place.agent()]).await.unwrap()
    }

    async fn connect(&self, place: &Place) -> McpServer {
        self.connect_to(place, "127.0.0.1", HttpGrant::default())
            .await
    }
}

#[tokio::test]
async fn a_server_over_http_is_initialized_listed_and_called() {
    for mode in ["json", "events"] {
        let place = Place::new().await;
        let endpoint = Endpoint::start(&place, mode);
        let server = endpoint.connect(&place).await;
        assert_eq!(server.status(), McpStatus::Ready { tools: 3 }, "{mode}");
        place.echoes().await;
        place.echoes().await;
        server.close().await;
        // The session is ended.
        assert!(
            place.recorded().ends_with("DELETE /mcp\n"),
            "{}",
            place.recorded()
        );
    }
}

#[tokio::test]
async fn an_expired_session_is_initialized_again_once() {
    let place = Place::new().await;
    let endpoint = Endpoint::start(&place, "expires");
    let _server = endpoint.connect(&place).await;
    place.echoes().await;
    assert_eq!(place.recorded().matches(" initialize\n").count(), 2);

    let place = Place::new().await;
    let endpoint = Endpoint::start(&place, "always-expired");
    let _server = endpoint.connect(&place).await;
    let (code, message) = place.error("srv__echo", json!({"text": "x"})).await;
    assert_eq!(code, "MCP_UNAVAILABLE", "{message}");
    assert!(message.contains("its session has expired"), "{message}");
    assert_eq!(place.recorded().matches(" initialize\n").count(), 2);
}

#[tokio::test]
async fn the_credentials_are_added_by_the_host_and_replaced_in_answers() {
    let place = Place::new().await;
    let endpoint = Endpoint::start(&place, "json");
    let origin = format!("http://127.0.0.1:{}", endpoint.port);
    let credential = HttpCredential::new(&origin, "authorization", "Bearer ", "sk-12345");
    let grant = HttpGrant {
        credentials: vec![credential.unwrap()],
        ..HttpGrant::default()
    };
    let _server = endpoint.connect_to(&place, "127.0.0.1", grant).await;
    let found = place.output("srv__headers", json!({})).await;
    assert_eq!(found, json!("Bearer ********"));
}

#[tokio::test]
async fn every_response_ends_its_call_at_once_with_words_about_it() {
    let refused = "The MCP server 'srv' refused the call: it answered with HTTP 403 Forbidden: no seat left for you.";
    let overloaded = "it answered with HTTP 503 Service Unavailable: <h1>Come back\\u{1b}[2J later</h1>; the call may have taken effect";
    for (mode, expected) in [
        ("mark", Ok("hello")),
        ("no-type", Ok("hello")),
        ("batch", Ok("hello")),
        ("half-emoji", Ok("cut \u{fffd}")),
        ("event-mark", Ok("hello")),
        ("event-batch", Ok("hello")),
        ("event-half-emoji", Ok("cut \u{fffd}")),
        (
            "nan",
            Err((
                "MCP_INVALID_ANSWER",
                "the number NaN at /structuredContent/n",
            )),
        ),
        (
            "event-nan",
            Err((
                "MCP_INVALID_ANSWER",
                "the number NaN at /structuredContent/n",
            )),
        ),
        (
            "no-json",
            Err((
                "MCP_INVALID_ANSWER",
                "the body is not a valid answer to the request",
            )),
        ),
        (
            "other-id",
            Err((
                "MCP_INVALID_ANSWER",
                "the body is not a valid answer to the request",
            )),
        ),
        (
            "gzip",
            Err((
                "MCP_INVALID_ANSWER",
                "its body is compressed with 'gzip', which was not requested",
            )),
        ),
        ("forbidden", Err(("MCP_REFUSED", refused))),
        ("overloaded", Err(("MCP_UNAVAILABLE", overloaded))),
        (
            "large-body",
            Err(("MCP_UNAVAILABLE", "its answer has more than 16777216 bytes")),
        ),
        (
            "wrong-type",
            Err((
                "MCP_UNAVAILABLE",
                "it answered with the content type 'text/html'",
            )),
        ),
    ] {
        let place = Place::new().await;
        let endpoint = Endpoint::start(&place, mode);
        let _server = endpoint.connect(&place).await;
        let call = place.call("srv__echo", json!({"text": "hello"}));
        let result = tokio::time::timeout(std::time::Duration::from_secs(20), call).await;
        let result = result.unwrap_or_else(|_| panic!("{mode}: no answer"));
        match (result.tool_error(), expected) {
            (None, Ok(expected)) => assert_eq!(result.output(), Some(&json!(expected)), "{mode}"),
            (Some(error), Err((code, message))) => {
                assert_eq!(error.code.to_string(), code, "{mode}: {}", error.message);
                assert!(error.message.contains(message), "{mode}: {}", error.message);
                assert!(!error.message.contains("::"), "a type: {}", error.message);
            }
            (error, expected) => panic!("{mode}: {error:?}, not {expected:?}"),
        }
    }
}

#[tokio::test]
async fn an_event_that_is_too_large_ends_the_connection() {
    for mode in ["large-event", "endless-event"] {
        let place = Place::new().await;
        let endpoint = Endpoint::start(&place, mode);
        let _server = endpoint.connect(&place).await;
        let started = std::time::Instant::now();
        let (code, message) = place.error("srv__echo", json!({"text": "x"})).await;
        assert!(
            started.elapsed() < std::time::Duration::from_secs(10),
            "{mode}"
        );
        assert_eq!(code, "MCP_UNAVAILABLE", "{mode}: {message}");
        assert!(
            message.contains("it sent an event of more than 16777216 bytes"),
            "{mode}: {message}"
        );
    }
}

#[tokio::test]
async fn redirects_are_not_followed_and_refusals_are_reported() {
    for (mode, expected) in [("redirect", "307"), ("unauthorized", "401")] {
        let place = Place::new().await;
        let endpoint = Endpoint::start(&place, mode);
        let server = endpoint.connect(&place).await;
        let (McpStatus::Unavailable { reason } | McpStatus::Unauthorized { reason }) =
            server.status()
        else {
            panic!("{mode}: {server:?}");
        };
        assert!(reason.contains(expected), "{mode}: {reason}");
        assert!(
            !place.recorded().contains("elsewhere"),
            "{}",
            place.recorded()
        );
    }
}

/// Resolves every name to this machine.
#[derive(Debug)]
struct Here;

impl HttpResolver for Here {
    fn resolve<'a>(&'a self, _host: &'a str) -> HttpResolveFuture<'a> {
        Box::pin(async { Ok(vec![std::net::Ipv4Addr::LOCALHOST.into()]) })
    }
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_is_not_connected_to() {
    let place = Place::new().await;
    let endpoint = Endpoint::start(&place, "json");
    let mut settings = SandboxConfig::default();
    settings.http.resolver = Arc::new(Here);
    let sandbox = Sandbox::new(settings).unwrap();
    let url = format!("http://mcp.example.com:{}/mcp", endpoint.port);
    let connect = async |grant: HttpGrant| {
        let server = HttpServer::new(&sandbox, &url, grant).unwrap();
        let config = config("srv", McpTransport::Http(server));
        McpServer::start(config, [place.agent()]).await.unwrap()
    };
    let server = connect(HttpGrant::default()).await;
    let McpStatus::Unavailable { reason } = server.status() else {
        panic!("{server:?}");
    };
    assert!(
        reason.contains("denied: http: connect mcp.example.com in 127.0.0.0/8"),
        "{reason}"
    );
    assert_eq!(place.recorded(), "");
    drop(server);
    let server = connect(HttpGrant {
        private_networks: vec![AddressBlock::parse("127.0.0.0/8").unwrap()],
        ..HttpGrant::default()
    });
    assert_eq!(server.await.status(), McpStatus::Ready { tools: 3 });
}

#[tokio::test]
async fn a_call_that_is_dropped_closes_its_connection() {
    let place = Place::new().await;
    let endpoint = Endpoint::start(&place, "json");
    let _server = endpoint.connect(&place).await;
    let call = place.call("srv__slow", json!({}));
    let limit = std::time::Duration::from_millis(300);
    assert!(tokio::time::timeout(limit, call).await.is_err());
    until("the server is notified", async || {
        place.recorded().contains("notifications/cancelled")
    })
    .await;
    place.echoes().await;
}

#[test]
fn a_url_that_no_rule_can_allow_is_refused() {
    let sandbox = Sandbox::new(SandboxConfig::default()).unwrap();
    for url in [
        "ftp://a.example/",
        "https://a.example/*",
        "https://a.example/x?y",
        "https://a.example/x#y",
        "a.example",
        "",
    ] {
        let server = HttpServer::new(&sandbox, url, HttpGrant::default());
        assert!(server.is_err(), "{url}");
    }
}
