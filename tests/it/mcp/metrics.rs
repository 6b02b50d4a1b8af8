//! What `/metrics` counts.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use toolhost::LiveBundle;
use toolhost_mcp::{McpConfig, McpServer, ServedAgent};
use toolhost_tests::own_sandbox;
use toolhost_tests::test_host::TestHost;

use super::http_client::{Served, call, initialize};

/// Tools that echo, fail, run until they are stopped, and return a handle.
const TOOLS: &[(&str, &str, &[&str])] = &[
    ("echo", "echo", &["say"]),
    ("fails", "forge_host_code", &["run"]),
    ("spin", "spin_forever", &["run"]),
    ("later", "pending", &["run"]),
];

async fn served(
    change: impl FnOnce(&mut McpConfig),
    change_http: impl FnOnce(&mut toolhost_mcp::HttpConfig),
) -> (TestHost, Served) {
    let host = toolhost::Host::builder().sandbox(own_sandbox(|_| ()));
    served_by(host, TOOLS, change, change_http).await
}

async fn served_by(
    host: toolhost::HostBuilder,
    tools: &[(&str, &str, &[&str])],
    change: impl FnOnce(&mut McpConfig),
    change_http: impl FnOnce(&mut toolhost_mcp::HttpConfig),
) -> (TestHost, Served) {
    let test_host = TestHost::with_tools_in(host.build().unwrap(), tools).await;
    let workdir = test_host.work.workdir.clone();
    let bundle = LiveBundle::new(test_host.loaded.clone());
    let served = ServedAgent::new(bundle).only_workdir("default", workdir);
    let mut config = McpConfig::default();
    change(&mut config);
    let server = McpServer::new(served, config);
    (test_host, Served::start(&server, change_http).await)
}

/// Returns the value of a metric; 0 if it is not there.
async fn value(served: &Served, metric: &str) -> f64 {
    let text = served.get("/metrics").await.body;
    let mut lines = text.lines();
    let value = lines.find_map(|line| line.strip_prefix(metric)?.strip_prefix(' ')?.parse().ok());
    value.unwrap_or(0.0)
}

