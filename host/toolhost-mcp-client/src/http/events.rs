//! Events of a stream, of at most a given size.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::ready;
use futures_util::stream::BoxStream;
use http_body_util::BodyExt;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::{Sse, SseStream};
use toolhost::http::{HttpClientBody, HttpClientError};

use crate::guard::Watch;

/// Why no more events are read.
#[derive(Debug, thiserror::Error)]
enum EventError {
    #[error(transparent)]
    Http(#[from] HttpClientError),
    #[error("an event is larger than {0} bytes")]
    TooLarge(usize),
}

/// Parses the events of a body. One that is larger than `max` bytes ends the connection.
pub(super) fn bounded(
    body: HttpClientBody,
    max: usize,
    watch: Arc<Watch>,
) -> BoxStream<'static, Result<Sse, SseError>> {
    let mut size = EventSize::default();
    let mut has_failed = false;
    let chunks = body.into_data_stream().scan((), move |(), chunk| {
        if has_failed {
            return ready(None);
        }
        let checked = chunk.map_err(EventError::from).and_then(|chunk: Bytes| {
            match size.add(&chunk) <= max {
                true => Ok(chunk),
                false => {
                    watch.fail(format_args!("it sent an event of more than {max} bytes"));
                    Err(EventError::TooLarge(max))
                }
            }
        });
        has_failed = checked.is_err();
        ready(Some(checked))
    });
    SseStream::from_bytes_stream(chunks).boxed()
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
                let found = chunks.map(|chunk| size.add(chunk)).max();
                assert_eq!(
                    (found, size.bytes),
                    (Some(largest), left),
                    "{text:?} by {chunk}"
                );
            }
        }
    }
}
