//! Credentials that the host adds to requests.

use serde_json::{Value, json};
use toolhost::ToolResult;

use super::server::{Server, ok};
use super::{answer, fetch};

const SECRET: &str = "sk-12345-abcdef";

fn credential(origin: &str) -> Value {
    json!({"origin": origin, "header": "authorization", "prefix": "Bearer ", "value": {"secret": SECRET}})
}

fn as_text(result: &ToolResult) -> String {
    format!("{result:?} {}", result.to_stored())
}

#[tokio::test]
async fn a_credential_in_the_output_of_a_tool_is_redacted() {
    let server = Server::says(&ok("fine"));
    let http = json!({"allow": [server.origin()], "credentials": [credential(&server.origin())]});
    let url = format!("{}/{SECRET}", server.origin());
    let result = fetch(&http, json!({"url": url})).await;
    assert_eq!(
        answer(&result)["url"],
        format!("{}/[redacted:authorization]", server.origin())
    );
    // Also in the denial of a request.
    let refused = json!({"url": format!("http://localhost:1/{SECRET}"), "then": "panic"});
    let result = fetch(&http, refused).await;
    assert!(!as_text(&result).contains(SECRET), "{result:?}");
}

#[tokio::test]
async fn no_event_contains_a_credential() {
    let server = Server::echo();
    let http = json!({"allow": [server.origin()], "credentials": [credential(&server.origin())]});
    let test_host = toolhost_tests::test_host::TestHost::with_tools(
        super::WEB,
        &super::policy(&http, &json!({})),
    )
    .await;
    let mut events = test_host.host.events().subscribe();
    let result = test_host
        .call(
            "web__run",
            json!({"url": server.origin(), "headers": {"x": "y"}}),
        )
        .await;
    assert_eq!(answer(&result)["status"], 200);
    let mut seen = String::new();
    while !seen.contains("ToolCompleted") {
        seen.push_str(&format!("{:?}", events.next().await.unwrap()));
    }
    assert!(
        seen.contains("web__run") && !seen.contains(SECRET),
        "{seen}"
    );
}
