//! Tokens: got, kept, renewed, and sent to one origin.

use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::time::Duration;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use toolhost::{
    Policy, ResourceName,
    mcp::{McpOAuth, McpOAuthGrant, McpReach},
};
use toolhost_mcp_client::{McpAuthorization, McpLimits, McpServer, McpStatus};
use zeroize::Zeroizing;

use super::servers::{
    Nobody, Person, REDIRECT, Servers, SlowPerson, change_database, count, fill_disk, grants,
    reason, received,
};
use crate::support::{Place, until};

#[tokio::test]
async fn a_person_authorizes_once_and_the_token_goes_to_the_server_alone() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "ok", "127.0.0.1");
    let person = Person::default();
    let authorization = McpAuthorization::new()
        .authorizer(person.clone())
        .grants(grants(&place));
    let server = servers.connect(&place, authorization).await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    // The token is replaced in what the server returns.
    let headers = place.output("srv__headers", json!({})).await;
    assert_eq!(headers, json!("Bearer ******************"));
    assert_eq!(person.asked(), 1);
    for request in received(&place) {
        let has_token = request.authorization.contains("access-secret")
            || request.line.contains("access-secret")
            || request.body.contains("access-secret");
        assert!(!has_token || request.who == "server", "{request:?}");
        let of_authority = ["refresh-secret", "client-secret", "code_verifier"];
        let others = of_authority.iter().any(|it| request.body.contains(it));
        assert!(!others || request.who == "authority", "{request:?}");
        assert_ne!(request.who, "elsewhere", "{request:?}");
    }
    server.close().await;

    // Another process, without a person.
    let server = servers
        .connect(&place, McpAuthorization::new().grants(grants(&place)))
        .await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    assert_eq!(count(&place, "authority", "GET /authorize"), 1);
    assert!(!format!("{server:?}").contains("secret-0"));
}

#[tokio::test]
async fn without_a_person_a_call_says_how_to_log_in() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "ok", "127.0.0.1");
    let person = McpAuthorization::new().authorizer(Person::default());
    let server = servers.connect(&place, person).await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    server.close().await;

    let server = servers.connect(&place, McpAuthorization::new()).await;
    assert!(
        reason(&server).contains("it requires authorization"),
        "{server:?}"
    );
    server.close().await;
    assert_eq!(count(&place, "authority", "POST /token"), 1);
}

#[tokio::test]
async fn a_missing_scope_is_asked_for_with_those_that_were_granted() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "ok", "127.0.0.1");
    let person = Person::default();
    let authorization = McpAuthorization::new().authorizer(person.clone());
    let _server = servers.connect(&place, authorization).await;
    assert_eq!(place.output("srv__write", json!({})).await, json!("hello"));
    assert_eq!(person.asked(), 2);
    let pages = received(&place).into_iter().map(|request| request.line);
    let pages: Vec<String> = pages
        .filter(|line| line.starts_with("GET /authorize"))
        .collect();
    assert!(
        pages[0].contains("scope=read&") || pages[0].ends_with("scope=read"),
        "{pages:?}"
    );
    assert!(pages[1].contains("scope=read+write"), "{pages:?}");
    assert!(
        pages
            .iter()
            .all(|page| page.contains("code_challenge_method=S256")),
        "{pages:?}"
    );
    // The same client.
    assert_eq!(count(&place, "authority", "POST /register"), 1);
}

#[tokio::test]
async fn a_missing_scope_without_a_person_is_an_error_of_the_call() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "ok", "127.0.0.1");
    let person = McpAuthorization::new()
        .authorizer(Person::default())
        .grants(grants(&place));
    servers.connect(&place, person).await.close().await;
    let _server = servers
        .connect(&place, McpAuthorization::new().grants(grants(&place)))
        .await;
    let result = place.call("srv__write", json!({})).await;
    let error = result.tool_error().unwrap();
    assert_eq!(error.code.to_string(), "MCP_UNAUTHORIZED", "{error:?}");
    assert!(
        error.message.contains("requires the scopes 'write'"),
        "{error:?}"
    );
    let suggestion = error.suggestion.as_deref().unwrap_or_default();
    assert!(suggestion.contains("toolhost mcp login srv"), "{error:?}");
    // The connection is as good as before.
    assert_eq!(place.output("srv__echo", json!({})).await, json!("hello"));
}

