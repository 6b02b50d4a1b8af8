//! Agents' tools over MCP: on a stream and over HTTP, message by message.

mod approvals;
mod calls;
mod files;
mod http;
pub(crate) mod http_client;
mod http_ends;
mod http_limits;
mod many_clients;
mod metrics;
mod oauth;
mod output_schema;
pub(crate) mod peer;
mod pending;
mod search;
mod sessions;
mod starting;
mod subscriptions;
mod unreadable;

use std::time::Duration;

use serde_json::{Value, json};
use toolhost::LiveBundle;
use toolhost_mcp::{HttpConfig, McpConfig, McpServer, ServedAgent};
use toolhost_tests::test_host::TestHost;
use toolhost_tests::{eventually, sandbox};

use crate::execute::EXAMPLES;
use http_client::Served;
use peer::Peer;

/// A bundle with a tool that echoes, text tools, and two that run until they are stopped.
const TOOLS: &[(&str, &str, &[&str])] = &[
    ("text", "text", EXAMPLES),
    ("echo", "echo", &["say", "context"]),
    ("spin", "spin_forever", &["run"]),
    ("sleep", "sleep_forever", &["run"]),
];

async fn test_host() -> TestHost {
    TestHost::with_tools(TOOLS, "").await
}

/// Returns a server of one instance, in the workdir of the test host.
fn server(test_host: &TestHost, change: impl FnOnce(&mut McpConfig)) -> McpServer {
    let served = ServedAgent::new(LiveBundle::new(test_host.loaded.clone()))
        .only_workdir("instance", test_host.work.workdir.clone());
    let mut config = McpConfig::default();
    change(&mut config);
    McpServer::new(served, config)
}

/// Serves the instance of [`server`] over HTTP.
async fn served(test_host: &TestHost, change: impl FnOnce(&mut HttpConfig)) -> Served {
    Served::start(&server(test_host, |_| ()), |config| {
        config.default_instance = "instance".to_owned();
        change(config);
    })
    .await
}

/// Returns a client that has initialized, on a stream.
pub(crate) async fn initialized(server: &McpServer) -> Peer {
    let mut peer = Peer::connect(server);
    peer.initialize("2025-11-25").await;
    peer
}

/// Returns the parameters of a request of 2026-07-28: those given, and the metadata that it requires.
pub(crate) fn stateless(params: Value, capabilities: &Value) -> Value {
    let mut params = params;
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    });
    params
}

#[tokio::test]
async fn the_tools_are_those_of_the_catalog_with_their_names_and_schemas() {
    // tool-spec-v2 §13.1
    let test_host = test_host().await;
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    let listed = peer.request("tools/list", json!({})).await["result"]["tools"].clone();
    let expected = test_host.step.catalog().to_mcp();
    let expected = expected.as_array().unwrap();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), expected.len());
    for (listed, expected) in listed.iter().zip(expected) {
        for key in ["name", "description", "inputSchema"] {
            assert_eq!(listed[key], expected[key], "{listed}");
        }
    }
}

#[tokio::test]
async fn annotations_follow_from_imports_and_grants() {
    let tools = &[
        ("text", "text", EXAMPLES),
        ("files", "write_bytes", &["run"]),
        ("web", "fetch", &["run"]),
    ];
    let policy = json!({"tools": {"web": {"http": {"allow": ["GET https://example.com"]}}}});
    let granted = TestHost::with_tools(tools, &policy.to_string()).await;
    let mut peer = initialized(&server(&granted, |_| ())).await;
    let listed = peer.request("tools/list", json!({})).await["result"]["tools"].clone();
    let hints = |name: &str| {
        let mut tools = listed.as_array().unwrap().iter();
        let tool = tools.find(|tool| tool["name"] == name).unwrap();
        let annotations = &tool["annotations"];
        (
            annotations["readOnlyHint"].as_bool().unwrap(),
            annotations["openWorldHint"].as_bool().unwrap(),
        )
    };
    assert_eq!(hints("files__run"), (false, false));
    assert!(hints("web__run").1, "it may send requests");
    let denied = TestHost::with_tools(tools, "").await;
    let mut peer = initialized(&server(&denied, |_| ())).await;
    let listed = peer.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    assert!(
        tools
            .map(|tool| &tool["annotations"]["openWorldHint"])
            .all(|hint| hint == false)
    );
}

#[tokio::test]
async fn a_client_of_2026_needs_no_initialize() {
    let test_host = test_host().await;
    let mut peer = Peer::connect(&server(&test_host, |_| ()));
    let discovered = peer
        .request("server/discover", stateless(json!({}), &json!({})))
        .await;
    let versions = &discovered["result"]["supportedVersions"];
    assert!(
        versions.as_array().unwrap().contains(&json!("2026-07-28")),
        "{discovered}"
    );
    let arguments = json!({"name": "text__upper", "arguments": {"text": "hi"}});
    let answer = peer
        .request("tools/call", stateless(arguments, &json!({})))
        .await;
    assert_eq!(answer["result"]["structuredContent"], json!({"text": "HI"}));
    assert_eq!(answer["result"]["resultType"], "complete");
}

#[tokio::test]
async fn clients_learn_that_the_tools_have_changed() {
    let test_host = test_host().await;
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    // Repeated, it has no further effect.
    for _ in 0..5 {
        peer.notify("notifications/initialized", json!({})).await;
    }
    peer.request("ping", json!({})).await;
    let item = json!({"name": "added__now", "description": "Added later"});
    test_host
        .agent
        .extend("later", |api| {
            let item = serde_json::from_value(item).map_err(|error| api.error(error))?;
            api.tools().register(item, async |_, _| Ok(json!(1)))
        })
        .unwrap();
    let notified = peer.notification("notifications/tools/list_changed").await;
    assert_eq!(notified["method"], "notifications/tools/list_changed");
    let listed = peer.request("tools/list", json!({})).await;
    let again = peer.notifications("notifications/tools/list_changed");
    assert!(again.len() < 5, "{again:?}");
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "added__now"));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_given_up() {
    let test_host = test_host().await;
    let server = server(&test_host, |config| {
        config.write_timeout = Duration::from_millis(300);
    });
    let mut peer = initialized(&server).await;
    // The answers are larger than what the stream holds.
    for _ in 0..8 {
        let arguments = json!({"text": "x".repeat(500_000)});
        let params = json!({"name": "echo__say", "arguments": arguments});
        peer.send("tools/call", params).await;
    }
    assert!(peer.ended().await.is_ok());
}

#[tokio::test]
async fn draining_lets_calls_end_and_refuses_new_ones() {
    let test_host = test_host().await;
    let free = sandbox().free_call_slots();
    let server = server(&test_host, |_| ());
    let mut peer = initialized(&server).await;
    let id = peer
        .send(
            "tools/call",
            json!({"name": "sleep__run", "arguments": {"seconds": 1}}),
        )
        .await;
    eventually("the guest runs", || sandbox().free_call_slots() < free).await;
    server.drain();
    let refused = peer.request(
        "tools/call",
        json!({"name": "text__upper", "arguments": {"text": "x"}}),
    );
    let refused = refused.await;
    assert_eq!(refused["error"]["message"], "the server is stopping");
    let answer = peer.response(id).await;
    assert_eq!(
        answer["result"]["structuredContent"]["slept"], 1.0,
        "{answer}"
    );
    assert!(peer.ended().await.is_ok());
}
