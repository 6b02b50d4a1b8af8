//! Device codes. Spec: requirements-v1 §12.6.5 (1).

use super::*;

const BEGUN: &str = r#"{"device_code":"device-secret","user_code":"ABCD-EFGH","verification_uri":"https://auth.example/device","expires_in":300,"interval":5}"#;

/// A world whose server answers polls one after another.
fn world(polls: &'static [(u16, &'static str)]) -> World {
    let next = AtomicU64::new(0);
    let mut world = World::new(move |request| {
        if request.path == "/device/auth" {
            return json(200, BEGUN);
        }
        let at = usize::try_from(next.fetch_add(1, Ordering::SeqCst)).unwrap();
        let (status, body) = polls.get(at).copied().unwrap_or((200, TOKEN));
        json(status, body)
    });
    world.app.flow = OAuthFlow::DeviceCode;
    world.app.redirect = None;
    world
}

const TOKEN: &str = r#"{"access_token":"access-1","token_type":"Bearer","expires_in":3600}"#;
const PENDING: &str = r#"{"error":"authorization_pending"}"#;

fn polls(world: &World) -> usize {
    let sent = world.server.requests();
    sent.iter().filter(|it| it.path == "/token").count()
}

#[tokio::test]
async fn a_device_code_is_polled_at_its_interval_until_it_is_granted() {
    // GitHub sends errors with status 200.
    let world = world(&[
        (400, PENDING),
        (200, r#"{"error":"slow_down"}"#),
        (400, PENDING),
    ]);
    let mut events = world.oauth.granted();
    let begun = required(world.token().await);
    assert_eq!(begun.user_code.as_deref(), Some("ABCD-EFGH"));
    assert_eq!(begun.authorization_url, "https://auth.example/device");
    for _ in 0..3 {
        assert_eq!(required(world.token().await), begun);
    }
    assert_eq!(
        polls(&world),
        0,
        "nothing is sent before the interval is over"
    );
    let poll = async |forward, expected| {
        world.clock.forward(forward);
        let id = &begun.auth_session_id;
        let polled = world.oauth.poll_device(&world.app, id).await.unwrap();
        let DevicePoll::Pending { after } = polled else {
            panic!("{polled:?}")
        };
        assert_eq!(after.as_secs(), expected);
    };
    poll(5, 5).await;
    poll(2, 3).await;
    poll(3, 10).await;
    poll(5, 5).await;
    poll(5, 10).await;
    assert_eq!(polls(&world), 3);
    world.clock.forward(10);
    assert_eq!(ready(&world.token().await), "access-1");
    assert_eq!(
        events.recv().await.unwrap().auth_session_id,
        begun.auth_session_id
    );
    let sent = world.server.requests();
    let form = &sent.last().unwrap().form;
    assert_eq!(form["device_code"], "device-secret");
    let id = &begun.auth_session_id;
    let over = world.oauth.poll_device(&world.app, id).await.unwrap();
    assert_eq!(over, DevicePoll::Expired);
}

#[tokio::test]
async fn a_refused_and_an_expired_device_code_end_the_session() {
    let poll = async |world: &World| {
        let begun = required(world.token().await);
        world.clock.forward(5);
        let polled = world.oauth.poll_device(&world.app, &begun.auth_session_id);
        let polled = polled.await.unwrap();
        let next = required(world.token().await);
        assert_ne!(next.auth_session_id, begun.auth_session_id);
        polled
    };
    let denied = world(&[(400, r#"{"error":"access_denied"}"#)]);
    assert_eq!(poll(&denied).await, DevicePoll::Denied);
    let expired = world(&[(400, r#"{"error":"expired_token"}"#)]);
    assert_eq!(poll(&expired).await, DevicePoll::Expired);
    let late = world(&[]);
    let begun = required(late.token().await);
    late.clock.forward(301);
    let polled = late
        .oauth
        .poll_device(&late.app, &begun.auth_session_id)
        .await;
    assert_eq!(polled.unwrap(), DevicePoll::Expired);
    assert_eq!(polls(&late), 0);
}

#[tokio::test]
async fn a_server_that_fails_is_polled_less_often() {
    let world = world(&[(500, ""), (503, "<html>")]);
    let begun = required(world.token().await);
    let mut forward = 5;
    for expected in [10, 20] {
        world.clock.forward(forward);
        let polled = world.oauth.poll_device(&world.app, &begun.auth_session_id);
        let DevicePoll::Pending { after } = polled.await.unwrap() else {
            panic!("pending")
        };
        assert_eq!(after.as_secs(), expected);
        forward = expected;
    }
    world.clock.forward(20);
    assert_eq!(ready(&world.token().await), "access-1");
}

#[tokio::test]
async fn a_link_of_another_scheme_and_a_code_with_control_characters_are_refused() {
    for (from, to) in [
        ("https://auth.example/device", "javascript:alert(1)"),
        ("https://auth.example/device", "http://auth.example/device"),
        ("ABCD-EFGH", r"A\u001b[2J"),
        ("ABCD-EFGH", ""),
    ] {
        let bent = BEGUN.replace(from, to);
        let mut world = World::new(move |_| json(200, bent.as_str()));
        world.app.flow = OAuthFlow::DeviceCode;
        let failed = error(world.token().await);
        assert!(matches!(failed, OAuthError::Unavailable { .. }), "{failed}");
    }
}

#[tokio::test]
async fn a_server_that_begins_no_authorization_is_asked_once_by_all_who_wait() {
    let world = World::new(|_| Answer {
        after: Duration::from_millis(200),
        ..json(503, "")
    });
    let mut app = world.app.clone();
    app.flow = OAuthFlow::DeviceCode;
    let token = || world.oauth.access_token(&app, None, None, Duration::ZERO);
    let all = futures_util::future::join_all((0..10).map(|_| token())).await;
    for result in all {
        assert!(matches!(error(result), OAuthError::Unavailable { .. }));
    }
    assert_eq!(world.server.requests().len(), 1);
    world.clock.forward(11);
    error(token().await);
    assert_eq!(world.server.requests().len(), 2);
}
