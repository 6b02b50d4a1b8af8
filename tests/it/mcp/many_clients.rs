//! A thousand clients over HTTP at the same time.

use serde_json::json;
use tokio::task::JoinSet;
use toolhost_tests::mcp_client::{McpClient, Revision};
use toolhost_tests::test_host::TestHost;

use super::http_client::Served;
use super::{TOOLS, server};

/// Clients. Each has a connection, within `HttpConfig::max_connections`, and every other one a session.
const CLIENTS: usize = 1000;

/// Calls of each client.
const CALLS: usize = 4;

/// A deadline of ten minutes: on a busy machine, a call among a thousand waits long for its turn.
const POLICY: &str = "defaults: {limits: {deadlineMs: 600000}}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_with_four_calls_each_get_their_own_answers() {
    let test_host = TestHost::with_tools(TOOLS, POLICY).await;
    // All have the same instance.
    let server = server(&test_host, |config| config.max_instance_calls = CLIENTS);
    let change = |config: &mut toolhost_mcp::HttpConfig| {
        config.default_instance = "instance".to_owned();
        config.max_instance_sessions = CLIENTS;
    };
    let served = Served::start(&server, change).await;
    let mut connecting = JoinSet::new();
    for number in 0..CLIENTS {
        let revision = match number % 2 {
            0 => Revision::Session,
            _ => Revision::Stateless,
        };
        let address = served.address;
        connecting.spawn(async move { (number, McpClient::connect(address, revision).await) });
    }
    // All are connected before the first call.
    let clients = connecting.join_all().await;
    let mut calling = JoinSet::new();
    for (number, mut client) in clients {
        calling.spawn(async move {
            for call in 0..CALLS {
                let own = json!({"client": number, "call": call});
                let result = client.call("echo__say", &own).await;
                assert_eq!(result["structuredContent"], own, "{result}");
            }
        });
    }
    let answered = calling.join_all().await;
    assert_eq!(answered.len(), CLIENTS);
    let metrics = served.get("/metrics").await.body;
    let all = CLIENTS * CALLS;
    let calls = format!("toolhost_calls_total{{tool=\"echo__say\",code=\"ok\"}} {all}\n");
    assert!(metrics.contains(&calls), "{metrics}");
    assert!(!metrics.contains("http_refused_total{"), "{metrics}");
}
