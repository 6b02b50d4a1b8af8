//! Sends one request on the network's own threads and returns its response.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout, timeout_at};
use toolhost_contract::HttpCredential;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, WasiBody};

use super::body::{RequestBody, ResponseBody};
use super::error::from_hyper;
use super::redactor::SecretRedactor;
use super::route::Route;

/// Smallest buffer in which hyper reads the head of a response, in bytes.
const HEAD_MIN: usize = 8 << 10;

/// A response whose body may still arrive, and the future that receives it.
pub(super) type SendResult = Result<
    (
        Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

/// How long each part of a request may take.
pub(super) struct Timeouts {
    /// Waiting for a slot, resolving the name, connecting, and the TLS handshake.
    pub(super) connect: Duration,
    pub(super) first_byte: Duration,
    pub(super) between_bytes: Duration,
}

/// A request that is allowed.
pub(super) struct OutboundRequest {
    pub(super) request: Request<WasiBody>,
    pub(super) route: Route,
    pub(super) slots: Arc<Semaphore>,
    pub(super) timeouts: Timeouts,
}

/// A task that is aborted when this is dropped.
struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Future for AbortOnDrop<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl OutboundRequest {
    /// Sends the request on the network's runtime. Dropping the future closes the connection.
    pub(super) async fn send(self) -> SendResult {
        let Some(runtime) = self.route.network.runtime() else {
            let reason = "the host could not start a thread for HTTP".to_owned();
            return Err(Error::InternalError(Some(reason)));
        };
        let sending = AbortOnDrop(runtime.spawn(self.exchange()));
        let sent = sending.await.map_err(|_| Error::ConnectionTerminated)?;
        let (response, connection) = sent?;
        let connection = async move {
            // The body reports how the connection ended.
            let _ended = connection.await;
            Ok(())
        };
        Ok((response, Box::new(connection)))
    }

    async fn exchange(self) -> Result<(Response<WasiBody>, AbortOnDrop<()>), Error> {
        let Self {
            request,
            route,
            slots,
            timeouts,
        } = self;
        let connect_by = Instant::now() + timeouts.connect;
        let slot = timeout_at(connect_by, slots.acquire_owned()).await;
        let slot = slot.map_err(|_| Error::ConnectionLimitReached)?;
        // The socket counts as an open file of the component.
        let meter = Arc::clone(&route.meter);
        let file = meter.host_files.hold(meter.component, 1);
        let file = file.ok_or(Error::ConnectionLimitReached)?;
        let stream = route.connect(connect_by).await?;

        let head = meter.limits.http_header_bytes.max(HEAD_MIN);
        let handshake = http1::Builder::new()
            .max_buf_size(head)
            .max_headers(meter.limits.http_headers)
            .handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(|error| from_hyper(&error))?;
        let connection = AbortOnDrop(tokio::spawn(async move {
            let _held = (slot, file);
            // The response and its body report how the connection ended.
            let _ended = connection.await;
        }));
        let request = with_host_headers(request, &route)?;
        let response = timeout(timeouts.first_byte, sender.send_request(request)).await;
        let response = response.map_err(|_| Error::ConnectionReadTimeout)?;
        let response = response.map_err(|error| from_hyper(&error))?;
        let (mut parts, incoming) = response.into_parts();
        let redactor = SecretRedactor::new(&route.grant.credentials, &route.origin);
        redactor.redact_headers(&mut parts.headers);
        let body = ResponseBody::new(incoming, meter, redactor, timeouts.between_bytes);
        let response = Response::from_parts(parts, body.boxed_unsync());
        Ok((response, connection))
    }
}

/// Adds the host's headers, and leaves only path and query in the request line.
fn with_host_headers(
    request: Request<WasiBody>,
    route: &Route,
) -> Result<Request<RequestBody>, Error> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let uri = Uri::builder().path_and_query(path).build();
    parts.uri = uri.map_err(|_| Error::HttpRequestUriInvalid)?;
    let close = HeaderValue::from_static("close");
    parts.headers.insert(header::CONNECTION, close);
    HttpCredential::apply_all(&route.grant.credentials, &route.origin, &mut parts.headers);
    let meter = Arc::clone(&route.meter);
    Ok(Request::from_parts(parts, RequestBody { body, meter }))
}