#[tokio::test]
async fn a_token_that_expires_is_renewed_once_by_two_processes() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "expires", "127.0.0.1");
    let person = Person::default();
    let authorization = McpAuthorization::new()
        .authorizer(person.clone())
        .grants(grants(&place));
    servers.connect(&place, authorization).await.close().await;
    // The first has renewed it already, for the list of tools.
    let renewed = count(&place, "authority", "POST /token");
    assert_eq!(renewed, 2, "{:?}", received(&place));
    let other = Place::new().await;
    let store = || McpAuthorization::new().grants(grants(&place));
    let (one, two) = tokio::join!(
        servers.connect(&place, store()),
        servers.connect(&other, store())
    );
    for server in [one, two] {
        assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    }
    assert_eq!(count(&place, "authority", "POST /token"), renewed);
    assert_eq!(person.asked(), 1);
}

#[tokio::test]
async fn a_login_keeps_a_token_that_two_processes_renew_once() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "expires", "127.0.0.1");
    let person = McpAuthorization::new()
        .authorizer(Person::default())
        .grants(grants(&place));
    let http = servers.http(&place, McpOAuth::default(), person, &["127.0.0.1"]);
    let name = ResourceName::parse("srv").unwrap();
    let scopes = ["write".to_owned()];
    let limits = McpLimits::default();
    let login = http.authorize(&name, &limits, &scopes);
    login.await.unwrap();
    assert_eq!(count(&place, "authority", "POST /token"), 1);

    // It has expired for both, and the refresh token is valid once.
    let other = Place::new().await;
    let store = || McpAuthorization::new().grants(grants(&place));
    let (one, two) = tokio::join!(
        servers.connect(&place, store()),
        servers.connect(&other, store())
    );
    for server in [&one, &two] {
        assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    }
    assert_eq!(count(&place, "authority", "POST /token"), 2);
    // With the scope of the login.
    assert_eq!(place.output("srv__write", json!({})).await, json!("hello"));
    assert_eq!(count(&place, "authority", "GET /authorize"), 1);
}

#[tokio::test]
async fn calls_that_wait_for_one_person_share_the_question_and_outlive_no_answer() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "ok", "127.0.0.1");
    let slow = SlowPerson::default();
    let authorization = McpAuthorization::new().authorizer(slow.clone());
    let _server = servers.connect(&place, authorization).await;
    // The caller gives up, and the question stays.
    let limit = Duration::from_millis(300);
    let call = place.call("srv__write", json!({}));
    assert!(tokio::time::timeout(limit, call).await.is_err());
    assert_eq!(slow.person.asked(), 2);
    let answer = async {
        tokio::time::sleep(limit).await;
        slow.allowed.notify_one();
    };
    let write = || place.output("srv__write", json!({}));
    let (one, two, ()) = tokio::join!(write(), write(), answer);
    assert_eq!((one, two), (json!("hello"), json!("hello")));
    assert_eq!(slow.person.asked(), 2);
}

#[tokio::test]
async fn a_token_that_is_revoked_is_renewed_without_a_person() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "revoked", "127.0.0.1");
    let person = Person::default();
    let authorization = McpAuthorization::new().authorizer(person.clone());
    let _server = servers.connect(&place, authorization).await;
    until("the token is renewed", async || {
        assert_eq!(place.output("srv__echo", json!({})).await, json!("hello"));
        count(&place, "authority", "POST /token") == 2
    })
    .await;
    assert_eq!(person.asked(), 1);
}

#[tokio::test]
async fn a_refresh_token_that_is_refused_needs_a_person() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "no-refresh", "127.0.0.1");
    let person = Person::default();
    let authorization = McpAuthorization::new()
        .authorizer(person.clone())
        .grants(grants(&place));
    let _server = servers.connect(&place, authorization).await;
    assert_eq!(place.output("srv__echo", json!({})).await, json!("hello"));
    // It expires at once, and is used until the server refuses it.
    assert_eq!(person.asked(), 1);
}

#[tokio::test]
async fn a_person_who_does_not_answer_is_not_waited_for_longer() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "ok", "127.0.0.1");
    let authorization = McpAuthorization::new().authorizer(Nobody);
    let mut config = servers.config(&place, McpOAuth::default(), authorization, &["127.0.0.1"]);
    config.limits.authorization = Duration::from_millis(300);
    let server = McpServer::start(config, [place.agent()]).await.unwrap();
    assert!(
        reason(&server).contains("nobody authorized it within 0 s"),
        "{server:?}"
    );
    let result = place.agent().catalog();
    assert!(result.items().is_empty());
}

