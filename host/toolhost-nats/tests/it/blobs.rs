//! Messages that are too large to travel as such.

use async_nats::jetstream::{self, object_store::ObjectStore};
use bytes::Bytes;
use futures_util::TryStreamExt as _;
use toolhost::fleet::Carrier as _;

use crate::server::{NatsServer, any, calls, id, next, send, send_call, send_report, silent, text};

/// Returns a text of so many bytes that does not compress.
fn large(len: usize) -> Bytes {
    let mut state = 1_u64;
    let next = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    });
    next.take(len).collect()
}

async fn objects(server: &NatsServer) -> ObjectStore {
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = jetstream::new(client);
    let objects = context.get_object_store("toolhost_default_blobs").await;
    objects.unwrap()
}

async fn names(objects: &ObjectStore) -> Vec<String> {
    let objects = objects.list().await.unwrap();
    let objects: Vec<_> = objects.try_collect().await.unwrap();
    objects.into_iter().map(|object| object.name).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn carries_five_megabytes_there_and_back() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let (host, worker) = (server.carrier().await, server.carrier().await);
    let mut from = calls(&worker, &[any()]).await;
    let mut reports = host.reports("host1").await.unwrap();
    let call = large(5_000_000);
    // The second is not stored again.
    for _ in 0..2 {
        send_call(&host, &any(), 1, 1, call.clone()).await.unwrap();
    }
    let delivery = next(&mut from).await;
    assert_eq!(delivery.message, call);
    let objects = objects(&server).await;
    assert_eq!(names(&objects).await.len(), 1);
    send_report(&worker, "host1", 1, delivery.message).await;
    let report = next(&mut reports).await;
    assert_eq!(report.message, call);
    host.acknowledge(&delivery.receipt).await.unwrap();
    host.acknowledge(&report.receipt).await.unwrap();
    silent(&mut from).await;
    assert_eq!(names(&objects).await.len(), 2);
    host.forget(&id(1)).await.unwrap();
    assert_eq!(names(&objects).await, [] as [&str; 0]);
    // What is just below the limit travels as such.
    send_call(&host, &any(), 2, 1, large(900 << 10))
        .await
        .unwrap();
    assert_eq!(next(&mut from).await.message.len(), 900 << 10);
    assert_eq!(names(&objects).await.len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn gives_up_a_call_whose_blob_is_missing_or_was_changed() {
    let Some(server) = NatsServer::start() else {
        return;
    };
    let carrier = server.carrier().await;
    let objects = objects(&server).await;
    for number in 0..3 {
        let call = large(1_000_000 + number);
        send_call(&carrier, &any(), number, 1, call).await.unwrap();
    }
    let mut blobs = names(&objects).await;
    blobs.sort();
    objects.delete(&blobs[0]).await.unwrap();
    let mut other = large(1_000_001).to_vec();
    other[70_000] ^= 1;
    objects
        .put(blobs[1].as_str(), &mut other.as_slice())
        .await
        .unwrap();
    let mut longer: &[u8] = &large(2_000_000);
    objects.put(blobs[2].as_str(), &mut longer).await.unwrap();
    send(&carrier, &any(), 9).await;

    let mut from = calls(&carrier, &[any()]).await;
    assert_eq!(next(&mut from).await.message, text(9));
    silent(&mut from).await;
    // They are not in the stream any more.
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = jetstream::new(client);
    let mut stream = context.get_stream("TOOLHOST_default_CALLS").await.unwrap();
    assert_eq!(stream.info().await.unwrap().state.messages, 1);
}
