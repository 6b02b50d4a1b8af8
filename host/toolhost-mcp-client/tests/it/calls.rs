//! Calls of well-behaved servers.

use std::time::{Duration, Instant};

use serde_json::json;
use toolhost::tool::SourceType;
use toolhost_mcp_client::McpStatus;

use crate::support::{Place, until};

#[tokio::test]
async fn the_tools_of_a_server_are_in_the_catalog_and_can_be_called() {
    let place = Place::new().await;
    let server = place.start("ok").await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 14 });
    assert_eq!(server.findings(), []);
    let catalog = place.agent().catalog();
    let echo = &catalog.items()[0];
    assert_eq!(echo.name.as_str(), "srv__echo");
    assert_eq!(echo.description.as_deref(), Some("A tool"));
    let source = echo.source.clone().unwrap();
    assert_eq!(
        (source.source_type, source.name.as_str()),
        (SourceType::Mcp, "srv")
    );
    let mcp = source.mcp.unwrap();
    assert_eq!(
        (mcp.extension_name.as_str(), mcp.server_name.as_deref()),
        ("mcp:srv", Some("srv"))
    );

    place.echoes().await;
    assert_eq!(
        place.output("srv__structured", json!({})).await,
        json!({"n": 1})
    );
    let image = json!({"content": [{"type": "image", "data": "aGk=", "mimeType": "image/png"}]});
    assert_eq!(place.output("srv__image", json!({})).await, image);
}

#[tokio::test]
async fn a_call_walks_the_path_of_every_call() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    let (code, _) = place.error("srv__echo", json!({"text": 1})).await;
    assert_eq!(code, "E_TOOL_INVALID_ARGS");
    let (code, _) = place.error("srv__nothing", json!({})).await;
    assert_eq!(code, "E_TOOL_NOT_IN_CATALOG");
    let (code, message) = place.error("srv__large", json!({})).await;
    assert_eq!(code, "E_TOOL_OUTPUT_TOO_LARGE", "{message}");
    // Only the last one reached the server.
    assert_eq!(place.recorded(), "list\ncall large\n");
}

#[tokio::test]
async fn the_output_of_a_tool_with_an_output_schema_is_its_structured_content_and_fits() {
    let place = Place::new().await;
    let _server = place.start("wrong-output").await;
    let catalog = place.agent().catalog();
    let item = catalog.get("srv__structured").unwrap();
    let schema = item.output_schema.as_ref().unwrap().to_value();
    assert_eq!(schema["required"], json!(["n"]));
    let called = async |how: &str| place.call("srv__structured", json!({"as": how})).await;
    let fits = called("image").await;
    assert_eq!(fits.output(), Some(&json!({"n": 1})), "{fits:?}");
    for (how, issue) in [
        ("type", "output.n: expected integer but got string"),
        ("none", "output: expected object but got null"),
    ] {
        let result = called(how).await;
        let error = result.tool_error().unwrap();
        assert_eq!(error.code.as_str(), "E_TOOL_INVALID_OUTPUT");
        assert!(error.message.ends_with(issue), "{error:?}");
        assert_eq!(result.output(), None);
    }
}

#[tokio::test]
async fn errors_of_a_tool_have_their_text_and_a_code() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    for (tool, code, message) in [
        ("srv__fail", "MCP_TOOL_ERROR", "no such city"),
        (
            "srv__refuse",
            "MCP_REFUSED",
            "The MCP server 'srv' refused the call: wrong arguments (-32602).",
        ),
    ] {
        assert_eq!(
            place.error(tool, json!({})).await,
            (code.to_owned(), message.to_owned())
        );
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    let call = place.call("srv__slow", json!({}));
    let dropped = tokio::time::timeout(Duration::from_millis(300), call).await;
    assert!(dropped.is_err());
    until("the server is notified", async || {
        place.recorded().contains("cancelled")
    })
    .await;
    place.echoes().await;
}

#[tokio::test]
async fn a_call_ends_at_the_deadline_of_the_policy_and_is_cancelled() {
    let policy = "tools: {srv: {limits: {deadlineMs: 200}}}";
    let bundle = "
apiVersion: goondan.ai/v1
kind: McpServer
metadata: {name: srv}
spec: {transport: {http: {url: http://127.0.0.1:1/}}}
";
    let place = Place::with(bundle, policy).await.unwrap();
    let _server = place.start("ok").await;
    let started = Instant::now();
    let (code, _) = place.error("srv__slow", json!({})).await;
    assert_eq!(code, "E_TOOL_TIMEOUT");
    assert!(started.elapsed() < Duration::from_secs(5));
    until("the server is notified", async || {
        place.recorded().contains("cancelled")
    })
    .await;
}

#[tokio::test]
async fn as_many_calls_as_are_allowed_run_at_once_and_none_is_lost() {
    let place = Place::new().await;
    let _server = place
        .start_with("ok", |config| config.limits.calls = 4)
        .await;
    let slow = (0..4).map(|_| Box::pin(place.call("srv__slow", json!({}))));
    let slow = futures_util::future::join_all(slow);
    let mut slow = Box::pin(slow);
    let waiting = tokio::time::timeout(Duration::from_millis(500), &mut slow);
    assert!(waiting.await.is_err());
    let fifth = tokio::time::timeout(Duration::from_millis(300), place.echoes());
    assert!(fifth.await.is_err(), "a fifth call runs");
    // The slots of dropped calls are free again.
    drop(slow);
    let echoes = (0..100).map(|_| place.echoes());
    futures_util::future::join_all(echoes).await;
}

#[tokio::test]
async fn a_server_that_asks_a_person_for_input_gets_none() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    assert_eq!(place.output("srv__ask", json!({})).await, json!("asked"));
    let recorded = place.recorded();
    let declined = r#""id": "e1", "result": {"action": "decline"}"#;
    assert!(recorded.contains(declined), "{recorded}");
}

#[tokio::test]
async fn a_closed_server_ends_by_itself_and_its_tools_are_removed() {
    let place = Place::new().await;
    let server = place.start("ok").await;
    place.echoes().await;
    server.close().await;
    assert!(
        place.recorded().ends_with("end of input\n"),
        "{}",
        place.recorded()
    );
    assert_eq!(place.tools(), Vec::<String>::new());
    let (code, _) = place.error("srv__echo", json!({"text": "x"})).await;
    assert_eq!(code, "E_TOOL_NOT_IN_CATALOG");
}
