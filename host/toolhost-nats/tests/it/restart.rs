//! A server that goes away and comes back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use tokio::time::{sleep, timeout};
use toolhost::fleet::{Carrier as _, CarrierError, WorkerLease};

use crate::line::Line;
use crate::server::{NatsServer, any, before, calls, id, next, send, send_call, send_report, text};

#[tokio::test(flavor = "multi_thread")]
async fn every_call_that_was_sent_outlives_a_killed_server() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let (host, worker) = (server.carrier().await, Arc::new(server.carrier().await));
    let mut from = worker.calls(&[any()], 64).await.unwrap();
    let mut orders = worker.orders().await.unwrap();
    let receive = tokio::spawn({
        let worker = worker.clone();
        async move {
            let mut texts = BTreeSet::new();
            while texts.len() < 2000 {
                let delivery = timeout(Duration::from_secs(20), from.next()).await;
                let Ok(Some(delivery)) = delivery else { break };
                // Without confirmation the call is delivered again, and counts once here.
                drop(worker.acknowledge(&delivery.receipt).await);
                texts.insert(delivery.message);
            }
            texts
        }
    });
    let kill = async {
        sleep(Duration::from_millis(150)).await;
        server.kill();
        sleep(Duration::from_millis(300)).await;
        server.run();
    };
    let send_all = async {
        let send = stream::iter(0..2000).map(|number| {
            let host = &host;
            async move {
                // A host sends again what was not stored.
                while host
                    .send_call(&any(), &id(number), 1, text(number))
                    .await
                    .is_err()
                {}
            }
        });
        send.buffer_unordered(32).collect::<Vec<()>>().await;
    };
    tokio::join!(kill, send_all);
    let texts = receive.await.unwrap();
    assert_eq!(texts, (0..2000).map(text).collect());

    // The rest goes on too.
    host.tell(text(1)).await.unwrap();
    assert_eq!(next(&mut orders).await.message, text(1));
    let lease = WorkerLease {
        worker: "one".to_owned(),
        says: Bytes::new(),
    };
    worker.keep_lease(&lease).await.unwrap();
    assert_eq!(host.leases().await.unwrap(), [lease]);
}

#[tokio::test(flavor = "multi_thread")]
async fn makes_again_what_the_server_has_lost() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    let mut reports = carrier.reports("host1").await.unwrap();
    send(&carrier, &any(), 1).await;
    let old = next(&mut from).await;
    server.kill();
    server.forget();
    server.run();
    let gone = carrier.acknowledge(&old.receipt).await;
    assert!(
        matches!(gone, Err(CarrierError::Refused(_)) | Ok(())),
        "{gone:?}"
    );
    send(&carrier, &any(), 2).await;
    assert_eq!(next(&mut from).await.message, text(2));
    send_report(&carrier, "host1", 2, text(2)).await;
    assert_eq!(next(&mut reports).await.message, text(2));
    assert_eq!(before(carrier.claim(&id(2), text(2)).await.unwrap()), None);
    let large = Bytes::from(vec![7; 2 << 20]);
    send_call(&carrier, &any(), 3, 1, large.clone())
        .await
        .unwrap();
    assert_eq!(next(&mut from).await.message, large);
    assert_eq!(carrier.leases().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_is_cut_again_and_again_loses_and_repeats_nothing() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let line = Line::open(server.port()).await;
    let carrier = line.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    let mut orders = carrier.orders().await.unwrap();
    let send_all = async {
        for number in 0..300 {
            send(&carrier, &any(), number).await;
        }
    };
    let cut = async {
        for _ in 0..3 {
            sleep(Duration::from_millis(30)).await;
            line.lose_answers(async {}).await;
        }
    };
    tokio::join!(send_all, cut);
    let mut texts = Vec::new();
    while texts.len() < 300 {
        let delivery = timeout(Duration::from_secs(15), from.next()).await;
        let delivery = delivery.unwrap().unwrap();
        carrier.acknowledge(&delivery.receipt).await.unwrap();
        texts.push(delivery.message);
    }
    texts.sort_by_key(|text| (text.len(), text.clone()));
    assert_eq!(texts, (0..300).map(text).collect::<Vec<_>>());
    carrier.tell(text(1)).await.unwrap();
    assert_eq!(next(&mut orders).await.message, text(1));
}
