//! A server whose clients see two tools, which find and call the others.

use serde_json::json;
use toolhost::search::ToolExposure;

use super::{initialized, server, test_host};

#[tokio::test]
async fn clients_see_two_tools_and_call_the_others_through_them() {
    let test_host = test_host().await;
    test_host.loaded.add_catalog_tools().unwrap();
    let server = server(&test_host, |config| config.tools = ToolExposure::Search);
    let mut peer = initialized(&server).await;
    let listed = peer.request("tools/list", json!({})).await["result"]["tools"].clone();
    let names: Vec<&str> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["tools__search", "tools__call"]);
    // A client need not ask before a search.
    assert_eq!(listed[0]["annotations"]["readOnlyHint"], true);
    assert_eq!(listed[1].get("annotations"), None);
    // Some four bytes are a token.
    assert!(listed.to_string().len() / 4 < 2_000);

    let found = peer
        .call("tools__search", json!({"query": "upper case of a text"}))
        .await;
    assert_eq!(
        found["structuredContent"]["tools"][0]["name"], "text__upper",
        "{found}"
    );
    let args = json!({"name": "text__upper", "args": {"text": "hi"}});
    let called = peer.call("tools__call", args).await;
    assert_eq!(
        called["structuredContent"],
        json!({"text": "HI"}),
        "{called}"
    );
    let refused = peer
        .call("tools__call", json!({"name": "text__nope"}))
        .await;
    assert_eq!(refused["isError"], true);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("E_TOOL_NOT_IN_CATALOG"), "{text}");
    let missed = peer
        .call("tools__search", json!({"query": "resize an image"}))
        .await;
    assert_eq!(missed["structuredContent"]["tools"], json!([]));
}
