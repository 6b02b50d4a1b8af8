//! Request and response bodies, counted against the limits of the call.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio::time::Sleep;
use toolhost_runtime::debug_fields;

use crate::error::RequestError;
use crate::meter::HttpMeter;
use crate::redactor::SecretRedactor;

type BodyFrame = Result<Frame<Bytes>, RequestError>;

/// The body of a request.
pub(crate) struct RequestBody<B> {
    pub(crate) body: B,
    pub(crate) meter: Arc<HttpMeter>,
}

impl<B> Body for RequestBody<B>
where
    B: Body<Data = Bytes, Error: Into<RequestError>> + Unpin,
{
    type Data = Bytes;
    type Error = RequestError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BodyFrame>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let polled = polled.map_err(Into::into);
        let Poll::Ready(Some(Ok(frame))) = &polled else {
            return polled;
        };
        let bytes = frame.data_ref().map_or(0, Bytes::len);
        match self.meter.count_sent(bytes) {
            Ok(()) => polled,
            Err(limit) => Poll::Ready(Some(Err(RequestError::RequestTooLarge(Some(limit))))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body that a server sends, without the secrets that were sent to it. It is read when its receiver reads it, but for
/// one buffer, and never decompressed.
///
/// Dropping it closes the connection.
pub struct ResponseBody {
    incoming: Incoming,
    _connection: JoinSet<()>,
    meter: Arc<HttpMeter>,
    redactor: SecretRedactor,
    /// Maximum time between two frames while the receiver waits.
    between_bytes: Duration,
    /// The runtime of connections: the one that reads the body may have no timers.
    timers: Handle,
    timeout: Option<Pin<Box<Sleep>>>,
    /// Trailers, which follow the bytes that the redactor held back.
    trailers: Option<Frame<Bytes>>,
    ended: bool,
}

debug_fields!(ResponseBody);

impl ResponseBody {
    pub(crate) fn new(
        incoming: Incoming,
        connection: JoinSet<()>,
        meter: Arc<HttpMeter>,
        redactor: SecretRedactor,
        between_bytes: Duration,
    ) -> Self {
        Self {
            incoming,
            _connection: connection,
            meter,
            redactor,
            between_bytes,
            timers: Handle::current(),
            timeout: None,
            trailers: None,
            ended: false,
        }
    }

    /// Converts a frame of the server, or the end of the body (`None`), for the receiver. Returns `None`
    /// if the redactor holds all of it back.
    fn convert(&mut self, frame: Option<Frame<Bytes>>) -> Option<Option<BodyFrame>> {
        let data = match frame.map(Frame::into_data) {
            Some(Ok(data)) => data,
            Some(Err(trailers)) => {
                let mut headers = trailers.into_trailers().unwrap_or_default();
                self.redactor.redact_headers(&mut headers);
                self.trailers = Some(Frame::trailers(headers));
                return Some(self.end());
            }
            None => return Some(self.end()),
        };
        if let Err(limit) = self.meter.count_received(data.len()) {
            self.ended = true;
            return Some(Some(Err(RequestError::ResponseTooLarge { limit })));
        }
        let data = self.redactor.redact(data);
        (!data.is_empty()).then(|| Some(Ok(Frame::data(data))))
    }

    /// Ends the body with what the redactor held back, or else with the trailers.
    fn end(&mut self) -> Option<BodyFrame> {
        self.ended = true;
        let rest = self.redactor.finish();
        if rest.is_empty() {
            return self.trailers.take().map(Ok);
        }
        Some(Ok(Frame::data(rest)))
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = RequestError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<BodyFrame>> {
        let this = &mut *self;
        loop {
            if this.ended {
                return Poll::Ready(this.trailers.take().map(Ok));
            }
            match Pin::new(&mut this.incoming).poll_frame(cx) {
                Poll::Ready(Some(Err(error))) => {
                    this.ended = true;
                    return Poll::Ready(Some(Err(RequestError::of_hyper(&error))));
                }
                Poll::Ready(frame) => {
                    this.timeout = None;
                    if let Some(frame) = this.convert(frame.and_then(Result::ok)) {
                        return Poll::Ready(frame);
                    }
                }
                Poll::Pending => {
                    let timeout = this.timeout.get_or_insert_with(|| {
                        let _timers = this.timers.enter();
                        Box::pin(tokio::time::sleep(this.between_bytes))
                    });
                    if timeout.as_mut().poll(cx).is_pending() {
                        return Poll::Pending;
                    }
                    this.ended = true;
                    return Poll::Ready(Some(Err(RequestError::ReadTimeout)));
                }
            }
        }
    }
}
