//! Servers that break the protocol: each call gets a structured error, and the server is started again.

use std::time::{Duration, Instant};

use serde_json::json;
use toolhost_mcp_client::McpStatus;

use crate::support::{Place, until};

/// Calls a tool of a server in this mode. Returns the code and the message.
async fn error_of(mode: &str, tool: &str) -> (String, String) {
    let place = Place::new().await;
    let _server = place
        .start_with(mode, |config| {
            config.limits.send = Duration::from_millis(500);
            // More calls than the next attempt takes would wait for it.
            config.limits.backoff_min = Duration::from_secs(5);
        })
        .await;
    let started = Instant::now();
    let error = place.error(tool, json!({"text": "x"})).await;
    let took = started.elapsed();
    assert!(took < Duration::from_secs(10), "{mode}: {took:?}");
    error
}

#[tokio::test]
async fn a_server_that_dies_in_a_call_is_an_error_with_its_last_words_and_is_started_again() {
    let place = Place::new().await;
    let _server = place.start("ok").await;
    let first = place.output("srv__pid", json!({})).await;
    let (code, message) = place.error("srv__crash", json!({})).await;
    assert_eq!(code, "MCP_UNAVAILABLE");
    assert!(
        message.contains("the call may have taken effect"),
        "{message}"
    );
    place.recovers().await;
    assert_ne!(place.output("srv__pid", json!({})).await, first);
    // The call was not repeated.
    assert_eq!(place.recorded().matches("call crash").count(), 1);
}

#[tokio::test]
async fn a_server_that_cannot_start_says_why() {
    let place = Place::new().await;
    let server = place.start("dies").await;
    let McpStatus::Unavailable { reason } = server.status() else {
        panic!("{server:?}");
    };
    assert_eq!(
        reason,
        "its process ended with exit status: 7; the last line of its standard error: no database"
    );
    let mut config = place.scripted("ok");
    config.name = toolhost::ResourceName::parse("other").unwrap();
    if let toolhost_mcp_client::McpTransport::Stdio(stdio) = &mut config.transport {
        stdio.program = "no-such-program".to_owned();
    }
    let other = toolhost_mcp_client::McpServer::start(config, [place.agent()])
        .await
        .unwrap();
    let McpStatus::Unavailable { reason } = other.status() else {
        panic!("{other:?}");
    };
    assert!(
        reason.starts_with("the program 'no-such-program' could not be started: "),
        "{reason}"
    );
}

#[tokio::test]
async fn a_server_that_fails_to_start_is_started_again_and_its_tools_appear() {
    let place = Place::new().await;
    let _server = place.start("dies-once").await;
    until("it has tools", async || !place.tools().is_empty()).await;
    place.echoes().await;
}

#[tokio::test]
async fn after_many_failures_the_next_attempt_waits_for_a_call() {
    let place = Place::new().await;
    let server = place
        .start_with("ok", |config| config.limits.attempts = 2)
        .await;
    place.error("srv__crash", json!({})).await;
    place.recovers().await;
    // The second failure in a row, as none of the connections was stable.
    place.error("srv__crash", json!({})).await;
    until("it is down", async || {
        matches!(server.status(), McpStatus::Unavailable { .. })
    })
    .await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(
        matches!(server.status(), McpStatus::Unavailable { .. }),
        "{server:?}"
    );
    place.echoes().await;
}

#[tokio::test]
async fn a_server_that_hangs_at_its_start_is_given_up() {
    let place = Place::new().await;
    let started = Instant::now();
    let limit = Duration::from_millis(700);
    let server = place
        .start_with("hangs", |config| config.limits.start = limit)
        .await;
    assert!(started.elapsed() < Duration::from_secs(5));
    let McpStatus::Unavailable { reason } = server.status() else {
        panic!("{server:?}");
    };
    assert_eq!(
        reason,
        "it did not initialize and list its tools within 0.7 s"
    );
}

