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
use http_body_util::Full;
use toolhost_contract::http::HttpGrant;
use toolhost_contract::{Denial, Limits};
use toolhost_runtime::ComponentId;

use crate::body::ResponseBody;
use crate::error::RequestError;
use crate::meter::HttpMeter;
use crate::network::Network;
use crate::outbound_request::{Connection, Sent};
use crate::sender::{HttpSender, RequestTimeouts};

/// Sends HTTP requests of the host to the servers that a grant allows. Cheap to clone.
///
/// A request is checked and sent as a guest's is: its rule, the addresses of its server, the headers
/// with credentials, which are replaced in the response, and the limits `http_*` of [`Limits`], which
/// apply to each request alone. Redirects are not followed.
///
/// Neither its future nor the body of the response needs a timer of the caller's runtime.
#[derive(Clone)]
pub struct HttpClient(Arc<ClientInner>);

struct ClientInner {
    grant: Arc<HttpGrant>,
    limits: Limits,
    /// Connections are open files; those of one client count together.
    owner: ComponentId,
    network: Arc<Network>,
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
    #[error(transparent)]
    Failed(RequestError),
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
    body: ResponseBody,
    _connection: Connection,
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
    ) -> Self {
        Self(Arc::new(ClientInner {
            grant,
            limits,
            owner,
            network,
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
        let meter = Arc::new(HttpMeter::new(inner.owner, inner.limits.clone()));
        let (grant, network) = (Arc::clone(&inner.grant), Arc::clone(&inner.network));
        let mut sender = HttpSender::new(Some(grant), network, meter, None);
        let request = sender.admit(request.map(Full::new), RequestTimeouts::default())?;
        let sent = request.send().await.map_err(|failed| failed.error)?;
        let Sent {
            response,
            connection,
        } = sent;
        Ok(response.map(|body| HttpClientBody {
            body,
            _connection: connection,
        }))
    }
}

impl From<RequestError> for HttpClientError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "one error has a variant of its own"
    )]
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Denied(denial) => Self::Denied(denial),
            other => Self::Failed(other),
        }
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
        polled.map_err(HttpClientError::from)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
