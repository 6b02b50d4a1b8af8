//! Calls, reports and orders.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::time::{sleep, timeout};
use toolhost::fleet::{Carrier as _, CarrierError, Destination};
use toolhost_nats::NatsCarrier;

use crate::server::{
    NatsServer, SOON, any, before, calls, id, next, route, send, send_call, send_report, silent,
    text,
};

#[tokio::test(flavor = "multi_thread")]
async fn delivers_a_call_to_one_of_three_receivers() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let sender = server.carrier().await;
    let mut receivers = Vec::new();
    for _ in 0..3 {
        receivers.push(server.carrier().await);
    }
    for number in 0..90 {
        send(&sender, &any(), number).await;
    }
    let receive = receivers.iter().map(|receiver| async {
        let mut from = receiver.calls(&[any()], 4).await.unwrap();
        let mut texts = Vec::new();
        while let Ok(Some(delivery)) = timeout(Duration::from_secs(1), from.next()).await {
            assert_eq!(delivery.deliveries, 1);
            receiver.acknowledge(&delivery.receipt).await.unwrap();
            texts.push(delivery.message);
        }
        texts
    });
    let texts = join_all(receive).await;
    assert!(texts.iter().all(|texts| !texts.is_empty()), "{texts:?}");
    let texts: Vec<_> = texts.concat();
    assert_eq!(texts.len(), 90);
    assert_eq!(texts.into_iter().collect::<BTreeSet<_>>().len(), 90);
}

