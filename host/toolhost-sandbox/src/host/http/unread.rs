//! Bodies of requests that failed while the guest still writes them.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::{Error, WasiBody};

use crate::sync::lock;

/// Most bodies of one call that are read on at once.
const AT_ONCE: usize = 16;

/// The body of a request, also once what sends it is gone.
#[derive(Clone)]
pub(crate) struct SharedBody(Arc<Mutex<WasiBody>>);

impl SharedBody {
    /// Takes the body out of a request, which sends its share of it.
    pub(crate) fn of(request: Request<WasiBody>) -> (Request<WasiBody>, Self) {
        let (parts, body) = request.into_parts();
        let shared = Self(Arc::new(Mutex::new(body)));
        let request = Request::from_parts(parts, shared.clone().boxed_unsync());
        (request, shared)
    }

    /// Reads so many bytes to nowhere.
    async fn skip(mut self, most: u64) {
        let mut left = most;
        while let Some(Ok(frame)) = self.frame().await {
            let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
            let Some(rest) = left.checked_sub(bytes) else {
                return;
            };
            left = rest;
        }
    }
}

impl Body for SharedBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        Pin::new(&mut *lock(&self.0)).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).size_hint()
    }
}

/// Reads on what a guest writes for requests that failed, until the call ends: where the stream closed
/// instead, some languages would crash before they look at why the request failed.
#[derive(Clone, Default)]
pub(crate) struct Unread(Arc<Mutex<Vec<AbortOnDropJoinHandle<()>>>>);

impl Unread {
    /// Reads so much of a body, where not too many are read already.
    pub(crate) fn read(&self, body: SharedBody, most: u64) {
        let mut readings = lock(&self.0);
        readings.retain(|reading| !reading.is_finished());
        if readings.len() < AT_ONCE {
            readings.push(spawn(body.skip(most)));
        }
    }
}
