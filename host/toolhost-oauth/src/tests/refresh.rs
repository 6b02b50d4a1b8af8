//! Refreshes. Spec: requirements-v1 §12.6.1 (6) and §12.6.3 (4).

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tokio::task::JoinSet;

use super::*;

/// Rotates, and answers refreshes with a status and a body while `fails` is set.
fn failing(
    status: u16,
    headers: &'static str,
    body: &'static str,
) -> (
    Arc<AtomicBool>,
    impl Fn(&server::Request) -> Answer + Send + Sync + 'static,
) {
    let (rotating, fails) = (rotating(), Arc::new(AtomicBool::new(true)));
    let own = Arc::clone(&fails);
    let answer = move |request: &server::Request| {
        let is_refresh = request.form["grant_type"] == "refresh_token";
        if !is_refresh || !fails.load(Ordering::SeqCst) {
            return rotating(request);
        }
        let mut answer = json(status, body);
        answer.headers.push_str(headers);
        answer
    };
    (own, answer)
}

fn refreshes(world: &World) -> usize {
    let sent = world.server.requests();
    sent.iter()
        .filter(|it| it.form["grant_type"] == "refresh_token")
        .count()
}

#[tokio::test]
async fn a_token_is_refreshed_before_it_expires_and_stored_before_it_is_used() {
    let world = World::new(rotating());
    world.login().await;
    world.clock.forward(3500);
    assert_eq!(ready(&world.token().await), "access-1");
    let needed = world
        .oauth
        .access_token(&world.app, None, None, Duration::from_secs(200));
    assert_eq!(ready(&needed.await), "access-2");
    world.clock.forward(3550);
    assert_eq!(ready(&world.token().await), "access-3");
    let sent: Vec<_> = world.server.requests().into_iter().skip(1).collect();
    assert_eq!(sent[0].form["refresh_token"], "refresh-1");
    assert_eq!(sent[1].form["refresh_token"], "refresh-2");
    let other = open(world.root.path(), &world.clock, Duration::from_secs(10));
    let token = other.access_token(&world.app, None, None, Duration::ZERO);
    assert_eq!(ready(&token.await), "access-3");
}

#[tokio::test]
async fn many_tasks_of_five_stores_refresh_once() {
    let slow = rotating();
    let world = World::new(move |request| Answer {
        after: Duration::from_millis(100),
        ..slow(request)
    });
    world.login().await;
    world.clock.forward(3601);
    let mut tasks = JoinSet::new();
    for _ in 0..5 {
        let oauth = open(world.root.path(), &world.clock, Duration::from_secs(10));
        for _ in 0..4 {
            let (oauth, app) = (oauth.clone(), world.app.clone());
            tasks.spawn(async move { oauth.access_token(&app, None, None, Duration::ZERO).await });
        }
    }
    for result in tasks.join_all().await {
        assert_eq!(ready(&result), "access-2");
    }
    assert_eq!(refreshes(&world), 1);
}

