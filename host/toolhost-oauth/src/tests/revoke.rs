//! Revocation.

use super::*;

/// Rotates, and answers revocations with a status.
fn world(status: u16) -> World {
    let rotating = rotating();
    World::new(move |request| match request.path.as_str() {
        "/token/revocation" => json(status, ""),
        _ => rotating(request),
    })
}

#[tokio::test]
async fn a_grant_is_revoked_at_the_server_and_removed() {
    let world = world(200);
    world.login().await;
    let revoked = world.oauth.revoke(&world.app, None).await.unwrap();
    assert_eq!(revoked, Revoked::AtServer);
    let sent = world.server.requests();
    assert_eq!(sent[1].form["token"], "refresh-1");
    assert_eq!(sent[1].form["token_type_hint"], "refresh_token");
    assert!(world.oauth.grants().await.unwrap().is_empty());
    required(world.token().await);
    let none = world.oauth.revoke(&world.app, None).await.unwrap();
    assert_eq!(none, Revoked::NoGrant);
}

#[tokio::test]
async fn a_grant_is_removed_whatever_the_server_answers() {
    let world = world(503);
    world.login().await;
    let revoked = world.oauth.revoke(&world.app, None).await.unwrap();
    assert!(matches!(revoked, Revoked::OnlyHere { reason } if reason.contains("503")));
    assert!(world.oauth.grants().await.unwrap().is_empty());
    let mut world = self::world(200);
    world.app.revocation_url = None;
    world.login().await;
    let revoked = world.oauth.revoke(&world.app, None).await.unwrap();
    assert!(matches!(revoked, Revoked::OnlyHere { .. }));
    assert_eq!(world.server.requests().len(), 1);
}