#[tokio::test]
async fn the_client_of_the_policy_is_used_with_its_issuer_alone() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "no-registration", "127.0.0.1");
    let person = || McpAuthorization::new().authorizer(Person::default());
    let own = |issuer: String| McpOAuth {
        issuer: Some(issuer),
        client_id: Some("own-client".to_owned()),
        client_secret: Some(Zeroizing::new("own-client-secret".to_owned())),
        ..McpOAuth::default()
    };
    let start = async |oauth: McpOAuth| {
        let config = servers.config(&place, oauth, person(), &["127.0.0.1"]);
        McpServer::start(config, [place.agent()]).await.unwrap()
    };
    let server = start(McpOAuth::default()).await;
    assert!(
        reason(&server).contains("registers no clients"),
        "{server:?}"
    );
    server.close().await;

    let server = start(own("https://auth.example".to_owned())).await;
    assert!(
        reason(&server).contains("the policy has the issuer"),
        "{server:?}"
    );
    server.close().await;
    assert_eq!(count(&place, "authority", "GET /authorize"), 0);
    assert_eq!(count(&place, "authority", "POST"), 0);

    let server = start(own(servers.issuer())).await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    assert!(!format!("{server:?}").contains("own-client-secret"));
    let requests = received(&place);
    let token = requests.iter().find(|it| it.line == "POST /token").unwrap();
    // own-client:own-client-secret
    assert_eq!(
        token.authorization,
        "Basic b3duLWNsaWVudDpvd24tY2xpZW50LXNlY3JldA=="
    );
}

#[tokio::test]
async fn a_client_with_a_secret_needs_no_person() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "no-registration", "127.0.0.1");
    let start = async |secret: &str| {
        let oauth = McpOAuth {
            issuer: Some(servers.issuer()),
            client_id: Some("own-client".to_owned()),
            client_secret: Some(Zeroizing::new(secret.to_owned())),
            grant: McpOAuthGrant::ClientCredentials,
            ..McpOAuth::default()
        };
        let person = McpAuthorization::new().authorizer(Person::default());
        let config = servers.config(&place, oauth, person, &["127.0.0.1"]);
        McpServer::start(config, [place.agent()]).await.unwrap()
    };
    let server = start("wrong-client-secret").await;
    let refused = reason(&server);
    assert!(refused.contains("invalid_client"), "{refused}");
    assert!(!refused.contains("wrong-client-secret"), "{refused}");
    server.close().await;

    let server = start("own-client-secret").await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    // A missing scope is asked for as well.
    assert_eq!(place.output("srv__write", json!({})).await, json!("hello"));
    assert_eq!(count(&place, "authority", "GET /authorize"), 0);
    assert_eq!(count(&place, "authority", "POST /token"), 3);
    drop(server);
}

#[test]
fn the_policy_of_the_page_turns_oauth_on() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mcp-servers.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = page.split("```yaml\n").nth(3).unwrap();
    let policy = Policy::parse(block.split("```").next().unwrap(), "policy.yaml").unwrap();
    let tracker = ResourceName::parse("tracker").unwrap();
    let McpReach::Endpoint { oauth, .. } = policy.mcp_grant(&tracker).unwrap().reach else {
        panic!("it is a URL");
    };
    assert_eq!(oauth, Some(McpOAuth::default()));
}

