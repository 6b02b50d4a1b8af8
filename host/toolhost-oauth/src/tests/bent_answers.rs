//! Servers that answer as no server should.

use super::*;

#[tokio::test]
async fn bent_answers_grant_nothing_and_are_not_repeated() {
    let secret = "leaked-token-1";
    let large = format!(r#"{{"access_token":"{}"}}"#, "a".repeat(2 << 20));
    for (status, headers, body) in [
        (200, "", "<html>leaked-token-1</html>"),
        (200, "", r#"{"access_token":{"leaked-token-1":1}}"#),
        (200, "", r#"{"access_token":"leaked-token-1\n"}"#),
        (
            200,
            "",
            r#"{"access_token":"leaked-token-1","token_type":"mac"}"#,
        ),
        (200, "", ""),
        (200, "", "[[[[["),
        (200, "", large.as_str()),
        (
            201,
            "",
            r#"{"access_token":"leaked-token-1","token_type":"bearer"}"#,
        ),
        (302, "location: /token2\r\n", ""),
        (307, "location: /token2\r\n", ""),
        (400, "", r#"{"error":"leaked-token-1"}"#),
        (
            400,
            "",
            r#"{"error":"invalid_client","error_description":"leaked-token-1"}"#,
        ),
        (500, "", "leaked-token-1"),
    ] {
        let body = body.to_owned();
        let world = World::new(move |_| {
            let mut answer = json(status, body.as_str());
            answer.headers.push_str(headers);
            answer
        });
        let state = parameter(&world.begin().await, "state");
        let failed = world.callback(&format!("code=code-1&state={state}")).await;
        let failed = failed.unwrap_err();
        let text = format!("{failed} {failed:?}");
        assert!(!text.contains(secret), "{status}: {text}");
        assert!(world.oauth.grants().await.unwrap().is_empty(), "{status}");
        let paths: Vec<_> = world
            .server
            .requests()
            .into_iter()
            .map(|it| it.path)
            .collect();
        assert_eq!(paths, ["/token"], "redirects are not followed");
    }
}

#[tokio::test]
async fn a_private_address_that_is_not_listed_is_not_reached() {
    let world = World::new(rotating());
    let state = parameter(&world.begin().await, "state");
    let store = super::store(world.root.path());
    let key = Arc::new(OAuthKeyFile::new(world.root.path().join("oauth.key")));
    let mut config = OAuthConfig::new(store, key, OAuthEgress::new(network()));
    config.clock = Arc::clone(&world.clock) as Arc<dyn Clock>;
    let closed = OAuth::open(config).unwrap();
    let apps = [world.app.clone()];
    let failed = closed
        .callback(&format!("code=1&state={state}"), &apps)
        .await;
    let failed = failed.unwrap_err().to_string();
    assert!(failed.contains("not a public address"), "{failed}");
    assert!(world.server.requests().is_empty());
}
