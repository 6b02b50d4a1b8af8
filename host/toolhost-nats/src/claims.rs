//! Claims of calls and leases of workers: buckets with one message for each key.

use async_nats::jetstream::message::PublishMessage;
use bytes::Bytes;
use toolhost::fleet::{CarrierError, Claim, WorkerLease};

use crate::names::token;
use crate::server::Server;

/// How often a claim that vanishes while it is read is tried again.
const TRIES: usize = 8;

/// Header of what `nats kv del` writes in place of a value.
const REMOVED: &str = "KV-Operation";

/// Claims a key. Returns the claim that there is, if there is one.
pub(crate) async fn claim(
    server: &Server,
    key: &str,
    holder: Bytes,
) -> Result<Option<Claim>, CarrierError> {
    let claims = &server.names.claims;
    let mut expected = 0;
    for _ in 0..TRIES {
        if write(server, key, expected, holder.clone()).await? {
            return Ok(None);
        }
        let subject = claims.subject(Some(key));
        expected = match server.last_message(&claims.stream, &subject).await? {
            Some(message) if message.headers.get(REMOVED).is_none() => {
                return Ok(Some(Claim {
                    holder: message.payload,
                    revision: message.sequence,
                }));
            }
            Some(removed) => removed.sequence,
            None => 0,
        };
    }
    Err(CarrierError::Unreachable(
        "the claim changes while it is read".to_owned(),
    ))
}

/// Replaces a claim, unless it has another revision. Returns whether it was replaced.
pub(crate) async fn write(
    server: &Server,
    key: &str,
    revision: u64,
    holder: Bytes,
) -> Result<bool, CarrierError> {
    // A write that is repeated because its answer was lost counts once.
    let write = PublishMessage::build()
        .payload(holder)
        .expected_last_subject_sequence(revision)
        .message_id(server.client.new_inbox());
    let subject = server.names.claims.subject(Some(key));
    let stored = server.publish(&subject, write).await?;
    Ok(stored.is_some())
}

/// Removes a claim.
pub(crate) async fn remove(server: &Server, key: &str) -> Result<(), CarrierError> {
    let claims = &server.names.claims;
    server
        .purge(&claims.stream, &claims.subject(Some(key)))
        .await
}

/// Writes or renews a lease.
pub(crate) async fn keep_lease(server: &Server, lease: &WorkerLease) -> Result<(), CarrierError> {
    let worker = token(&lease.worker, "worker")?;
    let subject = server.names.leases.subject(Some(worker));
    let lease = PublishMessage::build().payload(lease.says.clone());
    server.publish(&subject, lease).await.map(drop)
}

/// Removes a lease.
pub(crate) async fn end_lease(server: &Server, worker: &str) -> Result<(), CarrierError> {
    let leases = &server.names.leases;
    let subject = leases.subject(Some(token(worker, "worker")?));
    server.purge(&leases.stream, &subject).await
}

/// Returns the leases that have not ended.
pub(crate) async fn leases(server: &Server) -> Result<Vec<WorkerLease>, CarrierError> {
    let leases = &server.names.leases;
    let all = leases.subject(None);
    let messages = server.last_messages(&leases.stream, &all).await?;
    let leases = messages.into_iter().filter_map(|message| {
        let (_, worker) = message.subject.as_str().rsplit_once('.')?;
        Some(WorkerLease {
            worker: worker.to_owned(),
            says: message.payload,
        })
    });
    Ok(leases.collect())
}
