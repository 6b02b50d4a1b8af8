//! Sends requests of the host itself: with the rules, addresses, limits and TLS settings of guests'
//! requests.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use toolhost_contract::http::HttpGrant;
use toolhost_contract::{Denial, Limits};
use toolhost_runtime::ComponentId;

use crate::body::ResponseBody;
use crate::error::RequestError;
use crate::meter::HttpMeter;
use crate::network::Network;
use crate::sender::{HttpSender, RequestTimeouts};

/// Sends HTTP requests of the host to the servers that a grant allows. Cheap to clone.
///
/// A request is checked and sent as a guest's is: its rule, the addresses of its server, the headers
/// with credentials, which are replaced in the response, and the limits `http_*` of [`Limits`], which
/// apply to each request alone. Redirects are not followed.
///
/// Neither its future nor the body of the response needs a timer of the caller's runtime.
#[derive(Clone)]
pub struct HttpClient {
    grant: Arc<HttpGrant>,
    limits: Arc<Limits>,
    /// Connections are open files; those of one client count together.
    owner: ComponentId,
    network: Arc<Network>,
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

impl HttpClient {
    pub(crate) fn new(
        owner: ComponentId,
        grant: Arc<HttpGrant>,
        limits: Limits,
        network: Arc<Network>,
    ) -> Self {
        Self {
            grant,
            limits: Arc::new(limits),
            owner,
            network,
        }
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
    ) -> Result<Response<ResponseBody>, HttpClientError> {
        let meter = Arc::new(HttpMeter::new(self.owner, (*self.limits).clone()));
        let (grant, network) = (Arc::clone(&self.grant), Arc::clone(&self.network));
        let mut sender = HttpSender::new(Some(grant), network, meter, None);
        let request = sender.admit(request.map(Full::new), RequestTimeouts::default())?;
        let sent = request.send().await;
        sent.map_err(|failed| failed.error.into())
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
