//! MCP over HTTP: instances, tokens, browsers, sessions, cancellation.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use toolhost::{Host, LiveBundle};
use toolhost_mcp::{
    BearerToken, HttpConfig, HttpError, HttpServer, McpConfig, McpServer, ServedAgent,
};
use toolhost_tests::test_host::TestHost;
use toolhost_tests::{eventually, sandbox};

use super::http_client::{Served, call, initialize};
use super::{server, stateless, test_host};

const FILES: &[(&str, &str, &[&str])] = &[
    ("files", "write_bytes", &["run"]),
    ("list", "list_dir", &["run"]),
];

/// A server whose instances have workspaces beneath a state root.
struct Workspaces {
    server: McpServer,
    root: tempfile::TempDir,
    _test_host: TestHost,
}

impl Workspaces {
    async fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        let host = Host::builder().sandbox(sandbox()).state_root(&state);
        let test_host = TestHost::with_tools_in(host.build().unwrap(), FILES).await;
        let served = ServedAgent::new(LiveBundle::new(test_host.loaded.clone()));
        Self {
            server: McpServer::new(served, McpConfig::default()),
            root,
            _test_host: test_host,
        }
    }

    /// The number of files of this name beneath the state root.
    fn files_named(&self, name: &str) -> usize {
        fn count(dir: &std::path::Path, name: &str) -> usize {
            let entries = std::fs::read_dir(dir).unwrap().flatten();
            entries
                .map(|entry| match entry.file_type().unwrap().is_dir() {
                    true => count(&entry.path(), name),
                    false => usize::from(entry.file_name() == name),
                })
                .sum()
        }
        count(self.root.path(), name)
    }
}

/// The headers of a request of 2026-07-28 that calls a tool.
fn headers_2026<'a>(name: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", name),
    ];
    headers.extend(more);
    headers
}

fn call_2026(name: &str, arguments: serde_json::Value) -> serde_json::Value {
    let mut message = call(name, arguments);
    message["params"] = stateless(message["params"].take(), &json!({}));
    message
}

#[tokio::test]
async fn each_path_has_an_instance_with_a_workdir_of_its_own() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |_| ()).await;
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3}));
    let headers = headers_2026("files__run", &[]);
    let answer = served.post_to("/mcp/alice", &write, &headers).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let list = call_2026("list__run", json!({"path": "/"}));
    let headers = headers_2026("list__run", &[]);
    let of_alice = served.post_to("/mcp/alice", &list, &headers).await;
    assert_eq!(of_alice.output(), json!({"count": 1}), "{of_alice:?}");
    for path in ["/mcp", "/mcp/bob", "/mcp/Alice", "/mcp/"] {
        let other = served.post_to(path, &list, &headers).await;
        assert_eq!(other.output(), json!({"count": 0}), "{path}: {other:?}");
    }
    for path in [
        "/mcp/../alice",
        "/mcp/a/b",
        "/mcp/%61lice",
        "/mcpalice",
        "/",
    ] {
        let other = served.post_to(path, &list, &headers).await;
        assert_eq!(other.status, 404, "{path}: {other:?}");
    }
    assert_eq!(workspaces.files_named("mine"), 1);
}