#[tokio::test(flavor = "multi_thread")]
async fn delivers_again_what_nobody_acknowledges_or_works_on() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    for number in 0..3 {
        send(&carrier, &any(), number).await;
    }
    let start = Instant::now();
    let done = next(&mut from).await;
    let works = next(&mut from).await;
    let left = next(&mut from).await;
    carrier.acknowledge(&done.receipt).await.unwrap();
    // The confirmation of a second one cannot tell whether the first arrived.
    carrier.acknowledge(&done.receipt).await.unwrap();
    sleep(Duration::from_secs(6)).await;
    carrier.in_progress(&works.receipt).await.unwrap();

    let again = next(&mut from).await;
    let after = start.elapsed();
    assert_eq!((again.message, again.deliveries), (left.message, 2));
    let expected = carrier.acknowledge_within();
    assert!(after >= expected.mul_f32(0.95), "{after:?}");
    assert!(after < expected + Duration::from_secs(2), "{after:?}");
    carrier.acknowledge(&again.receipt).await.unwrap();
    assert!(timeout(Duration::from_secs(4), from.next()).await.is_err());
    carrier.acknowledge(&works.receipt).await.unwrap();
    silent(&mut from).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gives_a_call_back_at_once_or_later() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let (one, other) = (server.carrier().await, server.carrier().await);
    let mut from = calls(&one, &[any()]).await;
    send(&one, &any(), 1).await;
    let first = next(&mut from).await;
    drop(from);
    let mut from = calls(&other, &[any()]).await;
    let give_back = one.give_back(&first.receipt, Duration::ZERO);
    give_back.await.unwrap();
    let second = next(&mut from).await;
    assert_eq!((second.message, second.deliveries), (text(1), 2));

    let start = Instant::now();
    let after = Duration::from_millis(1200);
    other.give_back(&second.receipt, after).await.unwrap();
    let third = next(&mut from).await;
    assert_eq!(third.deliveries, 3);
    assert!(
        start.elapsed() >= after.mul_f32(0.9),
        "{:?}",
        start.elapsed()
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn sends_each_attempt_once() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    for (attempt, text) in [(1, "first"), (1, "first"), (2, "second"), (2, "second")] {
        send_call(&carrier, &any(), 1, attempt, Bytes::from(text))
            .await
            .unwrap();
    }
    assert_eq!(next(&mut from).await.message, "first");
    assert_eq!(next(&mut from).await.message, "second");
    silent(&mut from).await;
    for report in ["one", "one", "two"] {
        send_report(&carrier, "host1", 1, Bytes::from(report)).await;
    }
    let mut from = carrier.reports("host1").await.unwrap();
    assert_eq!(next(&mut from).await.message, "one");
    assert_eq!(next(&mut from).await.message, "two");
    silent(&mut from).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keeps_labels_and_terms_apart() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let routes = [
        any(),
        route(1, Destination::Label("gpu".to_owned())),
        route(1, Destination::Label("gpu-2".to_owned())),
        route(2, Destination::Any),
    ];
    for (number, route) in routes.iter().enumerate() {
        send(&carrier, route, number).await;
    }
    for (number, route) in routes.iter().enumerate() {
        let mut from = calls(&carrier, std::slice::from_ref(route)).await;
        let delivery = next(&mut from).await;
        assert_eq!(delivery.message, text(number));
        carrier.acknowledge(&delivery.receipt).await.unwrap();
        silent(&mut from).await;
    }
    // Merged.
    for (number, route) in routes.iter().enumerate() {
        send(&carrier, route, 10 + number).await;
    }
    let mut from = calls(&carrier, &routes).await;
    let mut texts = BTreeSet::new();
    for _ in &routes {
        texts.insert(next(&mut from).await.message);
    }
    assert_eq!(texts, (10..14).map(text).collect());

    let bad = [
        route(1, Destination::Label("a.b".to_owned())),
        route(1, Destination::Label(">".to_owned())),
        route(1, Destination::Label(String::new())),
    ];
    for route in bad {
        let sent = carrier.send_call(&route, &id(1), 1, text(1)).await;
        assert!(matches!(sent, Err(CarrierError::Refused(_))), "{sent:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_stored_until_it_is_acknowledged_or_withdrawn() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    let place = send_call(&carrier, &any(), 1, 1, text(1)).await.unwrap();
    let again = send_call(&carrier, &any(), 1, 1, text(1)).await.unwrap();
    assert_eq!(place, again);
    let delivery = next(&mut from).await;
    assert!(carrier.is_stored(&place).await.unwrap());
    carrier.acknowledge(&delivery.receipt).await.unwrap();
    assert!(!carrier.is_stored(&place).await.unwrap());

    drop(from);
    let place = send_call(&carrier, &any(), 2, 1, text(2)).await.unwrap();
    carrier.withdraw(&place).await.unwrap();
    carrier.withdraw(&place).await.unwrap();
    assert!(!carrier.is_stored(&place).await.unwrap());
    silent(&mut calls(&carrier, &[any()]).await).await;
    for place in ["", "-1", "x", "1.5"] {
        let refused = carrier.withdraw(place).await;
        assert!(
            matches!(refused, Err(CarrierError::Refused(_))),
            "{place}: {refused:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_no_more_messages_than_asked_for() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let other = route(1, Destination::Label("x".to_owned()));
    for number in 0..20 {
        let route = if number % 2 == 0 { &any() } else { &other };
        send(&carrier, route, number).await;
    }
    let routes = [any(), other];
    let mut from = carrier.calls(&routes, 4).await.unwrap();
    drop(next(&mut from).await);
    sleep(Duration::from_millis(300)).await;
    // The rest is for another receiver: one was taken here, and four wait.
    let mut rest = carrier.calls(&routes, 100).await.unwrap();
    let mut count = 0;
    while timeout(Duration::from_millis(500), rest.next())
        .await
        .is_ok()
    {
        count += 1;
    }
    assert_eq!(count, 15);
    for _ in 0..2 {
        next(&mut from).await;
    }
    // Those that still wait are given back.
    drop(from);
    for _ in 0..2 {
        let again = timeout(Duration::from_secs(2), rest.next()).await;
        assert_eq!(again.unwrap().unwrap().deliveries, 2);
    }
    silent(&mut rest).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refuses_more_calls_than_it_may_hold() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let mut config = server.config();
    config.max_calls = 5;
    let carrier = NatsCarrier::connect(config).await.unwrap();
    for number in 0..5 {
        send(&carrier, &any(), number).await;
    }
    let sent = carrier.send_call(&any(), &id(5), 1, text(5)).await;
    assert!(matches!(sent, Err(CarrierError::Full)), "{sent:?}");
    // One that is there already is no further call.
    send(&carrier, &any(), 4).await;
    let mut from = calls(&carrier, &[any()]).await;
    let delivery = next(&mut from).await;
    carrier.acknowledge(&delivery.receipt).await.unwrap();
    send(&carrier, &any(), 5).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivers_reports_to_their_host() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let (host, worker) = (server.carrier().await, server.carrier().await);
    let mut from = host.reports("host1").await.unwrap();
    let mut other = host.reports("host2").await.unwrap();
    send_report(&worker, "host1", 7, Bytes::from_static(b"done")).await;
    let report = next(&mut from).await;
    assert_eq!(report.message, "done");
    host.acknowledge(&report.receipt).await.unwrap();
    silent(&mut from).await;
    silent(&mut other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tells_all_workers_something() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut workers = Vec::new();
    for _ in 0..3 {
        workers.push(server.carrier().await.orders().await.unwrap());
    }
    // Their carriers are dropped.
    silent(&mut workers[0]).await;
    carrier.tell(text(9)).await.unwrap();
    for worker in &mut workers {
        let delivery = next(worker).await;
        assert_eq!(delivery.message, text(9));
        assert_eq!(delivery.receipt, "");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_order_arrives_though_the_process_that_gives_it_ends_at_once() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let worker = server.carrier().await;
    let mut orders = worker.orders().await.unwrap();
    for number in 0..200 {
        let carrier = server.carrier().await;
        carrier.tell(text(number)).await.unwrap();
        drop(carrier);
        assert_eq!(next(&mut orders).await.message, text(number));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_listens_gets_the_next_order_of_another_process() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let (worker, carrier) = (server.carrier().await, server.carrier().await);
    for number in 0..200 {
        let mut orders = worker.orders().await.unwrap();
        carrier.tell(text(number)).await.unwrap();
        assert_eq!(next(&mut orders).await.message, text(number));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_tenants_see_nothing_of_each_other() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let tenant = |name: &str| {
        let mut config = server.config();
        config.tenant = name.to_owned();
        NatsCarrier::connect(config)
    };
    let (one, other) = (tenant("a").await.unwrap(), tenant("a-b").await.unwrap());
    let mut from = calls(&other, &[any()]).await;
    let mut reports = other.reports("host1").await.unwrap();
    let mut orders = other.orders().await.unwrap();
    send(&one, &any(), 1).await;
    send_report(&one, "host1", 1, text(1)).await;
    one.tell(text(1)).await.unwrap();
    let claimed = before(one.claim(&id(1), text(1)).await.unwrap());
    assert_eq!(claimed, None);
    silent(&mut from).await;
    silent(&mut reports).await;
    silent(&mut orders).await;
    assert_eq!(before(other.claim(&id(1), text(2)).await.unwrap()), None);

    // Neither acknowledges for the other.
    let mut from = calls(&one, &[any()]).await;
    let receipt = next(&mut from).await.receipt;
    let refused = other.acknowledge(&receipt).await;
    assert!(
        matches!(refused, Err(CarrierError::Refused(_))),
        "{refused:?}"
    );
    one.acknowledge(&receipt).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_receipt_of_another_form_is_refused() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    send(&carrier, &any(), 1).await;
    let receipt = next(&mut from).await.receipt;
    let other = receipt.replace("_CALLS", "_OTHER");
    let bad = [
        "",
        "toolhost.default.orders",
        "$JS.API.STREAM.DELETE.TOOLHOST_default_CALLS",
        "$JS.ACK.TOOLHOST_default_CALLS",
        "$JS.ACK.TOOLHOST_default_CALLS.>",
        "$JS.ACK.TOOLHOST_default_CALLS.a.1.1.1.1.1 x",
        "$JS.ACK.TOOLHOST_default_CALLS.a.1.1.1.1.*",
        &other,
    ];
    let mut orders = carrier.orders().await.unwrap();
    for receipt in bad {
        for refused in [
            carrier.acknowledge(receipt).await,
            carrier.in_progress(receipt).await,
            carrier.give_back(receipt, SOON).await,
        ] {
            assert!(
                matches!(refused, Err(CarrierError::Refused(_))),
                "{receipt}: {refused:?}"
            );
        }
    }
    silent(&mut orders).await;
    // One of a consumer that does not exist is refused too, without waiting for it.
    let gone = "$JS.ACK.TOOLHOST_default_CALLS.gone.1.1.1.1.0";
    let refused = carrier.acknowledge(gone).await;
    assert!(
        matches!(refused, Err(CarrierError::Refused(_))),
        "{refused:?}"
    );
    carrier.acknowledge(&receipt).await.unwrap();
}
