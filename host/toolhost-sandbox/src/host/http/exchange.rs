//! One request and its answer, on the network's own thread.

use std::error::Error as _;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::uri::PathAndQuery;
use http::{HeaderValue, Request, Response, Uri, header};
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_rustls::TlsConnector;
use toolhost_contract::Denial;
use toolhost_contract::http::{Host, Origin, Scheme, not_public};
use toolhost_contract::{HttpCredential, HttpGrant};
use wasmtime_wasi_http::io::TokioIo;
use wasmtime_wasi_http::{Error, WasiBody};

use super::Network;
use super::body::{Received, Sent};
use super::veil::Veil;
use crate::accounting::meter::Meter;

/// Most addresses of one name that are tried.
const ADDRESSES: usize = 8;

/// Smallest buffer that hyper reads a head into, in bytes.
const HEAD_MIN: usize = 8 << 10;

/// An answer whose body may still be on its way, and what brings it.
pub(crate) type Exchanged = Result<
    (
        Response<WasiBody>,
        Box<dyn Future<Output = Result<(), Error>> + Send>,
    ),
    Error,
>;

/// How long each part of an exchange may take.
pub(crate) struct Times {
    /// To look up the name, to connect, and to agree on keys.
    pub(crate) connect: Duration,
    pub(crate) first_byte: Duration,
    pub(crate) between_bytes: Duration,
}

/// A request that is allowed.
pub(crate) struct Exchange {
    pub(crate) request: Request<WasiBody>,
    pub(crate) route: Route,
    pub(crate) slots: Arc<Semaphore>,
    pub(crate) times: Times,
}

/// Where it goes, and by what right.
pub(crate) struct Route {
    pub(crate) origin: Origin,
    pub(crate) grant: Arc<HttpGrant>,
    pub(crate) network: Arc<Network>,
    pub(crate) meter: Arc<Meter>,
}

/// A task that ends when nobody waits for it any longer.
struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A connection that can be read and written, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

impl Exchange {
    /// Runs on the network's runtime; dropping the future ends it there and closes the connection.
    pub(crate) async fn run(self) -> Exchanged {
        let Some(runtime) = self.route.network.runtime() else {
            let reason = "the system has no thread for it".to_owned();
            return Err(Error::InternalError(Some(reason)));
        };
        let exchanged = Task(runtime.spawn(self.exchange()));
        let (response, driving) = exchanged.await.map_err(|_| Error::ConnectionTerminated)??;
        let driven = async move {
            // How a connection ends is told by the body.
            let _over = driving.await;
            Ok(())
        };
        Ok((response, Box::new(driven)))
    }

    async fn exchange(self) -> Result<(Response<WasiBody>, Task<()>), Error> {
        let Self {
            request,
            route,
            slots,
            times,
        } = self;
        let by = Instant::now() + times.connect;
        let slot = timeout_at(by, slots.acquire_owned()).await;
        let slot = slot.map_err(|_| Error::ConnectionLimitReached)?;
        // What it takes of the system counts as an open file of the call's component.
        let meter = Arc::clone(&route.meter);
        let file = meter.host_files.hold(meter.component, 1);
        let file = file.ok_or(Error::ConnectionLimitReached)?;
        let stream = route.connect(by).await?;

        let head = meter.limits.http_header_bytes.max(HEAD_MIN);
        let handshake = http1::Builder::new()
            .max_buf_size(head)
            .max_headers(meter.limits.http_headers)
            .handshake(TokioIo::new(stream));
        let (mut sender, connection) = handshake.await.map_err(|error| error_of(&error))?;
        let driving = Task(tokio::spawn(async move {
            let _held = (slot, file);
            // How it ends is told by the answer and its body.
            let _over = connection.await;
        }));
        let request = route.prepared(request)?;
        let answer = timeout(times.first_byte, sender.send_request(request)).await;
        let answer = answer.map_err(|_| Error::ConnectionReadTimeout)?;
        let (mut parts, incoming) = answer.map_err(|error| error_of(&error))?.into_parts();
        let veil = Veil::of(&route.grant.credentials, &route.origin);
        veil.headers(&mut parts.headers);
        let body = Received::new(incoming, meter, veil, times.between_bytes);
        Ok((Response::from_parts(parts, body.boxed_unsync()), driving))
    }
}

impl Route {
    /// The request as it is sent: with what the host adds, and without scheme and host in its line.
    fn prepared(&self, request: Request<WasiBody>) -> Result<Request<Sent>, Error> {
        let (mut parts, body) = request.into_parts();
        let path = parts.uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let uri = Uri::builder().path_and_query(path).build();
        parts.uri = uri.map_err(|_| Error::HttpRequestUriInvalid)?;
        let close = HeaderValue::from_static("close");
        parts.headers.insert(header::CONNECTION, close);
        HttpCredential::add(&self.grant.credentials, &self.origin, &mut parts.headers);
        let meter = Arc::clone(&self.meter);
        Ok(Request::from_parts(parts, Sent { body, meter }))
    }

