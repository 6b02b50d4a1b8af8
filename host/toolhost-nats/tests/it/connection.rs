//! How a carrier connects, and what it does while there is no server.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::time::timeout;
use toolhost::fleet::{Carrier as _, CarrierError};
use toolhost_nats::{NatsCarrier, NatsConfig, NatsError};

use crate::server::{NatsServer, SOON, any, calls, id, next, send, silent, text};

#[tokio::test(flavor = "multi_thread")]
async fn says_what_to_do_if_no_server_answers() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("nats://{}", free.local_addr().unwrap());
    drop(free);
    let start = Instant::now();
    let error = NatsCarrier::connect(NatsConfig::new(&url))
        .await
        .unwrap_err();
    assert!(matches!(error, NatsError::Unreachable { .. }), "{error:?}");
    let error = error.to_string();
    assert!(error.contains(&url), "{error}");
    assert!(error.contains("nats-server --jetstream"), "{error}");
    assert!(start.elapsed() < SOON);

    // One that never says a word.
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = NatsConfig::new(&format!("{}", mute.local_addr().unwrap()));
    config.connect_timeout = Duration::from_millis(300);
    let error = NatsCarrier::connect(config).await.unwrap_err();
    assert!(matches!(error, NatsError::Unreachable { .. }), "{error:?}");
    assert!(start.elapsed() < SOON);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_hosts_start_at_once_and_later_ones_change_the_limit() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let connect = (0..8).map(|number| {
        let mut config = server.config();
        config.max_calls = 10 + number / 4;
        NatsCarrier::connect(config)
    });
    for carrier in join_all(connect).await {
        carrier.unwrap();
    }
    let mut config = server.config();
    config.max_calls = 2;
    let carrier = NatsCarrier::connect(config).await.unwrap();
    send(&carrier, &any(), 1).await;
    send(&carrier, &any(), 2).await;
    let sent = carrier.send_call(&any(), &id(3), 1, text(3)).await;
    assert!(matches!(sent, Err(CarrierError::Full)), "{sent:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_the_setting_of_a_stream_that_cannot_be_used() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let client = async_nats::connect(server.url()).await.unwrap();
    let stream = async_nats::jetstream::stream::Config {
        name: "TOOLHOST_default_CALLS".to_owned(),
        subjects: vec!["toolhost.default.call.>".to_owned()],
        ..Default::default()
    };
    let context = async_nats::jetstream::new(client);
    context.create_stream(stream).await.unwrap();
    let error = NatsCarrier::connect(server.config()).await.unwrap_err();
    let error = error.to_string();
    assert!(error.contains("`TOOLHOST_default_CALLS`"), "{error}");
    assert!(error.contains("'retention' Limits"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn names_the_key_of_an_invalid_value() {
    let check = async |key: &str, change: fn(&mut NatsConfig)| {
        let mut config = NatsConfig::new("nats://127.0.0.1:1");
        change(&mut config);
        let error = NatsCarrier::connect(config).await.unwrap_err();
        let NatsError::Config { key: found, .. } = &error else {
            panic!("{error:?}");
        };
        assert_eq!(*found, key);
        assert!(!format!("{error} {error:?}").contains("hunter2"), "{error}");
    };
    check("url", |config| config.url.clear()).await;
    check("url", |config| {
        config.url = vec!["nats://me:hunter2@host".to_owned()]
    })
    .await;
    check("url", |config| config.url = vec!["http://host".to_owned()]).await;
    check("url", |config| config.url = vec![String::new()]).await;
    check("tenant", |config| config.tenant = "a.b".to_owned()).await;
    check("tenant", |config| config.tenant = String::new()).await;
    check("tenant", |config| config.tenant = "a".repeat(33)).await;
    check("replicas", |config| config.replicas = 0).await;
    check("replicas", |config| config.replicas = 6).await;
    check("max_calls", |config| config.max_calls = 0).await;
    check("connect_timeout", |config| {
        config.connect_timeout = Duration::ZERO
    })
    .await;
    check("ca", |config| config.ca = Some("hunter2".to_owned())).await;
    check("certificate", |config| {
        config.key = Some("hunter2".to_owned().into())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn does_not_spin_while_the_server_is_away() {
    let Some(mut server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    let mut orders = carrier.orders().await.unwrap();
    server.kill();
    // Counts the attempts to connect.
    let listener = TcpListener::bind(("127.0.0.1", server.port()))
        .await
        .unwrap();
    let counted = tokio::spawn(async move {
        let mut count = 0;
        let counted = async {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                count += 1;
                drop(stream.shutdown().await);
            }
        };
        let _: Result<(), _> = timeout(Duration::from_secs(3), counted).await;
        count
    });
    let start = Instant::now();
    let sent = carrier.send_call(&any(), &id(1), 1, text(1)).await;
    assert!(
        matches!(sent, Err(CarrierError::Unreachable(_))),
        "{sent:?}"
    );
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    let count = counted.await.unwrap();
    assert!((2..20).contains(&count), "{count} attempts");
    silent(&mut from).await;
    silent(&mut orders).await;

    server.run();
    send(&carrier, &any(), 2).await;
    // The first may have been sent after all.
    let mut call = next(&mut from).await.message;
    if call == text(1) {
        call = next(&mut from).await.message;
    }
    assert_eq!(call, text(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn deliveries_end_when_the_carrier_is_closed() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let mut from = calls(&carrier, &[any()]).await;
    let mut orders = carrier.orders().await.unwrap();
    carrier.close().await;
    assert!(timeout(SOON, from.next()).await.unwrap().is_none());
    assert!(timeout(SOON, orders.next()).await.unwrap().is_none());
    let start = Instant::now();
    let sent = carrier.send_call(&any(), &id(1), 1, text(1)).await;
    assert!(
        matches!(sent, Err(CarrierError::Unreachable(_))),
        "{sent:?}"
    );
    assert!(start.elapsed() < Duration::from_secs(1));
    carrier.close().await;
}
