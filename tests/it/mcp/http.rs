//! MCP over HTTP: instances, tokens, browsers, sessions, cancellation.

use std::net::SocketAddr;

use serde_json::json;
use toolhost::{Host, LiveBundle};
use toolhost_mcp::{
    BearerToken, HttpConfig, HttpError, HttpServer, McpConfig, McpServer, ServedAgent,
};
use toolhost_tests::sandbox;
use toolhost_tests::test_host::TestHost;

use super::http_client::{Answer, Served, call, initialize};
use super::{server, stateless, test_host};

const FILES: &[(&str, &str, &[&str])] = &[
    ("files", "write_bytes", &["run"]),
    ("list", "list_dir", &["run"]),
];

/// A server whose instances have workspaces beneath a state root.
pub(super) struct Workspaces {
    pub(super) server: McpServer,
    root: tempfile::TempDir,
    test_host: TestHost,
}

impl Workspaces {
    pub(super) async fn new() -> Self {
        Self::with(|served| served).await
    }

    async fn with(change: impl FnOnce(ServedAgent) -> ServedAgent) -> Self {
        let root = tempfile::tempdir().unwrap();
        let state = root.path().join("state");
        let host = Host::builder().sandbox(sandbox()).state_root(&state);
        let test_host = TestHost::with_tools_in(host.build().unwrap(), FILES).await;
        let served = ServedAgent::new(LiveBundle::new(test_host.loaded.clone()));
        Self {
            server: McpServer::new(change(served), McpConfig::default()),
            root,
            test_host,
        }
    }

    /// The number of instances that have a directory, beside the test host's own.
    pub(super) fn instances(&self) -> usize {
        self.test_host.loaded.instance_count().unwrap() - 1
    }

    /// The number of files of this name beneath the state root.
    pub(super) fn files_named(&self, name: &str) -> usize {
        fn count(dir: &std::path::Path, name: &str) -> usize {
            let entries = std::fs::read_dir(dir).unwrap().flatten();
            entries
                .map(|entry| {
                    if entry.file_type().unwrap().is_dir() {
                        count(&entry.path(), name)
                    } else {
                        usize::from(entry.file_name() == name)
                    }
                })
                .sum()
        }
        count(self.root.path(), name)
    }
}

/// The headers of a request of 2026-07-28 that calls a tool.
pub(super) fn headers_2026<'a>(
    name: &'a str,
    more: &[(&'a str, &'a str)],
) -> Vec<(&'a str, &'a str)> {
    let mut headers = vec![
        ("MCP-Protocol-Version", "2026-07-28"),
        ("Mcp-Method", "tools/call"),
        ("Mcp-Name", name),
    ];
    headers.extend(more);
    headers
}

pub(super) fn call_2026(name: &str, arguments: serde_json::Value) -> serde_json::Value {
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
        let readable_by = answer.header("access-control-allow-origin");
        let origin = (header.0 == "Origin").then(|| header.1.to_owned());
        assert_eq!(readable_by, origin, "{answer:?}");
    }
}

#[tokio::test]
async fn a_target_that_names_another_host_than_the_server_is_refused() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |_| ()).await;
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3})).to_string();
    let request = |method: &str, target: &str, hosts: &[&str]| {
        let hosts: String = hosts
            .iter()
            .map(|host| format!("Host: {host}\r\n"))
            .collect();
        format!(
            "{method} {target} HTTP/1.1\r\n{hosts}Content-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: files__run\r\nConnection: close\r\n\
             Content-Length: {}\r\n\r\n{write}",
            write.len()
        )
    };
    let own = served.address.to_string();
    let port = served.address.port();
    let of_own = format!("http://{own}/mcp");
    let with_user = format!("http://evil.com@{own}/mcp");
    let other_port = format!("http://127.0.0.1:{}/mcp", port ^ 1);
    for (method, target, hosts, status) in [
        ("POST", "http://evil.com/mcp", &[&*own][..], 400),
        ("POST", &of_own, &["evil.com"], 400),
        ("POST", "http://evil.com/mcp", &["evil.com"], 403),
        ("POST", &of_own, &["evil.com", &own], 400),
        ("POST", &with_user, &[&own], 400),
        ("POST", &other_port, &[&own], 400),
        ("POST", "https://evil.com/mcp", &[&own], 400),
        ("POST", "//evil.com/mcp", &[&own], 404),
        ("POST", &of_own, &[], 400),
        ("POST", "/mcp", &[&own, &own], 403),
        ("POST", "/mcp", &["evil.com", &own], 403),
        ("POST", "/mcp", &["evil.com@127.0.0.1"], 403),
        ("POST", "/mcp", &[], 403),
        ("CONNECT", "evil.com:443", &[&own], 400),
        ("CONNECT", &own, &[&own], 404),
        ("OPTIONS", "*", &[&own], 404),
    ] {
        let text = request(method, target, hosts);
        let answer = Answer::read(&mut served.send(&text).await).await;
        assert_eq!(
            answer.status, status,
            "{method} {target} {hosts:?}: {answer:?}"
        );
    }
    assert_eq!(workspaces.files_named("mine"), 0, "nothing ran");
    for target in [&*of_own, "/mcp"] {
        let text = request("POST", target, &[&own]);
        let answer = Answer::read(&mut served.send(&text).await).await;
        assert_eq!(answer.status, 200, "{target}: {answer:?}");
    }
    assert_eq!(workspaces.files_named("mine"), 1);
}