#[tokio::test]
async fn a_token_stands_for_its_instance_and_nothing_runs_without_one() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |config| {
        config.tokens = vec![
            BearerToken::new("token-of-alice").for_instance("alice"),
            BearerToken::new("token-of-bob").for_instance("bob"),
            BearerToken::new("token-of-the-operator"),
        ];
    })
    .await;
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3}));
    let with = |token: &'static str| headers_2026("files__run", &[("Authorization", token)]);
    let refused = [
        ("/mcp", "", 401),
        ("/mcp", "Bearer", 401),
        ("/mcp", "Bearer ", 401),
        ("/mcp", "Bearer token-of-alic", 401),
        ("/mcp", "Bearer token-of-alicee", 401),
        ("/mcp", "Basic token-of-alice", 401),
        ("/mcp/bob", "Bearer token-of-alice", 403),
    ];
    for (path, token, status) in refused {
        let answer = served.post_to(path, &write, &with(token)).await;
        assert_eq!(answer.status, status, "{path} {token}: {answer:?}");
        let challenge = answer.header("www-authenticate");
        assert_eq!(challenge.is_some(), status == 401, "{answer:?}");
    }
    assert_eq!(workspaces.files_named("mine"), 0, "nothing ran");
    let allowed = [
        ("/mcp", "Bearer token-of-alice"),
        ("/mcp/alice", "bearer token-of-alice"),
        ("/mcp", "Bearer token-of-bob"),
        ("/mcp/carol", "Bearer token-of-the-operator"),
    ];
    for (path, token) in allowed {
        let answer = served.post_to(path, &write, &with(token)).await;
        assert_eq!(answer.status, 200, "{path} {token}: {answer:?}");
    }
    assert_eq!(workspaces.files_named("mine"), 3, "alice, bob, carol");
    assert_eq!(served.get("/healthz").await.status, 200);
}

#[tokio::test]
async fn pages_of_browsers_and_other_hosts_are_refused() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |config| {
        config.allowed_hosts.push("tools.example.com".to_owned());
        config.allowed_origins = vec!["https://app.example.com".to_owned()];
    })
    .await;
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3}));
    let port = served.address.port();
    let rebound = format!("evil.example:{port}");
    let with_user = format!("127.0.0.1:{port}@evil.example");
    let refused = [
        ("Host", "evil.example"),
        ("Host", &*rebound),
        ("Host", &*with_user),
        ("Host", "127.0.0.1.evil.example"),
        ("Origin", "https://evil.example"),
        ("Origin", "https://app.example.com.evil.example"),
        ("Origin", "null"),
        ("Origin", "http://localhost"),
    ];
    for header in refused {
        let headers = headers_2026("files__run", &[header]);
        let answer = served.post_to("/mcp", &write, &headers).await;
        assert_eq!(answer.status, 403, "{header:?}: {answer:?}");
    }
    assert_eq!(workspaces.files_named("mine"), 0, "nothing ran");
    let own = format!("http://{}", served.address);
    let allowed = [
        ("Origin", &*own),
        ("Host", "tools.example.com"),
        ("Host", "LOCALHOST:1"),
        ("Origin", "https://app.example.com"),
    ];
    for header in allowed {
        let headers = headers_2026("files__run", &[header]);
        let answer = served.post_to("/mcp", &write, &headers).await;
        assert_eq!(answer.status, 200, "{header:?}: {answer:?}");
    }
}

#[tokio::test]
async fn other_machines_need_a_token() {
    let test_host = test_host().await;
    let anywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let server = server(&test_host, |_| ());
    let refused = HttpServer::bind(&server, anywhere, HttpConfig::default()).await;
    assert!(matches!(refused, Err(HttpError::Unprotected { .. })));
    let mut config = HttpConfig::default();
    config.tokens.push(BearerToken::generate().unwrap());
    assert!(HttpServer::bind(&server, anywhere, config).await.is_ok());
}

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
    let served = Served::start(&server(&test_host, |_| ()), |config| {
        config.default_instance = "instance".to_owned();
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
async fn a_dropped_response_stops_the_guest() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = Served::start(&server(&test_host, |_| ()), |config| {
        config.default_instance = "instance".to_owned();
    })
    .await;
    let spin = call_2026("spin__run", json!({}));
    let stream = served
        .begin("/mcp", &spin, &headers_2026("spin__run", &[]))
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    drop(stream);
    eventually("the guest stops", || sandbox().free_call_slots() == free).await;
}

#[tokio::test]
async fn a_dropped_response_of_a_session_stops_the_guest() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let served = Served::start(&server(&test_host, |_| ()), |config| {
        config.default_instance = "instance".to_owned();
    })
    .await;
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
    let served = Served::start(&server(&test_host, |_| ()), |config| {
        config.default_instance = "instance".to_owned();
    })
    .await;
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
    tokio::time::sleep(Duration::from_millis(200)).await;
    server.drain();
    let answer = super::http_client::Answer::read(&mut stream).await;
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
