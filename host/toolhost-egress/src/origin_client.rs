//! A client of the host for one server, which reads whole answers.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use toolhost_contract::http::{HttpGrant, HttpRule, Origin, Reach};
use toolhost_contract::{AddressBlock, Limits};
use toolhost_runtime::{ComponentId, Threads, debug_fields};

use crate::client::{HttpClient, HttpClientError};
use crate::error::RequestError;
use crate::network::Network;

/// The type of a stream of events, which does not end by itself.
const EVENTS: &[u8] = b"text/event-stream";

/// More than the limit of an answer, so that a body is recognized as too large.
const BEYOND: u64 = 1 << 20;

/// Sends requests of the host to one origin, and reads whole answers.
///
/// By default nothing but that origin is reached: its name may resolve to public addresses alone, and an
/// address in its URL must be public. Redirects are returned, no credential is added, an answer has at most
/// 1 MiB, and a request takes at most 30 s.
#[derive(Clone)]
#[must_use]
pub struct OriginClient {
    network: Arc<Network>,
    threads: Threads,
    owner: ComponentId,
    origin: Origin,
    networks: Vec<AddressBlock>,
    is_named: bool,
    max: u64,
    time: Duration,
    idle: Option<Duration>,
}

debug_fields!(OriginClient, this => origin: this.origin);

impl OriginClient {
    pub(crate) fn new(
        network: Arc<Network>,
        threads: Threads,
        owner: ComponentId,
        origin: Origin,
    ) -> Self {
        Self {
            network,
            threads,
            owner,
            origin,
            networks: Vec::new(),
            is_named: false,
            max: 1 << 20,
            time: Duration::from_secs(30),
            idle: None,
        }
    }

    /// Reaches these blocks of addresses as well.
    pub fn networks(mut self, networks: &[AddressBlock]) -> Self {
        self.networks.extend_from_slice(networks);
        self
    }

    /// Reaches an address in the URL even if it is not public: the operator wrote the URL.
    pub fn named_by_operator(mut self, is_named: bool) -> Self {
        self.is_named = is_named;
        self
    }

    /// Sets the most bytes of an answer.
    pub fn max_bytes(mut self, max: u64) -> Self {
        self.max = max;
        self
    }

    /// Sets the longest time for a request and its whole answer.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// Sets the longest time until the headers of the answer, and between two pieces of its body.
    pub fn idle_time(mut self, idle: Duration) -> Self {
        self.idle = Some(idle);
        self
    }

    /// Sends a request, and reads the answer. The body of an answer to `HEAD`, and of a stream of events, is
    /// left out. Needs no timer of the caller's runtime.
    ///
    /// # Errors
    /// [`HttpClientError`]; [`HttpClientError::NotPublic`] before anything is sent.
    pub async fn fetch(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpClientError> {
        // On the heap, as callers await it deep in futures of their own.
        let exchange = Box::pin(self.exchange(request));
        let answer = self.threads.within(self.time, exchange);
        let too_late = HttpClientError::Timeout { time: self.time };
        answer.await.unwrap_or(Err(too_late))
    }

    async fn exchange(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpClientError> {
        let is_head = request.method() == Method::HEAD;
        let client = self.client(request.method(), request.body().len() as u64)?;
        let (parts, body) = client.send(request).await?.into_parts();
        if is_head || is_stream(&parts.headers) {
            return Ok(Response::from_parts(parts, Bytes::new()));
        }
        let too_large = || HttpClientError::TooLarge { max: self.max };
        if announced(&parts.headers).is_some_and(|length| length > self.max) {
            return Err(too_large());
        }
        let max = usize::try_from(self.max).unwrap_or(usize::MAX);
        match Limited::new(body, max).collect().await {
            Ok(body) => Ok(Response::from_parts(parts, body.to_bytes())),
            Err(error) => Err(match error.downcast::<RequestError>() {
                Ok(error) => (*error).into(),
                // The other error of `Limited`.
                Err(_) => too_large(),
            }),
        }
    }

    fn client(&self, method: &Method, request_bytes: u64) -> Result<HttpClient, HttpClientError> {
        let origin = self.origin.to_string();
        if !self.is_named && self.origin.reach(&self.networks) == Reach::Private {
            return Err(HttpClientError::NotPublic { origin });
        }
        let rule = HttpRule::parse(&format!("{method} {origin}"));
        let rule = rule.map_err(|_| RequestError::MethodInvalid)?;
        let grant = HttpGrant {
            allow: [rule].into(),
            private_networks: self.networks.clone(),
            ..HttpGrant::default()
        };
        // The time of the whole is limited anyway.
        let idle = self.idle.unwrap_or_else(|| self.time.saturating_mul(2));
        let limits = Limits {
            http_request_bytes: request_bytes,
            http_response_bytes: self.max.saturating_add(BEYOND),
            http_first_byte: idle,
            http_between_bytes: idle,
            ..Limits::default()
        };
        let network = Arc::clone(&self.network);
        Ok(HttpClient::new(
            self.owner,
            Arc::new(grant),
            limits,
            network,
        ))
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE);
    content_type.is_some_and(|it| it.as_bytes().starts_with(EVENTS))
}

fn announced(headers: &HeaderMap) -> Option<u64> {
    headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests;
