//! Events of a stream, of at most a given size, with the messages that are passed on.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http_body_util::BodyExt;
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};
use tokio::sync::OwnedSemaphorePermit;
use toolhost::http::{RequestError, ResponseBody};

use crate::guard::{SMALL_BYTES, Watch};
use crate::inbox::Incoming;

type Events = Vec<Result<Sse, SseError>>;

/// Why no more events are read.
#[derive(Debug, thiserror::Error)]
enum EventError {
    #[error(transparent)]
    Http(#[from] RequestError),
    #[error("an event is larger than {0} bytes")]
    TooLarge(usize),
}

/// Parses the events of a body. One that is larger than `max` bytes ends the connection.
pub(super) fn bounded(
    body: ResponseBody,
    max: usize,
    watch: Arc<Watch>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let chunks = Chunks {
        body: body.into_data_stream().boxed(),
        max,
        watch: Arc::clone(&watch),
        size: EventSize::default(),
        large: None,
        has_failed: false,
    };
    let chunks = stream::unfold(chunks, |mut chunks| async {
        let chunk = chunks.next().await?;
        Some((chunk, chunks))
    });
    let events = SseStream::from_bytes_stream(chunks.boxed());
    let passed = events.then(move |event| {
        let watch = Arc::clone(&watch);
        async move { stream::iter(passed(event, &watch).await) }
    });
    passed.flatten().boxed()
}

/// Returns events with the messages of an event that are passed on, or one without a message: what else it
/// says counts.
async fn passed(event: Result<Sse, SseError>, watch: &Watch) -> Events {
    let mut event = match event {
        Ok(event) => event,
        error => return vec![error],
    };
    if !matches!(event.event.as_deref(), None | Some("" | "message")) {
        return vec![Ok(event)];
    }
    let Some(data) = event.data.take() else {
        return vec![Ok(event)];
    };
    let messages = watch.read(&Incoming::of(data.as_bytes()).await);
    drop(data);
    let mut events: Events = messages.iter().filter_map(event_of).map(Ok).collect();
    match events.first_mut() {
        Some(Ok(first)) => (first.id, first.retry) = (event.id, event.retry),
        _ => events.push(Ok(event)),
    }
    events
}

/// Returns an event with a message.
pub(super) fn event_of(message: &ServerJsonRpcMessage) -> Option<Sse> {
    let data = serde_json::to_string(message).ok()?;
    Some(Sse::default().data(data))
}

/// The bytes of a stream of events.
struct Chunks {
    body: BoxStream<'static, Result<Bytes, RequestError>>,
    max: usize,
    watch: Arc<Watch>,
    size: EventSize,
    /// Held while a large event arrives.
    large: Option<OwnedSemaphorePermit>,
    has_failed: bool,
}

impl Chunks {
    async fn next(&mut self) -> Option<Result<Bytes, EventError>> {
        if self.has_failed {
            return None;
        }
        let chunk = self.body.next().await?.map_err(EventError::from);
        let chunk = chunk.and_then(|chunk| {
            if self.size.add(&chunk) <= self.max {
                return Ok(chunk);
            }
            let max = self.max;
            self.watch
                .fail(format_args!("it sent an event of more than {max} bytes"));
            Err(EventError::TooLarge(max))
        });
        self.has_failed = chunk.is_err();
        if self.size.bytes <= SMALL_BYTES {
            self.large = None;
        } else if self.large.is_none() {
            let large = Arc::clone(&self.watch.large);
            // It fails only if the semaphore is closed.
            self.large = large.acquire_owned().await.ok();
        }
        Some(chunk)
    }
}

/// Counts the bytes since the last empty line, which ends an event.
#[derive(Debug, Default)]
struct EventSize {
    bytes: usize,
    /// Whether the current line has no byte yet.
    is_line_start: bool,
    was_cr: bool,
}

impl EventSize {
    /// Counts a chunk. Returns the largest size of an event in it so far.
    fn add(&mut self, chunk: &[u8]) -> usize {
        let mut largest = 0;
        for byte in chunk {
            let ends_crlf = *byte == b'\n' && self.was_cr;
            self.was_cr = *byte == b'\r';
            if ends_crlf {
                continue;
            }
            self.bytes += 1;
            largest = largest.max(self.bytes);
            let ends_line = matches!(byte, b'\n' | b'\r');
            if ends_line && self.is_line_start {
                self.bytes = 0;
            }
            self.is_line_start = ends_line;
        }
        largest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_line_ends_an_event_whatever_ends_its_lines() {
        for (text, largest, left) in [
            ("data: 1\n\ndata: 23\n\n", 10, 0),
            ("data: 1\r\n\r\ndata: 23\r\n\r\n", 10, 0),
            ("data: 1\r\rdata: 2", 9, 7),
            ("data: 1\ndata: 2", 15, 15),
        ] {
            for chunk in [1, 2, 3, 100] {
                let mut size = EventSize::default();
                let chunks = text.as_bytes().chunks(chunk);
                let max = chunks.map(|chunk| size.add(chunk)).max();
                assert_eq!(
                    (max, size.bytes),
                    (Some(largest), left),
                    "{text:?} by {chunk}"
                );
            }
        }
    }
}
