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
async fn a_credential_reaches_its_server_and_is_redacted_in_the_response() {
    // The server echoes it in two parts of the body, in a header and in a trailer.
    let server = Server::does(|request, stream| {
        use std::io::Write;
        let line = request
            .lines()
            .find(|line| line.starts_with("authorization"));
        let echoed = format!("{} and {SECRET}", line.unwrap_or("none"));
        let head = format!(
            "HTTP/1.1 200 OK\r\nx-echo: {SECRET}\r\ncontent-length: {}\r\n\r\n",
            echoed.len()
        );
        let (begun, rest) = echoed.split_at(26);
        for piece in [head.as_str(), begun, rest] {
            let _sent = stream.write_all(piece.as_bytes());
            let _sent = stream.flush();
            std::thread::yield_now();
        }
    });
    let http = json!({
        "allow": [server.origin()],
        "credentials": [credential(&server.origin())],
    });
    let input = json!({"url": server.origin(), "headers": {
        "Authorization": "Bearer the-guests-own", "accept-encoding": "gzip",
    }});
    let result = fetch(&http, input).await;
    let request = server.requests().remove(0);
    let sent = request.matches("authorization: ").count();
    assert_eq!(sent, 1, "{request}");
    assert!(
        request.contains(&format!("authorization: Bearer {SECRET}\r\n")),
        "{request}"
    );
    assert!(
        request.contains("accept-encoding: identity\r\n"),
        "{request}"
    );
    // The guest did not read it.
    let covered = "*".repeat(SECRET.len());
    let body = answer(&result)["body"].as_str().unwrap();
    assert_eq!(
        body,
        format!("authorization: Bearer {covered} and {covered}")
    );
    assert!(!as_text(&result).contains(SECRET), "{result:?}");
    assert!(
        as_text(&result).contains(&format!("\"x-echo\",\"{covered}\"")),
        "{}",
        as_text(&result)
    );
}

#[tokio::test]
async fn a_credential_is_not_sent_to_another_origin_or_with_a_redirect() {
    let other = Server::echo();
    let location = format!("http://localhost:{}/", other.port());
    let first = Server::says(&format!(
        "HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
    ));
    let http = json!({
        "allow": [first.origin(), other.origin(), location],
        "credentials": [
            credential(&first.origin()),
            // The same host and port, with another scheme and with another name.
            credential(&format!("https://{}", other.address)),
            credential("http://localhost"),
        ],
    });
    let input = json!({"url": first.origin(), "follow": 1});
    let result = fetch(&http, input).await;
    assert!(first.requests()[0].contains(SECRET));
    assert_eq!(answer(&result)["url"], location.as_str());
    let result = fetch(&http, json!({"url": other.origin()})).await;
    assert_eq!(answer(&result)["status"], 200, "{result:?}");
    assert_eq!(other.accepted(), 2);
    assert!(
        !other.requests().concat().contains(SECRET),
        "{:?}",
        other.requests()
    );
    assert!(!other.requests().concat().contains("authorization"));
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