    async fn connect(&self, by: Instant) -> Result<Box<dyn Stream>, Error> {
        if let Some(server) = self.grant.answered_by {
            return Ok(Box::new(dial(&[server.ip()], server.port(), by).await?));
        }
        let addresses = self.addresses(by).await?;
        let stream = dial(&addresses, self.origin.port, by).await?;
        if self.origin.scheme == Scheme::Http {
            return Ok(Box::new(stream));
        }
        let name = match &self.origin.host {
            Host::Name(name) => ServerName::try_from(name.clone()),
            Host::Address(address) => Ok(ServerName::from(*address)),
        };
        let name = name.map_err(|_| Error::HttpRequestUriInvalid)?;
        let config = self.network.tls().ok_or(Error::ConfigurationError)?;
        let agreed = timeout_at(by, TlsConnector::from(config).connect(name, stream)).await;
        let agreed = agreed.map_err(|_| Error::ConnectionTimeout)?;
        Ok(Box::new(agreed.map_err(|error| tls_error(&error))?))
    }

    /// The addresses to connect to: looked up once, each checked, and no other used.
    async fn addresses(&self, by: Instant) -> Result<Vec<IpAddr>, Error> {
        let name = match &self.origin.host {
            // A rule names it literally.
            Host::Address(address) => return Ok(vec![*address]),
            Host::Name(name) => name,
        };
        let lookups = &self.network.lookups;
        let share = lookups.hold(self.meter.component, 1);
        let share = share.ok_or(Error::ConnectionLimitReached)?;
        let (resolver, host) = (Arc::clone(&self.network.resolver), name.clone());
        // The system's resolver goes on when nobody waits for it any longer, and holds its share.
        let looking = tokio::spawn(async move {
            let found = resolver.resolve(&host).await;
            drop(share);
            found
        });
        let found = timeout_at(by, looking).await;
        let found = found.map_err(|_| Error::DnsTimeout)?;
        let found = found.map_err(|_| Error::ConnectionTerminated)?;
        let found = found.map_err(|_| Error::DnsError {
            rcode: None,
            info_code: None,
        })?;
        let mut allowed = Vec::new();
        let mut refused = None;
        for address in found {
            match not_public(address) {
                Some(block) if !self.reaches(name, address) => refused = refused.or(Some(block)),
                Some(_) | None => allowed.push(address),
            }
        }
        allowed.truncate(ADDRESSES);
        if let (true, Some(block)) = (allowed.is_empty(), refused) {
            let (host, network) = (name.clone(), block.to_string());
            self.meter.deny(Denial::HttpNetwork { host, network });
            return Err(Error::DestinationIpProhibited);
        }
        Ok(allowed)
    }

    /// Whether a name may resolve to an address that is not public.
    fn reaches(&self, name: &str, address: IpAddr) -> bool {
        let networks = &self.grant.private_networks;
        (name == "localhost" && address.is_loopback())
            || networks.iter().any(|block| block.contains(address))
    }
}

/// Connects to the first address that answers; each has its share of the time.
async fn dial(addresses: &[IpAddr], port: u16, by: Instant) -> Result<TcpStream, Error> {
    let mut failed = Error::DestinationNotFound;
    for (left, address) in (1..=addresses.len()).rev().zip(addresses) {
        let rest = by.saturating_duration_since(Instant::now());
        let share = rest / u32::try_from(left).unwrap_or(u32::MAX);
        let server = SocketAddr::new(*address, port);
        failed = match timeout(share, TcpStream::connect(server)).await {
            Ok(Ok(stream)) => {
                // A request is one write or few; nothing is gained by waiting for more.
                let _kept = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                Error::ConnectionRefused
            }
            Ok(Err(_)) => Error::DestinationUnavailable,
            Err(_) => Error::ConnectionTimeout,
        };
    }
    Err(failed)
}

/// Why no keys were agreed on. What the server says of itself is not told.
fn tls_error(error: &io::Error) -> Error {
    let reason = error.get_ref().and_then(|why| why.downcast_ref());
    match reason {
        Some(rustls::Error::InvalidCertificate(_)) => Error::TlsCertificateError,
        Some(rustls::Error::AlertReceived(alert)) => Error::TlsAlertReceived {
            alert_id: Some(u8::from(*alert)),
            alert_message: None,
        },
        _ => Error::TlsProtocolError,
    }
}

/// Why an exchange failed, in the words of wasi:http.
pub(crate) fn error_of(error: &hyper::Error) -> Error {
    let cause = error.source();
    if let Some(Error::HttpRequestBodySize(size)) = cause.and_then(|it| it.downcast_ref()) {
        return Error::HttpRequestBodySize(*size);
    }
    let system = cause.and_then(|it| it.downcast_ref::<io::Error>());
    let hung_up = system.is_some_and(|it| it.kind() == io::ErrorKind::UnexpectedEof);
    let reset = system.is_some_and(|it| {
        use io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset};
        matches!(it.kind(), BrokenPipe | ConnectionAborted | ConnectionReset)
    });
    if error.is_parse_too_large() {
        return Error::HttpResponseHeaderSectionSize(None);
    }
    if hung_up || error.is_incomplete_message() {
        return Error::HttpResponseIncomplete;
    }
    if reset || error.is_closed() || error.is_canceled() {
        return Error::ConnectionTerminated;
    }
    Error::HttpProtocolError
}
