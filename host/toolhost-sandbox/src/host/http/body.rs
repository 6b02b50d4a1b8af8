//! Bodies, counted as they pass.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::Sleep;
use wasmtime_wasi_http::{Error, WasiBody};

use super::exchange::error_of;
use super::veil::Veil;
use crate::accounting::meter::Meter;

/// Counts bytes against a sum of the call's; false beyond it.
fn counts(sum: &AtomicU64, bytes: usize, limit: u64) -> bool {
    let bytes = bytes as u64;
    sum.fetch_add(bytes, Relaxed).saturating_add(bytes) <= limit
}

/// What a guest sends.
pub(crate) struct Sent {
    pub(crate) body: WasiBody,
    pub(crate) meter: Arc<Meter>,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let Poll::Ready(Some(Ok(frame))) = &polled else {
            return polled;
        };
        let (meter, bytes) = (&self.meter, frame.data_ref().map_or(0, Bytes::len));
        let limit = meter.limits.http_request_bytes;
        if counts(&meter.http_sent, bytes, limit) {
            return polled;
        }
        Poll::Ready(Some(Err(Error::HttpRequestBodySize(Some(limit)))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// What a server sends. Nothing is read ahead of the guest but one buffer, and nothing is unpacked.
pub(crate) struct Received {
    incoming: Incoming,
    meter: Arc<Meter>,
    veil: Veil,
    /// Time a server may take between two pieces, while the guest waits.
    between: Duration,
    waiting: Option<Pin<Box<Sleep>>>,
    /// Told after what the veil held.
    last: Option<Frame<Bytes>>,
    over: bool,
}

impl Received {
    pub(crate) fn new(
        incoming: Incoming,
        meter: Arc<Meter>,
        veil: Veil,
        between: Duration,
    ) -> Self {
        Self {
            incoming,
            meter,
            veil,
            between,
            waiting: None,
            last: None,
            over: false,
        }
    }

    /// A piece or the end; none where there is nothing to tell yet.
    fn took(&mut self, frame: Option<Frame<Bytes>>) -> Option<Option<Result<Frame<Bytes>, Error>>> {
        let Some(frame) = frame else {
            self.over = true;
            let rest = self.veil.rest();
            return Some((!rest.is_empty()).then(|| Ok(Frame::data(rest))));
        };
        let piece = match frame.into_data() {
            Ok(piece) => piece,
            Err(trailers) => {
                let mut headers = trailers.into_trailers().unwrap_or_default();
                self.veil.headers(&mut headers);
                self.over = true;
                self.last = Some(Frame::trailers(headers));
                let rest = self.veil.rest();
                let first = (!rest.is_empty()).then(|| Frame::data(rest));
                return Some(first.or_else(|| self.last.take()).map(Ok));
            }
        };
        let limit = self.meter.limits.http_response_bytes;
        if !counts(&self.meter.http_received, piece.len(), limit) {
            self.over = true;
            return Some(Some(Err(Error::HttpResponseBodySize(Some(limit)))));
        }
        let shown = self.veil.pass(piece);
        (!shown.is_empty()).then(|| Some(Ok(Frame::data(shown))))
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = &mut *self;
        loop {
            if this.over {
                return Poll::Ready(this.last.take().map(Ok));
            }
            match Pin::new(&mut this.incoming).poll_frame(cx) {
                Poll::Ready(Some(Err(error))) => {
                    this.over = true;
                    return Poll::Ready(Some(Err(error_of(&error))));
                }
                Poll::Ready(frame) => {
                    this.waiting = None;
                    if let Some(told) = this.took(frame.and_then(Result::ok)) {
                        return Poll::Ready(told);
                    }
                }
                Poll::Pending => {
                    let between = this.between;
                    let waiting = this
                        .waiting
                        .get_or_insert_with(|| Box::pin(tokio::time::sleep(between)));
                    if waiting.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    this.over = true;
                    return Poll::Ready(Some(Err(Error::ConnectionReadTimeout)));
                }
            }
        }
    }
}
