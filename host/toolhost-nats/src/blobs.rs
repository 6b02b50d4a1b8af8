//! Messages that are too large to travel as such: they lie in an object store, and a reference travels.

use std::io::ErrorKind;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::object_store::{
    DeleteErrorKind, GetErrorKind, ObjectMetadata, ObjectStore,
};
use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncReadExt as _;
use toolhost::fleet::CarrierError;

use crate::server::{Failure, LIMIT, Server, transient};

/// Calls whose blobs are remembered, so that they are removed with the claim. Others are removed by their age.
const REMEMBERED: usize = 10_000;

/// Most bytes of a message that travels as such.
const INLINE_MAX: usize = 900 << 10;

/// Bytes that are left for headers of what the server allows for a message.
const HEADERS: usize = 4 << 10;

/// Most bytes of a message: those of a call with the largest arguments, and room.
const BLOB_MAX: u64 = 256 << 20;

/// Bytes of an object that one message carries.
const CHUNK: usize = 512 << 10;

/// Slowest transfer that is waited for, in bytes a second, once [`LIMIT`] is over.
const SLOWEST: u64 = 1 << 20;

/// Letters of the name of a blob.
const NAME_MAX: usize = 128;

/// Header of a reference.
const REFERENCE: &str = "Toolhost-Blob";

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    /// Name of the object.
    blob: String,
    /// Bytes of it.
    size: u64,
    /// SHA-256 of it, in hexadecimal.
    sha256: String,
}

/// Makes the message that carries a payload. A large payload is stored first.
pub(crate) async fn pack(
    server: &Server,
    id: &str,
    payload: Bytes,
) -> Result<PublishMessage, CarrierError> {
    let message = PublishMessage::build().message_id(id);
    let max = server.client.max_payload().saturating_sub(HEADERS);
    if payload.len() <= max.min(INLINE_MAX) {
        return Ok(message.payload(payload));
    }
    let size = u64::try_from(payload.len()).unwrap_or(u64::MAX);
    if size > BLOB_MAX {
        let refused = format!("the message has {size} bytes, more than {BLOB_MAX}");
        return Err(CarrierError::Refused(refused));
    }
    let sha256 = digest(&payload).await;
    // With another content it has another name: no reader sees an object change.
    let blob = format!("{id}.{}", sha256.get(..16).unwrap_or(&sha256));
    let reference = Reference { blob, size, sha256 };
    let limit = transfer_time(size);
    server
        .attempt(limit, || store(server, &reference, &payload))
        .await?;
    remember(server, &reference.blob);
    let reference = serde_json::to_vec(&reference).unwrap_or_default();
    Ok(message.header(REFERENCE, "1").payload(reference.into()))
}

/// Returns the payload of a message. A large one is read, and compared with its reference.
///
/// # Errors
/// Refused: it is missing, or not what was stored.
pub(crate) async fn unpack(
    server: &Server,
    headers: Option<&HeaderMap>,
    payload: Bytes,
) -> Result<Bytes, CarrierError> {
    if headers.and_then(|headers| headers.get(REFERENCE)).is_none() {
        return Ok(payload);
    }
    let refused = |reason: String| Err(CarrierError::Refused(reason));
    let reference = serde_json::from_slice::<Reference>(&payload).ok();
    let Some(reference) = reference.filter(|reference| is_name(&reference.blob)) else {
        return refused("the reference to a large message cannot be read".to_owned());
    };
    let (blob, size) = (&reference.blob, reference.size);
    if size > BLOB_MAX {
        return refused(format!("the blob `{blob}` has more than {BLOB_MAX} bytes"));
    }
    let limit = transfer_time(size);
    let bytes = server.attempt(limit, || read(server, &reference)).await?;
    if bytes.len() as u64 != size || digest(&bytes).await != reference.sha256 {
        return refused(format!("the blob `{blob}` is not what was stored"));
    }
    remember(server, blob);
    Ok(bytes)
}

/// Removes the blobs of a call that this process knows.
pub(crate) async fn remove(server: &Server, call: &str) -> Result<(), CarrierError> {
    let blobs = lock(&server.blobs).remove(call).unwrap_or_default();
    for blob in &blobs {
        let remove = || async {
            match objects(server).await?.delete(blob).await {
                Ok(()) => Ok(()),
                Err(error) if error.kind() == DeleteErrorKind::NotFound => Ok(()),
                Err(error) => Err(transient(&error)),
            }
        };
        server.attempt(LIMIT, remove).await?;
    }
    Ok(())
}

fn remember(server: &Server, blob: &str) {
    let Some((call, _)) = blob.split_once('.') else {
        return;
    };
    let mut blobs = lock(&server.blobs);
    if blobs.len() < REMEMBERED || blobs.contains_key(call) {
        let of = blobs.entry(call.to_owned()).or_default();
        of.insert(blob.to_owned());
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is beneath it is whole after each line.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the SHA-256 of a payload, in hexadecimal.
pub(crate) async fn digest(payload: &Bytes) -> String {
    let digest = |payload: &Bytes| HEXLOWER.encode(&Sha256::digest(payload));
    if payload.len() <= INLINE_MAX {
        return digest(payload);
    }
    let payload = payload.clone();
    let digest = tokio::task::spawn_blocking(move || digest(&payload));
    // It fails if the runtime ends.
    digest.await.unwrap_or_default()
}

/// Returns whether a text can be the name of a blob.
fn is_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    text.len() <= NAME_MAX && text.bytes().all(allowed)
}

fn transfer_time(size: u64) -> Duration {
    LIMIT.saturating_add(Duration::from_secs(size / SLOWEST))
}

async fn store(server: &Server, reference: &Reference, payload: &Bytes) -> Result<(), Failure> {
    let objects = objects(server).await?;
    let existing = objects.info(&reference.blob).await;
    if existing.is_ok_and(|object| !object.deleted && object.size as u64 == reference.size) {
        return Ok(());
    }
    let object = ObjectMetadata {
        name: reference.blob.clone(),
        chunk_size: Some(CHUNK.min(server.client.max_payload().saturating_sub(HEADERS))),
        ..ObjectMetadata::default()
    };
    let mut payload: &[u8] = payload;
    let stored = objects.put(object, &mut payload).await;
    stored.map(drop).map_err(|error| transient(&error))
}

async fn read(server: &Server, reference: &Reference) -> Result<Bytes, Failure> {
    let Reference { blob, size, .. } = reference;
    let refused = |reason: &str| {
        let reason = format!("the blob `{blob}` {reason}");
        Err(Failure::Final(CarrierError::Refused(reason)))
    };
    let object = match objects(server).await?.get(blob).await {
        Ok(object) => object,
        Err(error) if error.kind() == GetErrorKind::NotFound => return refused("is missing"),
        Err(error) => return Err(transient(&error)),
    };
    if object.info().size as u64 != *size {
        return refused("is not what was stored");
    }
    // The size in a reference is not trusted with memory.
    let mut bytes = Vec::new();
    let mut object = object.take(size + 1);
    match object.read_to_end(&mut bytes).await {
        Ok(_) => Ok(bytes.into()),
        Err(error) if error.kind() == ErrorKind::InvalidData => refused("is not what was stored"),
        Err(error) => Err(transient(&error)),
    }
}

async fn objects(server: &Server) -> Result<ObjectStore, Failure> {
    let objects = server.context.get_object_store(&server.names.blobs).await;
    // It gives no kind for a bucket that is missing.
    objects.map_err(|_| Failure::Missing)
}
