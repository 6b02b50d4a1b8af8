//! Claims and leases.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::sleep;
use toolhost::fleet::{Carrier as _, CarrierError, WorkerLease};

use crate::line::Line;
use crate::server::{NatsServer, before, id, text};

#[tokio::test(flavor = "multi_thread")]
async fn one_of_twenty_gets_a_claim() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let mut carriers = Vec::new();
    for _ in 0..4 {
        carriers.push(server.carrier().await);
    }
    for round in 0..5 {
        let call = id(round);
        let claims = (0..20).map(|number| carriers[number % 4].claim(&call, text(number)));
        let claims = join_all(claims).await;
        let claims: Vec<_> = claims.into_iter().map(Result::unwrap).collect();
        let claims: Vec<_> = claims.into_iter().map(before).collect();
        let winners: Vec<_> = (0..20).filter(|number| claims[*number].is_none()).collect();
        assert_eq!(winners.len(), 1, "{claims:?}");
        for claim in claims.into_iter().flatten() {
            assert_eq!(claim.holder, text(winners[0]));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_is_taken_over_once_and_forgotten() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let call = id(1);
    assert_eq!(before(carrier.claim(&call, text(1)).await.unwrap()), None);
    let claim = before(carrier.claim(&call, text(2)).await.unwrap()).unwrap();
    assert_eq!(claim.holder, text(1));
    let take = (0..10).map(|number| carrier.take_over(&call, claim.revision, text(number)));
    let taken = join_all(take).await;
    let taken: Vec<_> = taken.into_iter().map(Result::unwrap).collect();
    assert_eq!(taken.iter().filter(|taken| **taken).count(), 1);
    let winner = taken.iter().position(|taken| *taken).unwrap();
    let claim = before(carrier.claim(&call, text(2)).await.unwrap()).unwrap();
    assert_eq!(claim.holder, text(winner));

    carrier.forget(&call).await.unwrap();
    carrier.forget(&call).await.unwrap();
    let taken = carrier.take_over(&call, claim.revision, text(3)).await;
    assert!(!taken.unwrap());
    assert_eq!(before(carrier.claim(&call, text(4)).await.unwrap()), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_answer_is_lost_is_not_taken_for_that_of_another() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let line = Line::open(server.port()).await;
    let carrier = line.carrier().await;
    let other = server.carrier().await;
    let (call, work) = (id(1), text(1));
    let claim = carrier.claim(&call, work.clone());
    let claimed = line.lose_answers(claim).await;
    assert_eq!(before(claimed.unwrap()), None);
    let claim = before(other.claim(&call, text(2)).await.unwrap()).unwrap();
    assert_eq!(claim.holder, work);

    let take_over = carrier.take_over(&call, claim.revision, text(3));
    let taken = line.lose_answers(take_over).await;
    assert!(taken.unwrap());
    let claim = before(other.claim(&call, text(2)).await.unwrap()).unwrap();
    assert_eq!(claim.holder, text(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_lives_as_long_as_it_is_renewed() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let lease = |worker: &str, says: &'static str| WorkerLease {
        worker: worker.to_owned(),
        says: Bytes::from_static(says.as_bytes()),
    };
    let workers = || async {
        let mut leases = carrier.leases().await.unwrap();
        leases.sort_by(|one, other| one.worker.cmp(&other.worker));
        leases
    };
    assert_eq!(workers().await, []);
    for (worker, says) in [("one", "old"), ("one", "new"), ("two", ""), ("three", "x")] {
        carrier.keep_lease(&lease(worker, says)).await.unwrap();
    }
    let start = Instant::now();
    let all = [lease("one", "new"), lease("three", "x"), lease("two", "")];
    assert_eq!(workers().await, all);
    carrier.end_lease("three").await.unwrap();
    assert_eq!(workers().await, [lease("one", "new"), lease("two", "")]);

    // One is renewed.
    let life = carrier.lease_time();
    sleep(life.mul_f32(0.6)).await;
    carrier.keep_lease(&lease("one", "new")).await.unwrap();
    sleep((life.mul_f32(0.9)).saturating_sub(start.elapsed())).await;
    assert_eq!(workers().await, [lease("one", "new"), lease("two", "")]);
    while workers().await.len() == 2 {
        assert!(start.elapsed() < life * 2, "{:?}", start.elapsed());
        sleep(Duration::from_millis(20)).await;
    }
    assert!(
        start.elapsed() > life.mul_f32(0.95),
        "{:?}",
        start.elapsed()
    );
    assert!(
        start.elapsed() < life + Duration::from_secs(1),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(workers().await, [lease("one", "new")]);

    let refused = carrier.keep_lease(&lease("a.b", "")).await;
    assert!(
        matches!(refused, Err(CarrierError::Refused(_))),
        "{refused:?}"
    );
}
