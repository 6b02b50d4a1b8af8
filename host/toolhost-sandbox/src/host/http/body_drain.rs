//! Reads on from the bodies of failed requests while the guest still writes them.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use toolhost_egress::RequestError;
use toolhost_runtime::lock;
use wasmtime_wasi::runtime::{AbortOnDropJoinHandle, spawn};
use wasmtime_wasi_http::WasiBody;

use super::error::of_body;

/// Maximum bodies of one call that are drained at once.
const DRAINED_MAX: usize = 16;

/// A request body that can be read on after the request was dropped.
#[derive(Clone)]
pub(super) struct SharedBody(Arc<Mutex<WasiBody>>);

impl SharedBody {
    /// Makes the body of a request a shared one.
    pub(super) fn share(request: Request<WasiBody>) -> (Request<Self>, Self) {
        let (parts, body) = request.into_parts();
        let shared = Self(Arc::new(Mutex::new(body)));
        (Request::from_parts(parts, shared.clone()), shared)
    }

    /// Reads and drops up to `limit` bytes.
    async fn discard(mut self, limit: u64) {
        let mut left = limit;
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
    type Error = RequestError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RequestError>>> {
        let polled = Pin::new(&mut *lock(&self.0)).poll_frame(cx);
        polled.map_err(of_body)
    }

    fn is_end_stream(&self) -> bool {
        lock(&self.0).is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        lock(&self.0).size_hint()
    }
}

/// Drains the bodies of failed requests until the call ends. If the streams were closed instead, the
/// runtimes of some languages would crash before the guest sees why its request failed.
#[derive(Clone, Default)]
pub(super) struct BodyDrain(Arc<Mutex<Vec<AbortOnDropJoinHandle<()>>>>);

impl BodyDrain {
    /// Drains up to `limit` bytes of a body, unless too many are being drained.
    pub(super) fn drain(&self, body: SharedBody, limit: u64) {
        let mut tasks = lock(&self.0);
        tasks.retain(|task| !task.is_finished());
        if tasks.len() < DRAINED_MAX {
            tasks.push(spawn(body.discard(limit)));
        }
    }
}
