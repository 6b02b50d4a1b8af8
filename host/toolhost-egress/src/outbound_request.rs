//! Sends one request on the network's own threads and returns its response.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body::Body;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use toolhost_contract::HttpCredential;
use toolhost_contract::http::Origin;

use crate::body::{RequestBody, ResponseBody};
use crate::error::RequestError;
use crate::redactor::SecretRedactor;
use crate::route::Route;

/// Smallest buffer in which hyper reads the head of a response, in bytes.
const HEAD_MIN: usize = 8 << 10;

/// Why a request got no response.
#[derive(Debug)]
pub struct FailedRequest {
    /// The server, if a connection was tried.
    pub origin: Option<Origin>,
    /// Why.
    pub error: RequestError,
}

/// How long each part of a request may take.
pub(crate) struct Timeouts {
    /// Waiting for a slot, resolving the name, connecting, and the TLS handshake.
    pub(crate) connect: Duration,
    pub(crate) first_byte: Duration,
    pub(crate) between_bytes: Duration,
}

/// A request that is allowed.
pub struct OutboundRequest<B> {
    pub(crate) request: Request<B>,
    pub(crate) route: Route,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) timeouts: Timeouts,
}

impl<B> OutboundRequest<B> {
    /// Takes the request out, to be put back with another body.
    pub fn take_request(self) -> (Request<B>, OutboundRequest<()>) {
        let Self {
            request,
            route,
            slots,
            timeouts,
        } = self;
        let rest = OutboundRequest {
            request: Request::new(()),
            route,
            slots,
            timeouts,
        };
        (request, rest)
    }
}

impl OutboundRequest<()> {
    /// Returns the names of the headers with secrets that the host sets.
    pub fn secret_headers(&self) -> Vec<String> {
        let (credentials, origin) = (&self.route.grant.credentials, &self.route.origin);
        let credentials = credentials.iter().filter(|it| it.applies_to(origin));
        credentials.map(|it| it.name().to_owned()).collect()
    }

    /// Puts the request back.
    pub fn with_request<B>(self, request: Request<B>) -> OutboundRequest<B> {
        let Self {
            route,
            slots,
            timeouts,
            ..
        } = self;
        OutboundRequest {
            request,
            route,
            slots,
            timeouts,
        }
    }
}

impl<B> OutboundRequest<B>
where
    B: Body<Data = Bytes, Error: Into<RequestError>> + Send + Unpin + 'static,
{
    /// Sends the request on the network's runtime. Dropping the future, or the body of the response, closes the connection.
    ///
    /// # Errors
    /// [`FailedRequest`] where the headers of the response do not arrive.
    pub async fn send(self) -> Result<Response<ResponseBody>, FailedRequest> {
        let failed = |error| FailedRequest {
            origin: None,
            error,
        };
        let runtime = self.route.network.runtime();
        let runtime = runtime.ok_or_else(|| failed(RequestError::NoThread))?;
        // A set aborts its tasks when it is dropped.
        let mut sending = JoinSet::new();
        sending.spawn_on(self.exchange(), &runtime);
        let sent = sending.join_next().await.and_then(Result::ok);
        sent.ok_or_else(|| failed(RequestError::Closed))?
    }

    async fn exchange(self) -> Result<Response<ResponseBody>, FailedRequest> {
        let Self {
            request,
            route,
            slots,
            timeouts,
        } = self;
        let exchanged = Self::exchange_by(&route, request, slots, timeouts).await;
        exchanged.map_err(|error| FailedRequest {
            origin: Some(route.origin),
            error,
        })
    }

    async fn exchange_by(
        route: &Route,
        request: Request<B>,
        slots: Arc<Semaphore>,
        timeouts: Timeouts,
    ) -> Result<Response<ResponseBody>, RequestError> {
        let connect_by = Instant::now() + timeouts.connect;
        let slot = timeout_at(connect_by, slots.acquire_owned()).await;
        let slot = slot.map_err(|_| RequestError::TooManyConnections)?;
        // The socket counts as an open file of the component.
        let meter = Arc::clone(&route.meter);
        let file = route.network.open_files.hold(meter.component, 1);
        let file = file.ok_or(RequestError::TooManyConnections)?;
        let stream = route.connect(connect_by).await?;

        let head = meter.limits.http_header_bytes.max(HEAD_MIN);
        let handshake = http1::Builder::new()
            .max_buf_size(head)
            .max_headers(meter.limits.http_headers)
            .handshake(TokioIo::new(stream));
        let connected = handshake.await.map_err(|e| RequestError::of_hyper(&e))?;
        let (mut sender, connection) = connected;
        let mut connected = JoinSet::new();
        connected.spawn(async move {
            let _held = (slot, file);
            // The response and its body report how the connection ended.
            let _ended = connection.await;
        });
        let request = with_host_headers(request, route)?;
        let response = timeout(timeouts.first_byte, sender.send_request(request)).await;
        let response = response.map_err(|_| RequestError::ReadTimeout)?;
        let response = response.map_err(|error| RequestError::of_hyper(&error))?;
        let (mut parts, incoming) = response.into_parts();
        let credentials = &route.grant.credentials;
        let mut set = credentials.iter().map(|one| one.applies_to(&route.origin));
        if parts.status == StatusCode::UNAUTHORIZED && set.any(|is_set| is_set) {
            meter.note_unauthorized(&route.origin);
        }
        let redactor = SecretRedactor::new(credentials, &route.origin);
        redactor.redact_headers(&mut parts.headers);
        let idle = timeouts.between_bytes;
        let body = ResponseBody::new(incoming, connected, meter, redactor, idle);
        Ok(Response::from_parts(parts, body))
    }
}

/// Adds the host's headers, and leaves only path and query in the request line.
fn with_host_headers<B>(
    request: Request<B>,
    route: &Route,
) -> Result<Request<RequestBody<B>>, RequestError> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
    let uri = Uri::builder().path_and_query(path).build();
    parts.uri = uri.map_err(|_| RequestError::UriInvalid)?;
    let close = HeaderValue::from_static("close");
    parts.headers.insert(header::CONNECTION, close);
    HttpCredential::apply_all(&route.grant.credentials, &route.origin, &mut parts.headers);
    let meter = Arc::clone(&route.meter);
    Ok(Request::from_parts(parts, RequestBody { body, meter }))
}
