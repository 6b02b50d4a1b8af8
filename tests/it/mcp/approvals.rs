//! Calls that wait for approval, as clients and their users learn of it.

use std::time::{Duration, Instant};

use rmcp::ServiceExt;
use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, Implementation, InitializeRequestParams,
    ReadResourceRequestParams,
};
use serde_json::{Value, json};
use toolhost::approvals::Approval;
use toolhost_mcp::{McpConfig, McpServer};
use toolhost_tests::test_host::TestHost;

use super::{initialized, server, stateless};
use crate::mcp::peer::Peer;

const PAGE: &str = "http://127.0.0.1:7333/";

/// `files__run` writes a file.
const TOOLS: &[(&str, &str, &[&str])] = &[
    ("files", "write_bytes", &["run"]),
    ("later", "pending", &["run"]),
];

const UI: &str = "io.modelcontextprotocol/ui";

async fn test_host() -> TestHost {
    TestHost::with_tools(TOOLS, "tools: {files: {ask: always}}").await
}

fn with_page(test_host: &TestHost, change: impl FnOnce(&mut McpConfig)) -> McpServer {
    server(test_host, |config| {
        config.approvals_url = Some(PAGE.to_owned());
        change(config);
    })
}

fn url_elicitation() -> Value {
    json!({"elicitation": {"url": {}}})
}

fn cards() -> Value {
    json!({"extensions": {UI: {"mimeTypes": ["text/html;profile=mcp-app"]}}})
}

fn arguments() -> Value {
    json!({"path": "a.bin", "bytes": 3})
}

fn call() -> Value {
    json!({"name": "files__run", "arguments": arguments()})
}

async fn all(test_host: &TestHost) -> Vec<Approval> {
    test_host.host.approvals().all().await.unwrap()
}

async fn approve(test_host: &TestHost, id: &str) {
    let approvals = test_host.host.approvals();
    approvals.approve(id, "ann", None).await.unwrap();
}

fn is_written(test_host: &TestHost) -> bool {
    test_host.work.path("a.bin").exists()
}

fn address(id: &str) -> String {
    format!("{PAGE}#/approvals/{id}")
}

/// Returns a client of 2025-11-25 with these capabilities.
async fn initialized_with(server: &McpServer, capabilities: Value) -> Peer {
    let mut peer = Peer::connect(server);
    let params = json!({
        "protocolVersion": "2025-11-25", "capabilities": capabilities,
        "clientInfo": {"name": "test", "version": "1"},
    });
    peer.request("initialize", params).await;
    peer.notify("notifications/initialized", json!({})).await;
    peer
}

#[tokio::test]
async fn a_client_that_opens_urls_gets_the_address_and_its_second_call_is_the_poll_of_the_first() {
    let test_host = test_host().await;
    let mut peer = Peer::connect(&with_page(&test_host, |_| ()));
    let request = |params: Value| stateless(params, &url_elicitation());
    let asked = peer.request("tools/call", request(call())).await["result"].take();
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let approvals = all(&test_host).await;
    let id = approvals[0].id.clone();
    let elicitation = &asked["inputRequests"][&id];
    assert_eq!(elicitation["method"], "elicitation/create", "{asked}");
    let params = &elicitation["params"];
    assert_eq!(params["mode"], "url");
    assert_eq!(params["url"], address(&id));
    assert!(!params["message"].as_str().unwrap().contains("a.bin"));
    let mut again = call();
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({&id: {"action": "accept"}});
    // The user has opened the page, and decides a little later.
    let sent = peer.send("tools/call", request(again.clone())).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(!is_written(&test_host));
    approve(&test_host, &id).await;
    let done = peer.response(sent).await["result"].take();
    assert_eq!(done["resultType"], "complete", "{done}");
    assert_eq!(done["isError"], false, "{done}");
    assert!(is_written(&test_host));
    // Once more: what is stored, and no further call.
    std::fs::remove_file(test_host.work.path("a.bin")).unwrap();
    let once_more = peer.request("tools/call", request(again)).await["result"].take();
    assert_eq!(once_more["content"], done["content"]);
    assert!(!is_written(&test_host));
    assert_eq!(all(&test_host).await.len(), 1);
}

