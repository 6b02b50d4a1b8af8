//! Sends one request on the network's own threads and returns its response.

use std::sync::Arc;
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout, timeout_at};
use toolhost_contract::HttpCredential;
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, WasiBody};

use super::body::{RequestBody, ResponseBody};
use super::body_drain::SharedBody;
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
    pub(super) request: Request<SharedBody>,
    pub(super) route: Route,
    pub(super) slots: Arc<Semaphore>,
    pub(super) timeouts: Timeouts,
}

impl OutboundRequest {
    /// Sends the request on the network's runtime. Dropping the future closes the connection.
    pub(super) async fn send(self) -> SendResult {
        let Some(runtime) = self.route.network.runtime() else {
            let reason = "the host could not start a thread for HTTP".to_owned();
            return Err(Error::InternalError(Some(reason)));
        };
        // A set aborts its tasks when it is dropped.
        let mut sending = JoinSet::new();
        sending.spawn_on(self.exchange(), &runtime);
        let sent = sending.join_next().await.and_then(Result::ok);
        let (response, mut connection) = sent.ok_or(Error::ConnectionTerminated)??;
        let connection = async move {
            // The body reports how the connection ended.
            let _ended = connection.join_next().await;
            Ok(())
        };
        Ok((response, Box::new(connection)))
    }

    async fn exchange(self) -> Result<(Response<WasiBody>, JoinSet<()>), Error> {
        let Self {
            request,
            route,
            slots,
            timeouts,
        } = self;
        let exchanged = Self::exchange_by(&route, request, slots, timeouts).await;
        exchanged.inspect_err(|error| route.failed(error))
    }

    async fn exchange_by(
        route: &Route,
        request: Request<SharedBody>,
        slots: Arc<Semaphore>,
        timeouts: Timeouts,
    ) -> Result<(Response<WasiBody>, JoinSet<()>), Error> {
        let connect_by = Instant::now() + timeouts.connect;
        let slot = timeout_at(connect_by, slots.acquire_owned()).await;
        let slot = slot.map_err(|_| Error::ConnectionLimitReached)?;
        // The socket counts as an open file of the component.
        let meter = Arc::clone(&route.meter);
        let file = meter.open_files.hold(meter.component, 1);
        let file = file.ok_or(Error::ConnectionLimitReached)?;
        let stream = route.connect(connect_by).await?;

        let head = meter.limits.http_header_bytes.max(HEAD_MIN);
        let handshake = http1::Builder::new()
            .max_buf_size(head)
            .max_headers(meter.limits.http_headers)
            .handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(|error| from_hyper(&error))?;
        let mut connected = JoinSet::new();
        connected.spawn(async move {
            let _held = (slot, file);
            // The response and its body report how the connection ended.
            let _ended = connection.await;
        });
        let request = with_host_headers(request, route)?;
        let response = timeout(timeouts.first_byte, sender.send_request(request)).await;
        let response = response.map_err(|_| Error::ConnectionReadTimeout)?;
        let response = response.map_err(|error| from_hyper(&error))?;
        let (mut parts, incoming) = response.into_parts();
        let credentials = &route.grant.credentials;
        let mut set = credentials.iter().map(|one| one.applies_to(&route.origin));
        if parts.status == StatusCode::UNAUTHORIZED && set.any(|is_set| is_set) {
            meter.note_unauthorized(&route.origin);
        }
        let redactor = SecretRedactor::new(credentials, &route.origin);
        redactor.redact_headers(&mut parts.headers);
        let body = ResponseBody::new(incoming, meter, redactor, timeouts.between_bytes);
        let response = Response::from_parts(parts, body.boxed_unsync());
        Ok((response, connected))
    }
}

/// Adds the host's headers, and leaves only path and query in the request line.
fn with_host_headers(
    request: Request<SharedBody>,
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