#[tokio::test]
async fn a_rotated_refresh_token_is_kept_while_it_cannot_be_stored_and_stored_later() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "expires", "127.0.0.1");
    // The first token, which expires at once, is stored: the server rotates the refresh token with the next
    // request.
    let own = grants(&place);
    fill_disk(&place);
    let person = Person::default();
    let authorization = McpAuthorization::new()
        .authorizer(person.clone())
        .grants(own.clone());
    let server = servers.connect(&place, authorization).await;
    for _ in 0..3 {
        assert_eq!(place.output("srv__echo", json!({})).await, json!("hello"));
    }
    assert_eq!(count(&place, "authority", "POST /token"), 2);
    let url = format!("http://127.0.0.1:{}/mcp", servers.server);
    let stored = own.server(&ResourceName::parse("srv").unwrap(), &url);
    let first = stored.load().await.unwrap().unwrap();
    change_database(&place, "DROP TRIGGER full");
    // It is stored with the next attempt, or with the last one, which closing makes.
    server.close().await;
    until("the token is stored", async || {
        stored.load().await.unwrap().as_ref() != Some(&first)
    })
    .await;
    // So another process needs neither a person nor a renewal.
    let server = servers
        .connect(&place, McpAuthorization::new().grants(grants(&place)))
        .await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    assert_eq!(person.asked(), 1);
    assert_eq!(count(&place, "authority", "POST /token"), 2);
}

#[tokio::test]
async fn a_token_that_cannot_be_stored_is_not_replaced_by_the_one_before_it() {
    let place = Place::new().await;
    // The first token, which is stored, is revoked. The second one expires at once.
    let servers = Servers::start(&place, "fades", "127.0.0.1");
    let own = grants(&place);
    fill_disk(&place);
    let person = Person::default();
    let authorization = McpAuthorization::new()
        .authorizer(person.clone())
        .grants(own);
    let _server = servers.connect(&place, authorization).await;
    until("the third token is used", async || {
        assert_eq!(place.output("srv__echo", json!({})).await, json!("hello"));
        count(&place, "authority", "POST /token") == 3
    })
    .await;
    assert_eq!(person.asked(), 1);
}

#[tokio::test]
async fn a_renewal_goes_on_when_the_call_that_needs_it_is_dropped() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "slow-renewal", "127.0.0.1");
    let person = Person::default();
    let authorization = McpAuthorization::new()
        .authorizer(person.clone())
        .grants(grants(&place));
    let server = servers.connect(&place, authorization).await;
    until("a renewal has begun", async || {
        // The call is dropped before the server sends the token that it has made, and so is the connection.
        let call = place.call("srv__echo", json!({}));
        let _ = tokio::time::timeout(Duration::from_millis(5), call).await;
        count(&place, "authority", "POST /token") == 2
    })
    .await;
    server.close().await;
    let stored = McpAuthorization::new().grants(grants(&place));
    let _server = servers.connect(&place, stored).await;
    assert_eq!(place.output("srv__echo", json!({})).await, json!("hello"));
    assert_eq!(count(&place, "authority", "POST /token"), 2);
    assert_eq!(person.asked(), 1);
}

#[tokio::test]
async fn a_login_of_the_first_release_is_taken_over() {
    let place = Place::new().await;
    let servers = Servers::start(&place, "ok", "127.0.0.1");
    let person = McpAuthorization::new()
        .authorizer(Person::default())
        .grants(grants(&place));
    servers.connect(&place, person).await.close().await;
    // As version 0.1 kept it.
    let name = ResourceName::parse("srv").unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", servers.server);
    let own = grants(&place);
    let stored = own.server(&name, &url);
    let record: Value =
        serde_json::from_str(stored.load().await.unwrap().unwrap().expose()).unwrap();
    let earlier = json!({
        "version": 1,
        "url": url,
        "issuer": servers.issuer(),
        "client_id": record["client_id"],
        "client_secret": record["client_secret"],
        "redirect_uri": REDIRECT,
        "scopes": record["scopes"],
        "access_token": record["access_token"],
        "refresh_token": record["refresh_token"],
        "expires_at": record["expires_at"],
    });
    assert!(stored.remove().await.unwrap());
    let digest: String = Sha256::digest(url.as_bytes())
        .iter()
        .take(8)
        .map(|it| format!("{it:02x}"))
        .collect();
    let folder = place.dir.path().join("state/mcp-credentials");
    let file = folder.join(format!("srv.{digest}.json"));
    DirBuilder::new().mode(0o700).create(&folder).unwrap();
    std::fs::write(&file, earlier.to_string()).unwrap();
    std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();

    let server = servers
        .connect(&place, McpAuthorization::new().grants(own.clone()))
        .await;
    assert_eq!(server.status(), McpStatus::Ready { tools: 3 });
    assert_eq!(count(&place, "authority", "POST /token"), 1);
    assert!(!folder.exists());
    let taken = stored.load().await.unwrap().unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(taken.expose()).unwrap(),
        earlier
    );
}
