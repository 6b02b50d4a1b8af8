//! The requests to authorization servers: over the network of guests, each to one endpoint, without redirects.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{StatusCode, Uri};
use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use serde::Deserialize;
use serde::de::IgnoredAny;
use toolhost_contract::{AddressBlock, JsonLimits};
use toolhost_egress::Egress;

use crate::endpoint::Endpoint;

/// Limits of a successful answer. Its numbers are lifetimes.
const ANSWER: JsonLimits = JsonLimits::ANSWER
    .rounding_integers()
    .replacing_surrogates()
    .skipping_byte_order_mark();

/// Name under which open connections are counted.
const OWNER: &str = "oauth";

/// How authorization servers are reached: over the network of guests, at the endpoints of one app.
#[derive(Clone)]
pub struct OAuthEgress {
    /// Sends the requests.
    pub network: Egress,
    /// Non-public addresses at which endpoints may be. Default: none, not even loopback.
    pub private_networks: Vec<AddressBlock>,
    /// Time for one request and its answer. Default: 30 s.
    pub request_time: Duration,
}

/// Why a request got no answer. Has no bytes of the request or the answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoAnswer(pub(crate) String);

/// Sends requests to one endpoint, and remembers the status of the last answer.
pub(crate) struct Exchange<'a> {
    egress: &'a OAuthEgress,
    endpoint: &'a Endpoint,
    seen: Mutex<Seen>,
}

/// What the protocol's library does not return.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    pub(crate) status: Option<StatusCode>,
    pub(crate) retry_after: Option<Duration>,
    /// Why there was no answer.
    pub(crate) no_answer: Option<NoAnswer>,
}

impl OAuthEgress {
    /// Reaches public addresses.
    pub fn new(network: Egress) -> Self {
        Self {
            network,
            private_networks: Vec::new(),
            request_time: Duration::from_secs(30),
        }
    }

    pub(crate) fn exchange<'a>(&'a self, endpoint: &'a Endpoint) -> Exchange<'a> {
        Exchange {
            egress: self,
            endpoint,
            seen: Mutex::default(),
        }
    }

    /// Sends a request to an endpoint, whatever URL it has, and reads the answer.
    async fn send(
        &self,
        endpoint: &Endpoint,
        mut request: HttpRequest,
    ) -> Result<HttpResponse, NoAnswer> {
        let failed = |error: &dyn fmt::Display| NoAnswer(error.to_string());
        // The library sends revocations to `https` alone. Ours are also sent to `http` on loopback.
        *request.uri_mut() = Uri::try_from(endpoint.url.as_str()).map_err(|e| failed(&e))?;
        let origin = endpoint.origin().map_err(|e| failed(&e))?;
        let client = self.network.to(OWNER, origin);
        let client = client
            .networks(&self.private_networks)
            .time(self.request_time);
        let answer = client.fetch(request.map(Bytes::from)).await;
        let (parts, body) = answer.map_err(|e| failed(&e))?.into_parts();
        // The library parses it.
        if parts.status.is_success() {
            let checked = ANSWER.utf8(&body).and_then(|body| ANSWER.check(body));
            checked.map_err(|error| NoAnswer(format!("its answer {error}")))?;
        }
        Ok(HttpResponse::from_parts(parts, body.into()))
    }
}

impl fmt::Debug for OAuthEgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OAuthEgress")
            .field("private_networks", &self.private_networks)
            .field("request_time", &self.request_time)
            .finish_non_exhaustive()
    }
}

impl Exchange<'_> {
    pub(crate) fn seen(&self) -> Seen {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.clone()
    }

    fn see(&self, answer: &Result<HttpResponse, NoAnswer>) {
        let seen = match answer {
            Ok(response) => Seen {
                status: Some(response.status()),
                retry_after: retry_after(response),
                no_answer: None,
            },
            Err(error) => Seen {
                no_answer: Some(error.clone()),
                ..Seen::default()
            },
        };
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = seen;
    }
}

impl<'c> AsyncHttpClient<'c> for Exchange<'_> {
    type Error = NoAnswer;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, NoAnswer>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let answer = self.egress.send(self.endpoint, request).await;
            self.see(&answer);
            answer.map(error_with_status)
        })
    }
}

/// Gives an error its status: some servers send errors with 200.
fn error_with_status(mut response: HttpResponse) -> HttpResponse {
    #[derive(Deserialize)]
    struct AnswerKind {
        access_token: Option<IgnoredAny>,
        error: Option<IgnoredAny>,
    }
    if response.status() == StatusCode::OK {
        let answer = ANSWER.parse_bytes::<AnswerKind>(response.body());
        if answer.is_ok_and(|it| it.error.is_some() && it.access_token.is_none()) {
            *response.status_mut() = StatusCode::BAD_REQUEST;
        }
    }
    response
}

/// The seconds of `Retry-After`. Dates are ignored.
fn retry_after(response: &HttpResponse) -> Option<Duration> {
    let header = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    header.trim().parse().ok().map(Duration::from_secs)
}
