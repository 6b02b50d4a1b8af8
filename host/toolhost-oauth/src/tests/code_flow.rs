//! Authorization codes.

use sha2::{Digest as _, Sha256};

use super::*;

// requirements-v1 §12.6.4 (2)
#[tokio::test]
async fn the_authorization_url_has_a_challenge_of_s256_a_state_and_the_apps_parameters() {
    let mut world = World::new(rotating());
    let extra = ("access_type".to_owned(), "offline".to_owned());
    world.app.parameters.extend([extra]);
    let required = required(world.token().await);
    let url = Url::parse(&required.authorization_url).unwrap();
    assert!(
        url.as_str()
            .starts_with(&format!("{}/auth?", world.server.url))
    );
    for (name, value) in [
        ("response_type", "code"),
        ("client_id", "client"),
        ("code_challenge_method", "S256"),
        ("scope", "read write"),
        ("redirect_uri", "http://127.0.0.1:8765/callback"),
        ("access_type", "offline"),
    ] {
        assert_eq!(parameter(&url, name), value, "{name}");
    }
    assert_eq!(parameter(&url, "code_challenge").len(), 43);
    let state = parameter(&url, "state");
    assert!(state.starts_with(&required.auth_session_id) && state.len() > 50);
    assert!(world.server.requests().is_empty());
}

// requirements-v1 §12.6.4 (4), (5) and §12.6.1 (4), (5)
#[tokio::test]
async fn a_callback_exchanges_the_code_with_the_stored_verifier_and_stores_the_grant() {
    let world = World::new(rotating());
    let mut events = world.oauth.granted();
    let url = world.begin().await;
    // Another process, as the command line would be.
    let other = open(world.root.path(), &world.clock, Duration::from_secs(10));
    let query = format!("?code=code%2D1&state={}", parameter(&url, "state"));
    let granted = world.callback(&query).await.unwrap();
    assert_eq!(granted.scopes, ["read", "write"]);
    assert_eq!(events.recv().await.unwrap(), granted);
    let sent = world.server.requests();
    let form = &sent[0].form;
    assert_eq!((sent.len(), sent[0].path.as_str()), (1, "/token"));
    assert_eq!(form["grant_type"], "authorization_code");
    assert_eq!(
        (form["code"].as_str(), form["client_id"].as_str()),
        ("code-1", "client")
    );
    assert_eq!(form["redirect_uri"], "http://127.0.0.1:8765/callback");
    let challenge = Sha256::digest(form["code_verifier"].as_bytes());
    let challenge = data_encoding::BASE64URL_NOPAD.encode(&challenge);
    assert_eq!(challenge, parameter(&url, "code_challenge"));
    for oauth in [&world.oauth, &other] {
        let token = oauth.access_token(&world.app, None, None, Duration::ZERO);
        assert_eq!(ready(&token.await), "access-1");
    }
    assert_eq!(
        world.server.requests().len(),
        1,
        "a valid token sends nothing"
    );
    let grants = other.grants().await.unwrap();
    assert_eq!(grants.len(), 1);
    assert!(grants[0].can_refresh && grants[0].subject.is_none());
}

// requirements-v1 §12.6.4 (3)
#[tokio::test]
async fn a_callback_is_refused_unless_state_session_and_expiry_are_right_and_only_once() {
    let world = World::new(rotating());
    let state = parameter(&world.begin().await, "state");
    let session = state.split('.').next().unwrap();
    let refused = async |query: String| world.callback(&query).await.unwrap_err();
    let foreign = "a".repeat(26);
    use CallbackError as E;
    for query in [
        "",
        "code=1",
        "state=x.y&code=1",
        &format!("code=1&state={foreign}.{foreign}"),
    ] {
        let error = refused(query.to_owned()).await;
        assert!(
            matches!(error, E::Malformed(_) | E::UnknownSession),
            "{query}: {error}"
        );
    }
    for (more, name) in [
        ("", "neither"),
        ("&code=1&error=e", "both"),
        ("&code=1&code=2", "twice"),
    ] {
        let error = refused(format!("state={state}{more}")).await;
        assert!(matches!(error, E::Malformed(_)), "{name}: {error}");
    }
    let error = refused(format!("code=1&state={session}.{foreign}")).await;
    assert!(matches!(error, E::StateMismatch), "{error}");
    assert!(world.server.requests().is_empty(), "no code was exchanged");
    // A stranger's callback did not end the session.
    world
        .callback(&format!("code=1&state={state}"))
        .await
        .unwrap();
    let error = refused(format!("code=1&state={state}")).await;
    assert!(matches!(error, E::UnknownSession), "{error}");
    let state = parameter(&world.begin().await, "state");
    world.clock.forward(601);
    let error = refused(format!("code=1&state={state}")).await;
    assert!(matches!(error, E::Expired), "{error}");
    assert_eq!(world.server.requests().len(), 1, "one code was exchanged");
}

