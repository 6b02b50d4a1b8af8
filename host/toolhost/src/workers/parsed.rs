//! Parses messages without delaying others.

use bytes::Bytes;
use toolhost_contract::WorkerMessageError;
use toolhost_runtime::Threads;

/// Bytes from which on a message is parsed on a thread for computations.
const LARGE: usize = 256 << 10;

/// Parses a message.
///
/// # Errors
/// Why it is refused, as text.
pub(crate) async fn parsed<T: Send + 'static>(
    threads: &Threads,
    message: Bytes,
    parse: fn(&[u8]) -> Result<T, WorkerMessageError>,
) -> Result<T, String> {
    if message.len() < LARGE {
        return parse(&message).map_err(|error| error.to_string());
    }
    let parsed = threads.compute(move || parse(&message)).await;
    match parsed {
        Ok(parsed) => parsed.map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}