#[tokio::test]
async fn a_client_whose_user_does_not_decide_in_time_gets_the_pending_result() {
    let test_host = test_host().await;
    let server = with_page(&test_host, |config| {
        config.approval_wait = Duration::from_millis(300);
    });
    let mut peer = Peer::connect(&server);
    let request = |params: Value| stateless(params, &url_elicitation());
    for (action, waits) in [("accept", true), ("decline", false), ("cancel", false)] {
        let asked = peer.request("tools/call", request(call())).await["result"].take();
        let (id, _) = asked["inputRequests"]
            .as_object()
            .unwrap()
            .iter()
            .next()
            .unwrap();
        let mut again = call();
        again["requestState"] = asked["requestState"].clone();
        again["inputResponses"] = json!({id: {"action": action}});
        let begun = Instant::now();
        let pending = peer.request("tools/call", request(again)).await["result"].take();
        let took = begun.elapsed();
        assert_eq!(
            took >= Duration::from_millis(300),
            waits,
            "{action}: {took:?}"
        );
        let content = &pending["structuredContent"];
        assert_eq!(content["handle"], asked["requestState"], "{pending}");
        assert_eq!(content["approvalUrl"], address(id));
        let text = pending["content"][0]["text"].as_str().unwrap();
        assert!(
            text.contains(&format!("Ask the user to open {}", address(id))),
            "{text}"
        );
        assert!(!text.contains("`approval`"), "{text}");
    }
    assert_eq!(all(&test_host).await.len(), 3);
    assert!(!is_written(&test_host));
    let mut forged = call();
    forged["requestState"] = json!("pending_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    let refused = peer.request("tools/call", request(forged)).await;
    let code = &refused["result"]["_meta"]["toolhost/result"]["error"]["code"];
    assert_eq!(code, "E_TOOL_UNKNOWN_HANDLE", "{refused}");
    assert_eq!(all(&test_host).await.len(), 3, "it is no call");
}

#[tokio::test]
async fn a_client_of_2025_that_opens_urls_makes_the_same_call_again_and_that_is_the_poll() {
    let test_host = test_host().await;
    let server = with_page(&test_host, |config| {
        config.approval_wait = Duration::from_millis(100);
    });
    let mut peer = initialized_with(&server, url_elicitation()).await;
    let asked = peer.request("tools/call", call()).await;
    assert_eq!(asked["error"]["code"], -32042, "{asked}");
    let id = all(&test_host).await[0].id.clone();
    let elicitation = &asked["error"]["data"]["elicitations"][0];
    assert_eq!(elicitation["url"], address(&id));
    assert_eq!(elicitation["mode"], "url");
    // Another call is one of its own, and so is the same one of another client.
    let other = json!({"name": "files__run", "arguments": {"path": "b.bin", "bytes": 3}});
    let other = peer.request("tools/call", other).await;
    assert_eq!(other["error"]["code"], -32042, "{other}");
    let mut stranger = initialized_with(&server, url_elicitation()).await;
    let asked = stranger.request("tools/call", call()).await;
    assert_eq!(asked["error"]["code"], -32042, "{asked}");
    assert_eq!(all(&test_host).await.len(), 3);
    let pending = peer.request("tools/call", call()).await["result"].take();
    assert_eq!(
        pending["structuredContent"]["approvalUrl"],
        address(&id),
        "{pending}"
    );
    assert_eq!(all(&test_host).await.len(), 3);
    approve(&test_host, &id).await;
    let handle = &pending["structuredContent"]["handle"];
    let mut polled = Value::Null;
    for _ in 0..200 {
        polled = peer.call("poll", json!({"handle": handle})).await;
        if polled["structuredContent"]["status"] != "pending" {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(polled["isError"], false, "{polled}");
    assert!(is_written(&test_host));
}

#[tokio::test]
async fn without_the_address_of_the_page_a_client_gets_no_address_no_card_and_no_id() {
    let test_host = test_host().await;
    let server = server(&test_host, |_| ());
    let mut capabilities = cards();
    capabilities["elicitation"] = json!({"url": {}});
    let mut peer = Peer::connect(&server);
    let request = |params: Value| stateless(params, &capabilities);
    let listed = peer.request("tools/list", request(json!({}))).await;
    assert!(!listed.to_string().contains("\"approval\""), "{listed}");
    let discovered = peer.request("server/discover", request(json!({}))).await;
    assert!(
        discovered["result"]["capabilities"]["resources"].is_null(),
        "{discovered}"
    );
    let held = peer.request("tools/call", request(call())).await["result"].take();
    assert_eq!(held["structuredContent"]["status"], "pending", "{held}");
    assert!(
        !held.to_string().contains(&all(&test_host).await[0].id),
        "{held}"
    );
    for _ in 0..2 {
        let mut again = call();
        again["requestState"] = held["structuredContent"]["handle"].clone();
        peer.request("tools/call", request(again)).await;
    }
    assert_eq!(all(&test_host).await.len(), 3, "each is a call");
    let shown =
        json!({"name": "approval", "arguments": {"handle": held["structuredContent"]["handle"]}});
    let shown = peer.request("tools/call", request(shown)).await;
    let code = &shown["result"]["_meta"]["toolhost/result"]["error"]["code"];
    assert_eq!(code, "E_TOOL_NOT_IN_CATALOG", "{shown}");
}

#[tokio::test]
async fn a_client_that_shows_cards_gets_one_for_a_call_that_waits_and_none_for_other_results() {
    let test_host = test_host().await;
    let server = with_page(&test_host, |_| ());
    let mut peer = initialized_with(&server, cards()).await;
    let listed = peer.request("tools/list", json!({})).await["result"]["tools"].take();
    let tools = listed.as_array().unwrap().iter();
    let with_card: Vec<&Value> = tools
        .filter(|tool| !tool["_meta"]["ui"].is_null())
        .collect();
    assert_eq!(with_card.len(), 1, "{listed}");
    assert_eq!(with_card[0]["name"], "approval");
    let uri = &with_card[0]["_meta"]["ui"]["resourceUri"];
    let listed = peer.request("resources/list", json!({})).await;
    assert_eq!(&listed["result"]["resources"][0]["uri"], uri, "{listed}");
    let read = peer.request("resources/read", json!({"uri": uri})).await;
    let card = &read["result"]["contents"][0];
    assert_eq!(card["mimeType"], "text/html;profile=mcp-app", "{read}");
    let html = card["text"].as_str().unwrap();
    for source in [
        "src=",
        "href=",
        "@import",
        "url(",
        "fetch(",
        "innerHTML",
        "eval(",
    ] {
        assert!(!html.contains(source), "{source}");
    }
    let file = peer
        .request("resources/read", json!({"uri": "workdir:///a.bin"}))
        .await;
    assert!(file["error"].is_object(), "{file}");
    let templates = peer.request("resources/templates/list", json!({})).await;
    assert_eq!(
        templates["result"]["resourceTemplates"],
        json!([]),
        "{templates}"
    );
    let held = peer.call("files__run", arguments()).await;
    let handle = &held["structuredContent"]["handle"];
    let text = held["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains(&format!("`approval` with {{\"handle\":{handle}}}")),
        "{text}"
    );
    let shown = peer.call("approval", json!({"handle": handle})).await;
    let approval = all(&test_host).await.remove(0);
    assert_eq!(
        shown["structuredContent"],
        json!({
            "handle": handle, "state": "waiting", "tool": "files__run", "effect": "call",
            "createdAt": approval.created_at, "expiresAt": approval.expires_at, "url": address(&approval.id),
        })
    );
    assert!(!shown.to_string().contains("a.bin"), "{shown}");
    approve(&test_host, &approval.id).await;
    let shown = peer.call("approval", json!({"handle": handle})).await;
    assert_eq!(shown["structuredContent"]["state"], "approved", "{shown}");
    assert!(!shown.to_string().contains("ann"), "{shown}");
    let other = peer.call("later__run", json!({"handle": "done:1"})).await;
    let text = other["content"][0]["text"].as_str().unwrap();
    assert!(!text.contains("approval"), "{text}");
    // Clients without the extension, and agents without `ask`, have no such tool.
    let mut plain = initialized(&server).await;
    let listed = plain.request("tools/list", json!({})).await;
    assert!(!listed.to_string().contains("ui://"), "{listed}");
    let asks_nothing = TestHost::with_tools(TOOLS, "").await;
    let mut peer = initialized_with(&with_page(&asks_nothing, |_| ()), cards()).await;
    let listed = peer.request("tools/list", json!({})).await;
    assert!(!listed.to_string().contains("ui://"), "{listed}");
}

#[tokio::test]
async fn the_id_in_the_address_lets_an_agent_decide_nothing() {
    let test_host = test_host().await;
    let server = with_page(&test_host, |_| ());
    let mut peer = initialized_with(&server, cards()).await;
    let held = peer.call("files__run", arguments()).await;
    let handle = held["structuredContent"]["handle"].clone();
    let id = all(&test_host).await[0].id.clone();
    assert_eq!(held["structuredContent"]["approvalUrl"], address(&id));
    for method in [
        "approvals/approve",
        "approvals/deny",
        "approvals/get",
        "approvals/list",
    ] {
        for token in [json!(null), json!(""), json!(handle), json!(id)] {
            let refused = peer
                .request(method, json!({"id": id, "token": token}))
                .await;
            assert_eq!(refused["error"]["code"], -32601, "{refused}");
        }
    }
    for (tool, code) in [
        ("poll", "E_TOOL_UNKNOWN_HANDLE"),
        ("approve", "E_TOOL_NOT_IN_CATALOG"),
    ] {
        let refused = peer.call(tool, json!({"handle": id, "id": id})).await;
        let said = &refused["_meta"]["toolhost/result"]["error"]["code"];
        assert_eq!(said, code, "{refused}");
    }
    for wrong in [json!({"handle": id}), json!({"handle": 7}), json!({})] {
        let refused = peer.call("approval", wrong).await;
        assert_eq!(refused["isError"], true, "{refused}");
    }
    let uri = format!("ui://toolhost/approval/{id}");
    let refused = peer.request("resources/read", json!({"uri": uri})).await;
    assert!(refused["error"].is_object(), "{refused}");
    // A handle is of no use to other instances: neither to learn of the approval, nor to poll.
    let served =
        toolhost_mcp::ServedAgent::new(toolhost::LiveBundle::new(test_host.loaded.clone()))
            .only_workdir("other", test_host.work.workdir.clone());
    let mut config = McpConfig::default();
    config.approvals_url = Some(PAGE.to_owned());
    let others = McpServer::new(served, config);
    let mut other = Peer::connect_as(&others, "other");
    let capabilities = cards();
    let params = |name: &str| json!({"name": name, "arguments": {"handle": handle}});
    for name in ["approval", "poll"] {
        let refused = other
            .request("tools/call", stateless(params(name), &capabilities))
            .await;
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert!(!refused.to_string().contains(&id), "{refused}");
    }
    let approvals = all(&test_host).await;
    assert_eq!(
        (approvals.len(), approvals[0].state.as_str()),
        (1, "waiting")
    );
    assert!(!is_written(&test_host));
}

#[tokio::test]
async fn the_client_of_the_sdk_finds_the_card_and_reads_what_it_shows() {
    let test_host = test_host().await;
    let server = with_page(&test_host, |_| ());
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(theirs);
    let serving = tokio::spawn(async move { server.serve(read, write, "instance").await });
    let capabilities: ClientCapabilities = serde_json::from_value(cards()).unwrap();
    let client = InitializeRequestParams::new(capabilities, Implementation::new("test", "1"));
    let client = client.serve(tokio::io::split(ours)).await.unwrap();
    let tools = client.list_all_tools().await.unwrap();
    let tool = tools.iter().find(|tool| tool.name == "approval").unwrap();
    let uri = tool.meta.as_ref().unwrap().0["ui"]["resourceUri"].as_str();
    let card = ReadResourceRequestParams::new(uri.unwrap());
    let card = client.read_resource(card).await.unwrap();
    assert_eq!(card.contents.len(), 1);
    let call = |name: &'static str, arguments: Value| {
        let arguments = arguments.as_object().unwrap().clone();
        client.call_tool(CallToolRequestParams::new(name).with_arguments(arguments))
    };
    let held = call("files__run", arguments()).await.unwrap();
    let handle = held.structured_content.unwrap()["handle"].take();
    let shown = call("approval", json!({"handle": handle})).await.unwrap();
    let shown = shown.structured_content.unwrap();
    let id = all(&test_host).await[0].id.clone();
    assert_eq!(
        (&shown["state"], &shown["url"]),
        (&json!("waiting"), &json!(address(&id)))
    );
    client.cancel().await.unwrap();
    serving.await.unwrap().unwrap();
    assert!(!is_written(&test_host));
}
