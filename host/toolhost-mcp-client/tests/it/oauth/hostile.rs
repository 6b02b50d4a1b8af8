//! Servers and authorization servers that lie. Each test asserts where nothing was sent.

use std::time::{Duration, Instant};

use serde_json::json;
use toolhost::{ToolResult, mcp::McpOAuth};
use toolhost_mcp_client::{McpAuthorization, McpServer, McpStatus};

use super::servers::{Person, Servers, count, reason, received};
use crate::support::Place;

/// Starts servers of a mode, and a client that may reach these networks. Returns why it failed.
async fn refused(place: &Place, mode: &str, elsewhere: &str, networks: &[&str]) -> String {
    let servers = Servers::start(place, mode, elsewhere);
    let authorization = McpAuthorization::new().authorizer(Person::default());
    let config = servers.config(place, McpOAuth::default(), authorization, networks);
    let started = Instant::now();
    let server = McpServer::start(config, [place.agent()]).await.unwrap();
    let reason = reason(&server);
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{mode}: {reason}"
    );
    assert_eq!(
        count(place, "elsewhere", ""),
        0,
        "{mode}: {:?}",
        received(place)
    );
    assert_eq!(place.tools(), Vec::<String>::new(), "{mode}");
    reason
}

/// No token was ever issued, and none was sent.
fn has_no_token(place: &Place) -> bool {
    received(place)
        .iter()
        .all(|it| !it.authorization.starts_with("Bearer"))
}

#[tokio::test]
async fn metadata_do_not_lead_to_addresses_that_the_policy_does_not_have() {
    // The authorization server is at an address of this machine, which the policy does not list.
    let place = Place::new().await;
    let reason = refused(&place, "ok", "127.0.0.1", &[]).await;
    assert!(reason.contains("is not a public address"), "{reason}");
    assert_eq!(count(&place, "authority", ""), 0, "{:?}", received(&place));

    // Only 127.0.0.1 is listed, and something else is at 127.0.0.2.
    for mode in [
        "metadata-elsewhere",
        "token-elsewhere",
        "redirected-metadata",
    ] {
        let place = Place::new().await;
        let reason = refused(&place, mode, "127.0.0.2", &["127.0.0.1"]).await;
        assert!(!reason.contains("secret-0"), "{mode}: {reason}");
        assert_eq!(count(&place, "authority", "POST"), 0, "{mode}");
        assert!(has_no_token(&place), "{mode}");
    }
}

#[tokio::test]
async fn redirects_of_authorization_servers_are_not_followed() {
    // Even to an address that the policy has.
    for (mode, expected) in [
        ("redirected-metadata", "non-same-origin"),
        ("redirected-registration", "307"),
        ("redirected-token", "authorization"),
    ] {
        let place = Place::new().await;
        let reason = refused(&place, mode, "127.0.0.1", &["127.0.0.1"]).await;
        assert!(reason.contains(expected), "{mode}: {reason}");
        assert!(has_no_token(&place), "{mode}");
    }
}

#[tokio::test]
async fn metadata_of_another_server_or_issuer_are_refused_before_anything_is_registered() {
    for (mode, expected) in [
        ("other-issuer", "issuer mismatch"),
        ("other-resource", "resource mismatch"),
        ("no-pkce", "S256"),
        ("script", "authorization_endpoint"),
        ("many-authorities", "more than 40 requests"),
    ] {
        let place = Place::new().await;
        let reason = refused(&place, mode, "127.0.0.1", &["127.0.0.1"]).await;
        assert!(reason.contains(expected), "{mode}: {reason}");
        assert_eq!(count(&place, "authority", "POST"), 0, "{mode}");
        assert_eq!(count(&place, "authority", "GET /authorize"), 0, "{mode}");
        assert!(received(&place).len() < 60, "{mode}");
    }
}

#[tokio::test]
async fn answers_of_a_person_that_were_not_asked_for_are_refused() {
    for (mode, expected) in [
        ("other-state", "state not found"),
        ("refused", "access_denied"),
    ] {
        let place = Place::new().await;
        let reason = refused(&place, mode, "127.0.0.1", &["127.0.0.1"]).await;
        assert!(reason.contains(expected), "{mode}: {reason}");
        assert_eq!(count(&place, "authority", "POST /token"), 0, "{mode}");
    }
}

#[tokio::test]
async fn a_token_endpoint_that_floods_hangs_or_repeats_secrets_is_an_error() {
    for (mode, expected) in [
        ("large-token", "authorization, which failed"),
        ("silent-token", "authorization, which failed"),
        ("odd-token", "cannot be sent"),
        ("repeats-secrets", "invalid_request"),
    ] {
        let place = Place::new().await;
        let reason = refused(&place, mode, "127.0.0.1", &["127.0.0.1"]).await;
        assert!(reason.contains(expected), "{mode}: {reason}");
        assert!(!reason.contains("secret-0"), "{mode}: {reason}");
        assert!(has_no_token(&place), "{mode}");
    }
}

async fn write(place: &Place, servers: &Servers, person: &Person) -> (McpServer, ToolResult) {
    let authorization = McpAuthorization::new().authorizer(person.clone());
    let server = servers.connect(place, authorization).await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    let result = place.call("srv__write", json!({})).await;
    (server, result)
}

#[tokio::test]
async fn a_server_that_always_wants_another_scope_asks_a_person_three_times() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "endless-step-up", "127.0.0.1");
    let person = Person::default();
    let (_server, result) = write(&place, &servers, &person).await;
    let error = result.tool_error().unwrap();
    assert_eq!(error.code.to_string(), "MCP_UNAUTHORIZED", "{error:?}");
    assert!(
        error.message.contains("more than 3 authorizations"),
        "{error:?}"
    );
    assert_eq!(person.asked(), 3);
}

#[tokio::test]
async fn a_scope_that_was_asked_for_is_not_asked_for_again() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "same-step-up", "127.0.0.1");
    let person = Person::default();
    let (_server, result) = write(&place, &servers, &person).await;
    let error = result.tool_error().unwrap();
    assert_eq!(error.code.to_string(), "MCP_UNAUTHORIZED", "{error:?}");
    assert!(
        error.message.contains("were asked for already"),
        "{error:?}"
    );
    assert_eq!(person.asked(), 1);
}

#[tokio::test]
async fn a_server_that_redirects_a_call_does_not_get_the_token_sent_elsewhere() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "redirected-call", "127.0.0.1");
    let person = Person::default();
    let authorization = McpAuthorization::new().authorizer(person.clone());
    let oauth = McpOAuth {
        scopes: vec!["read".to_owned(), "write".to_owned()],
        ..McpOAuth::default()
    };
    let config = servers.config(&place, oauth, authorization, &["127.0.0.1"]);
    let _server = McpServer::start(config, [place.agent()]).await.unwrap();
    let (code, message) = place.error("srv__write", json!({})).await;
    assert_eq!(code, "MCP_UNAVAILABLE", "{message}");
    assert!(message.contains("307"), "{message}");
    assert_eq!(count(&place, "elsewhere", ""), 0);
    assert_eq!(person.asked(), 1);
}
