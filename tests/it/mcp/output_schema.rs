//! Tools with an `outputSchema`, for clients.

use serde_json::json;

use super::{initialized, server};
use crate::execute::output_schema::test_host;

#[tokio::test]
async fn clients_get_the_output_schema_of_tools_that_always_fit_it() {
    let test_host = test_host().await;
    let mut peer = initialized(&server(&test_host, |_| ())).await;
    let listed = peer.request("tools/list", json!({})).await;
    let tools = listed["result"]["tools"].as_array().unwrap();
    let tool = |name: &str| tools.iter().find(|tool| tool["name"] == name).unwrap();
    assert_eq!(
        tool("raw__run")["outputSchema"]["required"],
        json!(["count"])
    );
    // A pending result would not fit.
    assert_eq!(tool("later__run").get("outputSchema"), None);

    let fits = peer
        .call("raw__run", json!({"output": "{\"count\": 3}"}))
        .await;
    assert_eq!(fits["structuredContent"], json!({"count": 3}), "{fits}");
    let refused = peer
        .call("raw__run", json!({"output": "{\"secret\": 3}"}))
        .await;
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(refused.get("structuredContent"), None);
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("E_TOOL_INVALID_OUTPUT"), "{text}");
}