/// Waits until a metric has a value.
async fn eventually(served: &Served, metric: &str, expected: f64) {
    let wait = async {
        while value(served, metric).await < expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let is_there = tokio::time::timeout(Duration::from_secs(10), wait).await;
    assert!(
        is_there.is_ok(),
        "{metric}: {}",
        value(served, metric).await
    );
    let now = value(served, metric).await;
    assert!((now - expected).abs() < 0.5, "{metric}: {now}");
}

#[tokio::test]
async fn calls_are_counted_by_tool_and_code_and_polls_apart() {
    let (_test_host, served) = served(|_| (), |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let post = async |name: &str, arguments: Value| {
        let headers = [("Mcp-Session-Id", session.as_str())];
        let answer = served.post(&call(name, arguments), &headers).await;
        answer.message()["result"].clone()
    };
    post("echo__say", json!({"n": 1})).await;
    post("echo__say", json!({"n": 2})).await;
    post("fails__run", json!({"message": "no", "code": "OWN_CODE"})).await;
    post("fails__run", json!({"message": "no"})).await;
    post("no\"such\n__tool", json!({})).await;
    let later = post("later__run", json!({"handle": "next:done:1"})).await;
    let handle = json!({"handle": later["structuredContent"]["handle"]});
    post("poll", handle.clone()).await;
    post("poll", handle).await;
    post("poll", json!({"handle": "none"})).await;
    let expected = [
        (r#"calls_total{tool="echo__say",code="ok"}"#, 2.0),
        (r#"calls_total{tool="fails__run",code="handler"}"#, 1.0),
        (r#"calls_total{tool="fails__run",code="E_TOOL"}"#, 1.0),
        (r#"calls_total{tool="",code="E_TOOL_NOT_IN_CATALOG"}"#, 1.0),
        (r#"calls_total{tool="later__run",code="pending"}"#, 1.0),
        (r#"calls_total{tool="later__run",code="ok"}"#, 0.0),
        (r#"call_duration_seconds_count{tool="echo__say"}"#, 2.0),
        (r#"polls_total{code="pending"}"#, 1.0),
        (r#"polls_total{code="ok"}"#, 1.0),
        (r#"polls_total{code="E_TOOL_UNKNOWN_HANDLE"}"#, 1.0),
        ("calls_in_flight", 0.0),
    ];
    for (metric, expected) in expected {
        eventually(&served, &format!("toolhost_{metric}"), expected).await;
    }
    // Names and codes that strangers choose are not used as labels.
    let text = served.get("/metrics").await.body;
    assert!(
        !text.contains("such") && !text.contains("OWN_CODE"),
        "{text}"
    );
}

#[tokio::test]
async fn calls_that_a_call_makes_are_counted_by_tool_and_code() {
    let tools: &[(&str, &str, &[&str])] = &[
        ("caller", "call_tools", &["run"]),
        ("echo", "echo", &["say"]),
    ];
    let policy = "tools: {caller: {tools: [echo__say]}}";
    let host = toolhost::Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .policy(toolhost::Policy::parse(policy, "policy.yaml").unwrap());
    let (_test_host, served) = served_by(host, tools, |_| (), |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let many =
        json!({"do": "many", "tool": "echo__say", "args": {"n": 1}, "times": 103, "atOnce": 1});
    let headers = [("Mcp-Session-Id", session.as_str())];
    let steps = json!({"steps": [many]});
    served.post(&call("caller__run", steps), &headers).await;
    for (metric, expected) in [
        (r#"calls_total{tool="caller__run",code="ok"}"#, 1.0),
        (r#"inner_calls_total{tool="echo__say",code="ok"}"#, 100.0),
        (r#"inner_calls_total{tool="",code="ok"}"#, 3.0),
    ] {
        eventually(&served, &format!("toolhost_{metric}"), expected).await;
    }
}

#[tokio::test]
async fn a_call_whose_client_leaves_counts_as_cancelled_and_one_beyond_the_limit_as_refused() {
    let (_test_host, served) = served(|config| config.max_calls = 1, |_| ()).await;
    let sessions = [
        served.session("/mcp", &[]).await,
        served.session("/mcp", &[]).await,
    ];
    let [first, second] = sessions
        .each_ref()
        .map(|id| [("Mcp-Session-Id", id.as_str())]);
    let spin = call("spin__run", json!({}));
    let leaves = served.begin("/mcp", &spin, &first).await;
    eventually(&served, "toolhost_calls_in_flight", 1.0).await;
    served.post(&call("echo__say", json!({})), &second).await;
    eventually(&served, "toolhost_calls_refused_total", 1.0).await;
    drop(leaves);
    let cancelled = r#"toolhost_calls_total{tool="spin__run",code="cancelled"}"#;
    eventually(&served, cancelled, 1.0).await;
    eventually(&served, "toolhost_calls_in_flight", 0.0).await;
}

#[tokio::test]
async fn components_are_counted_by_where_their_code_came_from() {
    let (test_host, served) = served(|_| (), |_| ()).await;
    let count =
        async |origin: &str| value(&served, &format!("toolhost_components_{origin}_total")).await;
    let before = count("compiled").await + count("cached").await;
    assert!((before - 4.0).abs() < 0.5, "{before}");
    // From the cache, or what the first load has prepared.
    test_host.host.load(test_host.bundle.path()).await.unwrap();
    assert!(count("cached").await >= 4.0);
    test_host.loaded.reload().await.unwrap();
    assert!(count("reused").await >= 4.0);
    let broken = tempfile::tempdir().unwrap();
    let manifest = toolhost_tests::test_host::yaml(&[("broken", "broken", &["run"])]);
    std::fs::write(broken.path().join("goondan.yaml"), manifest).unwrap();
    std::fs::write(broken.path().join("broken.wasm"), "no component").unwrap();
    assert!(test_host.host.load(broken.path()).await.is_err());
    assert!((count("failed").await - 1.0).abs() < 0.5);
}

#[tokio::test]
async fn every_refused_request_and_failed_connection_is_counted() {
    let change = |config: &mut toolhost_mcp::HttpConfig| {
        config.read_timeout = Duration::from_millis(200);
        config.session_idle = Duration::from_millis(200);
        config.body_bytes = 10_000;
    };
    let (_test_host, served) = served(|_| (), change).await;
    let host = served.address;
    let message = call("echo__say", json!({}));
    let refused = |status: u16| format!(r#"toolhost_http_refused_total{{status="{status}"}}"#);
    let failed =
        |reason: &str| format!(r#"toolhost_http_connections_failed_total{{reason="{reason}"}}"#);

    // A slow head, and a slow body.
    let mut slow = served.send("POST /mcp HT").await;
    slow.read_to_end(&mut Vec::new()).await.unwrap();
    eventually(&served, &failed("timeout"), 1.0).await;
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nConnection: close\r\n"
    );
    let mut slow = served
        .send(&format!("{head}Content-Length: 9\r\n\r\n{{"))
        .await;
    slow.read_to_end(&mut Vec::new()).await.unwrap();
    eventually(&served, &refused(408), 1.0).await;
    // What is no HTTP.
    let mut wrong = served.send("\u{1}\u{2}\r\n\r\n").await;
    wrong.read_to_end(&mut Vec::new()).await.unwrap();
    eventually(&served, &failed("invalid"), 1.0).await;
    // A body above the limit.
    let large = call("echo__say", json!({"text": "x".repeat(20_000)}));
    served.post(&large, &[]).await;
    eventually(&served, &refused(413), 1.0).await;
    // JSON that ends too early.
    let mut bad = served
        .send(&format!("{head}Content-Length: 2\r\n\r\n{{\""))
        .await;
    let mut answer = String::new();
    bad.read_to_string(&mut answer).await.unwrap();
    let status: u16 = answer.split(' ').nth(1).unwrap().parse().unwrap();
    eventually(&served, &refused(status), 1.0).await;
    // A wrong Host, and a page of another server.
    served.post(&message, &[("Host", "evil.example")]).await;
    served
        .post(&message, &[("Origin", "https://evil.example")])
        .await;
    eventually(&served, &refused(403), 2.0).await;
    // Sessions that are abandoned.
    for _ in 0..3 {
        served.post(&initialize(), &[]).await;
    }
    eventually(&served, "toolhost_sessions_opened_total", 3.0).await;
    let freed = async {
        while value(&served, "toolhost_sessions").await > 0.0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), freed)
        .await
        .unwrap();
}

/// Returns the names of metrics in a text, without the ends that their samples have.
fn metrics_in(text: &str) -> std::collections::BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_lowercase() && c != '_');
    let names = words.filter(|word| word.starts_with("toolhost_"));
    let ends = ["_bucket", "_sum", "_count", "_total"];
    names
        .map(|name| {
            let family = ends.iter().find_map(|end| name.strip_suffix(end));
            family.unwrap_or(name)
        })
        .collect()
}

#[tokio::test]
async fn every_metric_of_the_dashboard_and_of_the_alerts_is_served() {
    // A metric with labels is there once it counts something: also a call of a tool, a poll and a refused request.
    let policy = "tools: {caller: {tools: [\"echo__say\"]}}";
    let policy = toolhost::Policy::parse(policy, "p.yaml").unwrap();
    let host = toolhost::Host::builder().sandbox(own_sandbox(|_| ()));
    let tools: &[(&str, &str, &[&str])] = &[
        ("caller", "call_tools", &["run"]),
        ("echo", "echo", &["say"]),
        ("later", "pending", &["run"]),
    ];
    let (_test_host, served) = served_by(host.policy(policy), tools, |_| (), |_| ()).await;
    let session = served.session("/mcp", &[]).await;
    let headers = [("Mcp-Session-Id", session.as_str())];
    let step = json!({"do": "call", "tool": "echo__say", "args": {"n": 1}});
    for request in [
        call("caller__run", json!({"steps": [step]})),
        call("poll", json!({"handle": "pending_none"})),
    ] {
        served.post(&request, &headers).await;
    }
    let evil = [("Origin", "https://evil.example")];
    served.post(&initialize(), &evil).await;
    let text = served.get("/metrics").await.body;
    let served: std::collections::BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .map(|name| name.strip_suffix("_total").unwrap_or(name))
        .collect();
    for (path, least) in [("operate/dashboard.json", 12), ("operate/alerts.yaml", 6)] {
        let path = toolhost_tests::root("docs").join(path);
        let text = std::fs::read_to_string(path).unwrap();
        let named = metrics_in(&text);
        assert!(named.len() >= least, "{named:?}");
        for name in named {
            assert!(served.contains(name), "{name} is not served: {served:?}");
        }
    }
}
