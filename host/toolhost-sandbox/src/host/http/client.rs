//! Sends requests of the host itself: with the rules, addresses, limits and TLS settings of guests'
//! requests.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Full};
use toolhost_contract::http::HttpGrant;
use toolhost_contract::{Denial, Limits};
use toolhost_runtime::{ComponentId, Quota};
use wasmtime_wasi_http::{Error, WasiBody, WasiHttpHooks};

use super::hooks::Http;
use super::meter::HttpMeter;
use super::network::Network;
use toolhost_contract::Attempts;

/// Sends HTTP requests of the host to the servers that a grant allows. Cheap to clone.
///
/// A request is checked and sent as a guest's is: its rule, the addresses of its server, the headers
/// with credentials, which are replaced in the response, and the limits `http_*` of [`Limits`], which
/// apply to each request alone. Redirects are not followed.
///
/// Its future and the response's body need a tokio runtime with a timer.
#[derive(Clone)]
pub struct HttpClient(Arc<ClientInner>);

struct ClientInner {
    grant: Arc<HttpGrant>,
    limits: Limits,
    /// Connections are open files; those of one client count together.
    owner: ComponentId,
    network: Arc<Network>,
    open_files: Arc<Quota>,
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient")
            .field("allow", &self.0.grant.allow)
            .finish_non_exhaustive()
    }
}

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HttpClientError {
    /// No rule allows the request, or its host has no address that is allowed.
    #[error("denied: {0}")]
    Denied(Denial),
    /// The server could not be reached, or did not answer as HTTP requires, or exceeded a limit.
    #[error("{0}")]
    Failed(String),
    /// The URL has an address that is not public, and the operator has not listed it.
    #[error("{origin} is not a public address: list it in `privateNetworks`")]
    NotPublic {
        /// The origin of the URL.
        origin: String,
    },
    /// The answer is larger than the client reads.
    #[error("its answer has more than {max} bytes")]
    TooLarge {
        /// Limit in bytes.
        max: u64,
    },
    /// The whole answer did not arrive in time.
    #[error("no answer within {} s", time.as_secs_f64())]
    Timeout {
        /// Limit.
        time: Duration,
    },
}

/// The body of a response. Dropping it closes the connection.
pub struct HttpClientBody {
    body: WasiBody,
    /// Keeps the connection open.
    _connection: Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>,
}

impl fmt::Debug for HttpClientBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClientBody").finish_non_exhaustive()
    }
}

impl HttpClient {
    pub(crate) fn new(
        owner: ComponentId,
        grant: Arc<HttpGrant>,
        limits: Limits,
        network: Arc<Network>,
        open_files: Arc<Quota>,
    ) -> Self {
        Self(Arc::new(ClientInner {
            grant,
            limits,
            owner,
            network,
            open_files,
        }))
    }

    /// Sends a request and returns when the headers of the response have arrived. Dropping the future
    /// closes the connection.
    ///
    /// # Errors
    /// [`HttpClientError::Denied`] where the grant does not allow the request, before any name is
    /// resolved; [`HttpClientError::Failed`] otherwise.
    pub async fn send(
        &self,
        request: Request<Bytes>,
    ) -> Result<Response<HttpClientBody>, HttpClientError> {
        let inner = &self.0;
        let attempts = Arc::default();
        let meter = HttpMeter::new(
            inner.owner,
            inner.limits.clone(),
            Arc::clone(&inner.open_files),
            Arc::clone(&attempts),
        );
        let (grant, network) = (Arc::clone(&inner.grant), Arc::clone(&inner.network));
        let sent = {
            let mut http = Http::new(Some(grant), network, Arc::new(meter), None);
            let body = |bytes| Full::new(bytes).map_err(Error::from).boxed_unsync();
            let processed = Box::new(std::future::ready(Ok(())));
            Box::into_pin(http.hooks.send_request(request.map(body), None, processed))
        };
        let (response, connection) = sent.await.map_err(|error| failed(&error, &attempts))?;
        let connection = Box::into_pin(connection);
        Ok(response.map(|body| HttpClientBody {
            body,
            _connection: connection,
        }))
    }
}

fn failed(error: &Error, attempts: &Attempts) -> HttpClientError {
    match attempts.denials().into_iter().next() {
        Some(denial) => HttpClientError::Denied(denial),
        None => HttpClientError::Failed(error.to_string()),
    }
}

impl Body for HttpClientBody {
    type Data = Bytes;
    type Error = HttpClientError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpClientError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        polled.map_err(|error| HttpClientError::Failed(error.to_string()))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
