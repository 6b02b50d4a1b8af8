//! Each flow, and the end of a grant.

use toolhost_oauth::{DevicePoll, OAuthError, Revoked};

use super::support::*;
use toolhost_oauth::{OAuthFlow, TokenResult};

use std::sync::Arc;
use std::sync::atomic::Ordering;

#[tokio::test]
async fn a_code_is_exchanged_refreshed_and_revoked() {
    let Some(provider) = Provider::start() else {
        return;
    };
    for client in ["public", "private"] {
        let (root, clock) = (tempfile::tempdir().unwrap(), Arc::new(Forward::default()));
        let oauth = open(root.path(), &clock);
        let app = provider.app(client, OAuthFlow::AuthorizationCode);
        let first = login(&provider, &oauth, &app).await;
        let before = provider.refreshes().len();
        assert_eq!(ready(token(&oauth, &app).await), first);
        assert_eq!(provider.refreshes().len(), before);
        let mut last = first;
        for _ in 0..3 {
            clock.0.fetch_add(3601, Ordering::SeqCst);
            let next = ready(token(&oauth, &app).await);
            assert_ne!(next, last);
            last = next;
        }
        assert_eq!(provider.refreshes()[before..], [200; 3]);
        let revoked = oauth.revoke(&app, None).await.unwrap();
        assert_eq!(revoked, Revoked::AtServer);
        assert!(oauth.grants().await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_wrong_client_secret_is_an_error_that_does_not_repeat_it() {
    let Some(provider) = Provider::start() else {
        return;
    };
    let (root, clock) = (tempfile::tempdir().unwrap(), Arc::new(Forward::default()));
    let oauth = open(root.path(), &clock);
    let mut app = provider.app("private", OAuthFlow::AuthorizationCode);
    login(&provider, &oauth, &app).await;
    app.client_secret = Some(toolhost_oauth::Secret::new("wrong-secret"));
    clock.0.store(3601, Ordering::SeqCst);
    let TokenResult::Error(error) = token(&oauth, &app).await else {
        panic!("an error")
    };
    assert!(matches!(&error, OAuthError::Refused { code, .. } if code == "invalid_client"));
    assert!(
        oauth.grants().await.unwrap()[0].can_refresh,
        "nothing is forgotten"
    );
}

#[tokio::test]
async fn a_device_code_is_granted_or_refused_by_a_person() {
    let Some(provider) = Provider::start() else {
        return;
    };
    let (root, clock) = (tempfile::tempdir().unwrap(), Arc::new(Forward::default()));
    let oauth = open(root.path(), &clock);
    let app = provider.app("public", OAuthFlow::DeviceCode);
    for (person, denies) in [("", false), ("&denies", true)] {
        let begun = oauth.authorize(&app, None, None).await.unwrap();
        let poll = async || {
            clock.0.fetch_add(6, Ordering::SeqCst);
            oauth
                .poll_device(&app, &begun.auth_session_id)
                .await
                .unwrap()
        };
        assert!(matches!(poll().await, DevicePoll::Pending { .. }));
        let url = encoded(&begun.authorization_url);
        let page = provider.control(&format!("/device?url={url}{person}"));
        assert_eq!(page["status"], 200, "{page}");
        match poll().await {
            DevicePoll::Granted(granted) if !denies => {
                assert_eq!(granted.scopes, ["read", "write"]);
            }
            DevicePoll::Denied if denies => {}
            other => panic!("{other:?}"),
        }
    }
    let first = ready(token(&oauth, &app).await);
    clock.0.fetch_add(3601, Ordering::SeqCst);
    assert_ne!(ready(token(&oauth, &app).await), first);
}

#[tokio::test]
async fn a_family_that_the_server_revoked_requires_a_new_authorization() {
    let Some(provider) = Provider::start() else {
        return;
    };
    let (root, clock) = (tempfile::tempdir().unwrap(), Arc::new(Forward::default()));
    let oauth = open(root.path(), &clock);
    let app = provider.app("public", OAuthFlow::AuthorizationCode);
    login(&provider, &oauth, &app).await;
    clock.0.store(3601, Ordering::SeqCst);
    ready(token(&oauth, &app).await);
    // A thief sends the refresh token that was used.
    assert_eq!(provider.control("/replay")["status"], 400);
    clock.0.store(7202, Ordering::SeqCst);
    for _ in 0..3 {
        let result = token(&oauth, &app).await;
        assert!(
            matches!(result, TokenResult::AuthorizationRequired(_)),
            "{result:?}"
        );
    }
    assert_eq!(
        provider.refreshes(),
        [200, 400, 400],
        "the last one was sent once"
    );
    login(&provider, &oauth, &app).await;
}