#[tokio::test]
async fn preflight_requests_are_answered_for_allowed_pages_only_and_run_nothing() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |config| {
        config.tokens = vec![BearerToken::new("a-token")];
        config.allowed_origins = vec!["https://app.example.com".to_owned()];
    })
    .await;
    let preflight = async |origin: &str| {
        let request = format!(
            "OPTIONS /mcp HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\nConnection: close\r\n\
             Access-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,mcp-param-region, x-other\r\n\r\n",
            served.address
        );
        Answer::read(&mut served.send(&request).await).await
    };
    let answer = preflight("https://app.example.com").await;
    assert_eq!(answer.status, 204, "{answer:?}");
    let allowed = |name: &str| answer.header(name).unwrap();
    assert_eq!(
        allowed("access-control-allow-origin"),
        "https://app.example.com"
    );
    assert!(allowed("access-control-allow-headers").contains("Authorization"));
    assert!(allowed("access-control-allow-methods").contains("POST"));
    assert!(allowed("access-control-allow-headers").contains("mcp-param-region"));
    assert!(!allowed("access-control-allow-headers").contains("x-other"));
    let refused = preflight("https://evil.example").await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(refused.header("access-control-allow-origin"), None);
    // A page reads why its request is refused.
    let headers = [("Origin", "https://app.example.com")];
    let unauthorized = served.post(&initialize(), &headers).await;
    assert_eq!(unauthorized.status, 401);
    assert!(unauthorized.header("access-control-allow-origin").is_some());
}

#[tokio::test]
async fn clients_that_name_instances_cannot_make_directories_without_end() {
    let workspaces = Workspaces::with(|served| served.max_instances(3)).await;
    let served = Served::start(&workspaces.server, |_| ()).await;
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3}));
    let headers = headers_2026("files__run", &[]);
    for path in ["/mcp/one", "/mcp/two", "/mcp/one"] {
        let answer = served.post_to(path, &write, &headers).await;
        assert!(answer.message()["result"].is_object(), "{path}: {answer:?}");
    }
    let refused = served.post_to("/mcp/three", &write, &headers).await;
    let message = refused.message()["error"]["message"].clone();
    assert!(
        message.as_str().unwrap().contains("3 instances"),
        "{refused:?}"
    );
    assert_eq!(workspaces.files_named("mine"), 2);
    assert_eq!(workspaces.instances(), 2, "no directory is left");
    // Lists need no workspace.
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    for key in 0..20 {
        let mut list = list.clone();
        list["params"] = stateless(json!({}), &json!({}));
        let headers = [
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/list"),
        ];
        let answer = served
            .post_to(&format!("/mcp/list-{key}"), &list, &headers)
            .await;
        assert!(answer.message()["result"]["tools"].is_array(), "{answer:?}");
    }
    assert_eq!(workspaces.instances(), 2);
}

#[tokio::test]
async fn a_client_learns_no_path_of_the_host() {
    let workspaces = Workspaces::new().await;
    let directories = workspaces.root.path().join("state/workspaces");
    std::fs::remove_dir_all(&directories).unwrap();
    // No directory can be made in it.
    std::fs::write(directories, "a file").unwrap();
    let served = Served::start(&workspaces.server, |_| ()).await;
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3}));
    let answer = served.post(&write, &headers_2026("files__run", &[])).await;
    assert!(answer.message()["error"].is_object(), "{answer:?}");
    let root = workspaces.root.path().to_str().unwrap();
    assert!(!answer.body.contains(root), "{answer:?}");
}

#[tokio::test]
async fn a_removed_workspace_is_made_again() {
    let workspaces = Workspaces::new().await;
    let served = Served::start(&workspaces.server, |_| ()).await;
    let write = call_2026("files__run", json!({"path": "/mine", "bytes": 3}));
    let headers = headers_2026("files__run", &[]);
    served.post(&write, &headers).await;
    assert_eq!(workspaces.files_named("mine"), 1);
    let state = workspaces.root.path().join("state/workspaces");
    std::fs::remove_dir_all(&state).unwrap();
    let answer = served.post(&write, &headers).await;
    assert!(answer.message()["result"]["isError"] == false, "{answer:?}");
    assert_eq!(workspaces.files_named("mine"), 1);
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
