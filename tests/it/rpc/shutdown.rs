//! How a server is drained.

use serde_json::json;
use toolhost_rpc::ConnectionEnd;

use super::{assert_stopped, call, config, connect, endless_call, serve, tools, until_it_writes};

#[tokio::test]
async fn a_drained_server_refuses_requests_and_answers_those_that_run() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let (mut idle, idle_end) = connect(&served.server, 1 << 16);
    idle.request("host/info", json!({})).await;
    let client = &mut served.client;
    let params = call("sleep__run", json!({"seconds": 1.0}));
    let running = client.send("call/execute", params).await;
    client.request("host/info", json!({})).await;
    served.server.drain();
    assert_eq!(idle.next().await, None, "an idle connection ends at once");
    assert_eq!(idle_end.await.unwrap(), ConnectionEnd::Drained);
    assert_eq!(client.fails("turn/open", json!({})).await, "E_RPC_SHUTDOWN");
    let answer = client.answer().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["status"]),
        (&json!(running), &json!("ok"))
    );
    assert_eq!(client.next().await, None);
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::Drained);
}

#[tokio::test]
async fn a_call_of_a_drained_server_ends_at_its_deadline() {
    let test_host = tools("defaults: {limits: {deadlineMs: 500}}").await;
    let mut served = serve(config(&test_host));
    served.client.send("call/execute", endless_call()).await;
    until_it_writes(&test_host).await;
    served.server.drain();
    let answer = served.client.answer().await;
    assert_eq!(answer["result"]["error"]["code"], "E_TOOL_TIMEOUT");
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::Drained);
    assert_stopped(&test_host).await;
}

#[tokio::test]
async fn a_request_can_be_cancelled_while_the_server_is_drained() {
    let test_host = tools("").await;
    let mut served = serve(config(&test_host));
    let id = served.client.send("call/execute", endless_call()).await;
    until_it_writes(&test_host).await;
    served.server.drain();
    served.client.cancel(id).await;
    assert_eq!(served.client.answer().await["error"]["code"], -32800);
    assert_eq!(served.end.await.unwrap(), ConnectionEnd::Drained);
    assert_stopped(&test_host).await;
}
