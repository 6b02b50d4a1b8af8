//! Claims of calls and leases of workers: buckets with one message for each key.

use std::time::SystemTime;

use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use bytes::Bytes;
use toolhost::fleet::{CarrierError, Claim, Claimed, WorkerLease};

use crate::names::token;
use crate::server::Server;

/// How often a claim that vanishes while it is read is tried again.
const TRIES: usize = 8;

/// Header that differs in each write.
const NONCE: &str = "Toolhost-Write";

/// Header of what `nats kv del` writes in place of a value.
const REMOVED: &str = "KV-Operation";

/// What became of a write that expects a revision.
enum Write {
    Done,
    /// The key has another revision, or no value.
    Other(Option<StreamMessage>),
}

/// Claims a key, unless it is claimed.
pub(crate) async fn claim(
    server: &Server,
    key: &str,
    holder: Bytes,
) -> Result<Claimed, CarrierError> {
    let mut revision = 0;
    for _ in 0..TRIES {
        revision = match write(server, key, revision, holder.clone()).await? {
            Write::Done => match time_of(server, key, &holder).await? {
                Some(at) => return Ok(Claimed::Now(at)),
                // It was removed, and is tried again.
                None => 0,
            },
            Write::Other(Some(claim)) if claim.headers.get(REMOVED).is_none() => {
                return Ok(Claimed::Before(Claim {
                    holder: claim.payload,
                    revision: claim.sequence,
                }));
            }
            Write::Other(Some(removed)) => removed.sequence,
            Write::Other(None) => 0,
        };
    }
    Err(CarrierError::Unreachable(
        "the claim changes while it is read".to_owned(),
    ))
}

/// Returns when a claim was written, by the clock of the server. None if it is not there, or another holder's by now.
async fn time_of(
    server: &Server,
    key: &str,
    holder: &Bytes,
) -> Result<Option<SystemTime>, CarrierError> {
    let claims = &server.names.claims;
    let subject = claims.subject(Some(key));
    let last = server.last_message(&claims.stream, &subject).await?;
    let claim = last.filter(|claim| claim.payload == *holder);
    Ok(claim.map(|claim| claim.time.into()))
}

/// Replaces a claim, unless it has another revision. Returns whether it was replaced.
pub(crate) async fn take_over(
    server: &Server,
    key: &str,
    revision: u64,
    holder: Bytes,
) -> Result<bool, CarrierError> {
    let write = write(server, key, revision, holder).await?;
    Ok(matches!(write, Write::Done))
}

/// Writes a claim if the key has this revision. A write whose answer was lost is repeated, and would find itself.
async fn write(
    server: &Server,
    key: &str,
    revision: u64,
    holder: Bytes,
) -> Result<Write, CarrierError> {
    let claims = &server.names.claims;
    let (subject, nonce) = (claims.subject(Some(key)), server.client.new_inbox());
    let message = PublishMessage::build()
        .payload(holder)
        .expected_last_subject_sequence(revision)
        .header(NONCE, nonce.as_str());
    if server.publish(&subject, message).await?.is_some() {
        return Ok(Write::Done);
    }
    let last = server.last_message(&claims.stream, &subject).await?;
    let by = last.as_ref().and_then(|last| last.headers.get(NONCE));
    if by.is_some_and(|by| by.as_str() == nonce) {
        Ok(Write::Done)
    } else {
        Ok(Write::Other(last))
    }
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