#[tokio::test]
async fn a_line_of_100_mb_ends_the_connection_at_its_limit() {
    let (code, message) = error_of("long-line", "srv__echo").await;
    assert_eq!(code, "MCP_UNAVAILABLE");
    assert!(
        message.contains("it sent a line of more than 16777216 bytes"),
        "{message}"
    );
}

#[tokio::test]
async fn messages_that_answer_nothing_end_the_connection_if_they_do_not_end() {
    let (code, message) = error_of("endless-flood", "srv__echo").await;
    assert_eq!(code, "MCP_UNAVAILABLE");
    assert!(
        message.contains("it sent more than 10000 messages in 10 s"),
        "{message}"
    );
}

#[tokio::test]
async fn thousands_of_notifications_before_an_answer_are_dropped() {
    let place = Place::new().await;
    let _server = place.start("flood").await;
    place.echoes().await;
}

#[tokio::test]
async fn a_server_that_asks_a_thousand_questions_at_once_is_given_up() {
    let (code, message) = error_of("requests", "srv__echo").await;
    assert_eq!(code, "MCP_UNAVAILABLE");
    assert!(
        message.contains("it sent more than 32 requests that wait for an answer"),
        "{message}"
    );
}

#[tokio::test]
async fn a_server_that_reads_nothing_is_given_up() {
    let place = Place::new().await;
    let _server = place
        .start_with("no-reading", |config| {
            config.limits.send = Duration::from_millis(500);
            config.limits.backoff_min = Duration::from_secs(5);
        })
        .await;
    let large = json!({"text": "x".repeat(900_000)});
    let first = place.call("srv__echo", large.clone());
    let second = place.call("srv__echo", large);
    let started = Instant::now();
    let (first, second) = tokio::join!(first, second);
    assert!(started.elapsed() < Duration::from_secs(10));
    for result in [first, second] {
        let error = result.tool_error().unwrap();
        assert_eq!(error.code.to_string(), "MCP_UNAVAILABLE");
        assert!(
            error
                .message
                .contains("it did not read a message within 0.5 s"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_is_no_result_is_an_error_at_once() {
    let (code, message) = error_of("wrong-shape", "srv__echo").await;
    assert_eq!(code, "MCP_INVALID_ANSWER", "{message}");
}

#[tokio::test]
async fn a_server_that_cannot_take_server_discover_is_started_again_with_initialize() {
    for mode in [
        "discover-ends-it",
        "discover-is-nonsense",
        "discover-then-ends",
        "discover-hangs-it",
    ] {
        let place = Place::new().await;
        let start = async || {
            place
                .start_with(mode, |config| {
                    // Half of it is for `server/discover`.
                    config.limits.start = Duration::from_secs(6);
                    config.state_dir = Some(place.dir.path().join("startups"));
                })
                .await
        };
        let server = start().await;
        assert_eq!(server.status(), McpStatus::Ready { tools: 14 }, "{mode}");
        place.echoes().await;
        server.close().await;
        let starts = place.recorded().matches("first server/discover").count();
        assert_eq!(starts, 1, "{mode}");
        // Later starts of the same program do not ask, in this process or another one.
        let server = start().await;
        place.echoes().await;
        server.close().await;
        let recorded = place.recorded();
        let asked = recorded.matches("first server/discover").count();
        // A connection that outlives the nonsense needs no second process, and nothing to remember.
        let expected = 1 + usize::from(mode == "discover-is-nonsense");
        assert_eq!(asked, expected, "{mode}: {recorded}");
    }
}

#[tokio::test]
async fn foreign_and_repeated_answers_reach_no_call() {
    let place = Place::new().await;
    let _server = place.start("foreign").await;
    for _ in 0..3 {
        assert_eq!(
            place.output("srv__echo", json!({"text": "x"})).await,
            json!("right")
        );
    }
}

#[tokio::test]
async fn lines_that_are_no_messages_are_skipped() {
    let place = Place::new().await;
    let _server = place.start("garbage").await;
    place.echoes().await;
    place.echoes().await;
}