#[tokio::test]
async fn a_refusal_another_issuer_and_a_changed_app_end_the_session_without_a_request() {
    let mut world = World::new(rotating());
    world.app.issuer = Some("https://issuer.example".to_owned());
    let check = async |world: &World, query: &str, apps: &[OAuthApp]| {
        let state = parameter(&world.begin().await, "state");
        let query = format!("{query}&state={state}");
        let error = world.oauth.callback(&query, apps).await.unwrap_err();
        let again = world.oauth.callback(&query, apps).await.unwrap_err();
        assert!(matches!(again, CallbackError::UnknownSession), "{again}");
        error.to_string()
    };
    let own = [world.app.clone()];
    let denied = check(&world, "error=access_denied&error_description=x", &own).await;
    assert!(!denied.contains("issuer.example"), "{denied}");
    for query in ["code=1", "code=1&iss=https%3A%2F%2Fevil.example"] {
        let error = check(&world, query, &own).await;
        assert!(error.contains("issuer"), "{error}");
    }
    let mut changed = own.clone();
    changed[0].token_url = format!("{}/other", world.server.url);
    let error = check(&world, "code=1", &changed).await;
    assert!(error.contains("changed"), "{error}");
    assert!(check(&world, "code=1", &[]).await.contains("changed"));
    assert!(world.server.requests().is_empty());
}

#[tokio::test]
async fn an_open_session_is_returned_again_until_little_time_is_left() {
    let world = World::new(rotating());
    let first = required(world.token().await);
    world.clock.forward(400);
    assert_eq!(required(world.token().await), first);
    world.clock.forward(100);
    assert_ne!(required(world.token().await), first);
    let read = ["read".to_owned()];
    let fewer = world
        .oauth
        .access_token(&world.app, None, Some(&read), Duration::ZERO);
    assert_ne!(required(fewer.await).auth_session_id, first.auth_session_id);
}

// requirements-v1 §12.6.1 (1), (2), (3)
#[tokio::test]
async fn each_user_has_a_grant_and_scopes_of_no_app_are_refused() {
    let mut world = World::new(rotating());
    world.app.subject_mode = SubjectMode::User;
    let app = &world.app;
    assert!(matches!(
        error(world.token().await),
        OAuthError::NoSubject { .. }
    ));
    let token = |user| {
        world
            .oauth
            .access_token(app, Some(user), None, Duration::ZERO)
    };
    let url = required(token("ada").await).authorization_url;
    let state = parameter(&Url::parse(&url).unwrap(), "state");
    let granted = world
        .callback(&format!("code=1&state={state}"))
        .await
        .unwrap();
    assert_eq!(granted.subject.as_deref(), Some("ada"));
    assert_eq!(ready(&token("ada").await), "access-1");
    required(token("bob").await);
    let admin = ["admin".to_owned()];
    let refused = world
        .oauth
        .access_token(app, Some("ada"), Some(&admin), Duration::ZERO);
    assert!(matches!(error(refused.await), OAuthError::Scope { .. }));
}

#[tokio::test]
async fn a_scope_that_was_not_asked_for_requires_an_authorization_of_both() {
    let world = World::new(rotating());
    let one = |name: &str| vec![name.to_owned()];
    let (read, write) = (one("read"), one("write"));
    let begun = world
        .oauth
        .authorize(&world.app, None, Some(&read))
        .await
        .unwrap();
    let state = parameter(&Url::parse(&begun.authorization_url).unwrap(), "state");
    world
        .callback(&format!("code=1&state={state}"))
        .await
        .unwrap();
    let token = |scopes| {
        world
            .oauth
            .access_token(&world.app, None, Some(scopes), Duration::ZERO)
    };
    ready(&token(&read).await);
    let more = required(token(&write).await).authorization_url;
    assert_eq!(
        parameter(&Url::parse(&more).unwrap(), "scope"),
        "read write"
    );
}

#[tokio::test]
async fn a_client_with_a_secret_sends_it_as_the_app_has_it() {
    let mut world = World::new(rotating());
    world.app.client_secret = Some(Secret::new("s%1"));
    world.login().await;
    world.app.client_auth = OAuthClientAuth::Body;
    world.login().await;
    let sent = world.server.requests();
    assert!(
        sent[0]
            .head
            .contains("authorization: Basic Y2xpZW50OnMlMjUx")
    );
    assert_eq!(sent[1].form["client_secret"], "s%1");
    assert!(!sent[1].head.contains("authorization:"));
}