#[tokio::test]
async fn while_the_server_fails_the_old_token_lives_and_nothing_is_forgotten() {
    for (status, headers, pause) in [(500, "", 1), (503, "retry-after: 40\r\n", 40), (429, "", 1)] {
        let (fails, answer) = failing(status, headers, r#"{"error":"invalid_grant"}"#);
        let world = World::new(answer);
        world.login().await;
        world.clock.forward(3550);
        for _ in 0..3 {
            assert_eq!(ready(&world.token().await), "access-1", "{status}");
        }
        assert_eq!(
            refreshes(&world),
            1,
            "{status}: no request before the pause is over"
        );
        world.clock.forward(pause);
        assert_eq!(ready(&world.token().await), "access-1");
        assert_eq!(refreshes(&world), 2);
        world.clock.forward(100);
        let failed = error(world.token().await);
        assert!(
            matches!(
                failed,
                OAuthError::Unavailable {
                    retry_at: Some(_),
                    ..
                }
            ),
            "{failed}"
        );
        fails.store(false, Ordering::SeqCst);
        world.clock.forward(300);
        assert_eq!(ready(&world.token().await), "access-2", "{status}");
        let sent = world.server.requests();
        assert_eq!(sent.last().unwrap().form["refresh_token"], "refresh-1");
    }
}

#[tokio::test]
async fn a_rejected_refresh_token_is_removed_and_the_access_token_lives_on() {
    let (_, answer) = failing(400, "", r#"{"error":"invalid_grant"}"#);
    let world = World::new(answer);
    world.login().await;
    world.clock.forward(3550);
    assert_eq!(ready(&world.token().await), "access-1");
    assert_eq!(ready(&world.token().await), "access-1");
    assert_eq!(refreshes(&world), 1, "the rejected token is not sent again");
    assert!(!world.oauth.grants().await.unwrap()[0].can_refresh);
    let needed = world
        .oauth
        .access_token(&world.app, None, None, Duration::from_secs(300));
    required(needed.await);
    world.clock.forward(100);
    required(world.token().await);
    assert_eq!(refreshes(&world), 1);
}

#[tokio::test]
async fn a_refused_client_is_an_error_and_keeps_the_grant() {
    let (fails, answer) = failing(401, "", r#"{"error":"invalid_client"}"#);
    let world = World::new(answer);
    world.login().await;
    world.clock.forward(3601);
    let refused = error(world.token().await);
    assert!(refused.to_string().contains("invalid_client"), "{refused}");
    fails.store(false, Ordering::SeqCst);
    world.clock.forward(2);
    assert_eq!(ready(&world.token().await), "access-2");
}

#[tokio::test]
async fn a_dropped_request_for_a_token_still_stores_what_the_server_sends() {
    let slow = rotating();
    let world = World::new(move |request| Answer {
        after: Duration::from_millis(300),
        ..slow(request)
    });
    world.login().await;
    world.clock.forward(3601);
    let started = Instant::now();
    let dropped = tokio::time::timeout(Duration::from_millis(100), world.token()).await;
    assert!(dropped.is_err() && started.elapsed() < Duration::from_millis(290));
    assert_eq!(ready(&world.token().await), "access-2");
    assert_eq!(refreshes(&world), 1, "the refresh token was sent once");
}

#[tokio::test]
async fn a_server_that_does_not_answer_in_time_costs_no_token() {
    let slow = rotating();
    let mut world = World::new(move |request| {
        let is_refresh = request.form["grant_type"] == "refresh_token";
        let after = Duration::from_secs(if is_refresh { 30 } else { 0 });
        Answer {
            after,
            ..slow(request)
        }
    });
    world.oauth = open(world.root.path(), &world.clock, Duration::from_millis(300));
    world.login().await;
    world.clock.forward(3550);
    assert_eq!(ready(&world.token().await), "access-1");
    world.clock.forward(60);
    let failed = error(world.token().await);
    assert!(
        failed.to_string().contains("no answer within 0.3 s"),
        "{failed}"
    );
    assert!(world.oauth.grants().await.unwrap()[0].can_refresh);
}

#[tokio::test]
async fn a_server_that_rotates_nothing_keeps_its_refresh_token() {
    let world = World::new(|request| {
        if request.form.contains_key("refresh_token") {
            json(
                200,
                r#"{"access_token":"b","token_type":"bearer","expires_in":60}"#,
            )
        } else {
            json(
                200,
                r#"{"access_token":"a","token_type":"bearer","expires_in":60,"refresh_token":"r"}"#,
            )
        }
    });
    world.login().await;
    // Half of the lifetime: otherwise a token of a minute would be refreshed with each call.
    assert_eq!(ready(&world.token().await), "a");
    for _ in 0..2 {
        world.clock.forward(31);
        assert_eq!(ready(&world.token().await), "b");
        assert_eq!(ready(&world.token().await), "b");
    }
    let sent = world.server.requests();
    assert_eq!(sent.len(), 3);
    assert!(
        sent.iter()
            .skip(1)
            .all(|it| it.form["refresh_token"] == "r")
    );
}

#[tokio::test]
async fn a_token_that_an_api_refused_is_refreshed_unless_another_is_stored() {
    let world = World::new(rotating());
    world.login().await;
    let TokenResult::Ready(first) = world.token().await else {
        panic!("a token")
    };
    world.oauth.reject(&world.app, None, &first).await.unwrap();
    assert_eq!(ready(&world.token().await), "access-2");
    world.oauth.reject(&world.app, None, &first).await.unwrap();
    assert_eq!(ready(&world.token().await), "access-2");
}

#[tokio::test]
async fn while_one_refreshes_others_use_the_old_token_if_it_is_valid_for_long_enough() {
    let slow = rotating();
    let world = World::new(move |request| {
        let is_refresh = request.form["grant_type"] == "refresh_token";
        Answer {
            after: Duration::from_millis(if is_refresh { 2000 } else { 0 }),
            ..slow(request)
        }
    });
    world.login().await;
    world.clock.forward(3560);
    let app = &world.app;
    let first = world.token();
    let others = async {
        while refreshes(&world) == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let started = Instant::now();
        assert_eq!(ready(&world.token().await), "access-1");
        let other = open(world.root.path(), &world.clock, Duration::from_secs(10));
        let token = other.access_token(app, None, None, Duration::ZERO);
        assert_eq!(ready(&token.await), "access-1");
        assert!(started.elapsed() < Duration::from_millis(1500));
        let longer = other.access_token(app, None, None, Duration::from_secs(60));
        assert_eq!(
            ready(&longer.await),
            "access-2",
            "the old one ends too early"
        );
    };
    let (first, ()) = tokio::join!(first, others);
    assert_eq!(ready(&first), "access-2");
    assert_eq!(refreshes(&world), 1);
}
