//! Checks each request against the grant and the limits of its sender, before any name is resolved.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, Request, header};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use toolhost_contract::http::{HttpGrant, Origin, Scheme, is_allowed_method};
use toolhost_contract::{Denial, Limits};

use crate::error::RequestError;
use crate::meter::HttpMeter;
use crate::network::Network;
use crate::outbound_request::{OutboundRequest, Timeouts};
use crate::route::Route;

/// Requests, denied ones included, that any call may try without counting as a flood.
const TRIED_MIN: u64 = 1_000;

/// Time of the call that a request leaves, so that the guest can report a timeout.
const MARGIN: Duration = Duration::from_millis(50);

/// Admits and sends the requests of one call, or one request of the host.
pub struct HttpSender {
    grant: Option<Arc<HttpGrant>>,
    network: Arc<Network>,
    meter: Arc<HttpMeter>,
    /// The deadline of the call; none if it is beyond the clock's range.
    deadline: Option<Instant>,
    /// Requests that the guest tried to send, denied ones included.
    tried: u64,
    /// Bounds concurrent requests. Created with the first one.
    slots: Option<Arc<Semaphore>>,
}

/// The times that the sender of a request allows. The limits of its call bound them.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestTimeouts {
    /// For waiting for a slot, resolving the name, connecting, and the TLS handshake.
    pub connect: Option<Duration>,
    /// From then on until the headers of the response.
    pub first_byte: Option<Duration>,
    /// Between two pieces of the response's body.
    pub between_bytes: Option<Duration>,
}

impl HttpSender {
    pub(crate) fn new(
        grant: Option<Arc<HttpGrant>>,
        network: Arc<Network>,
        meter: Arc<HttpMeter>,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            grant,
            network,
            meter,
            deadline,
            tried: 0,
            slots: None,
        }
    }

    /// The counters of the sender.
    pub fn meter(&self) -> &HttpMeter {
        &self.meter
    }

    /// Whether the guest goes on sending requests that are refused.
    pub fn is_flooded(&self) -> bool {
        let limit = self.meter.limits.http_requests.saturating_mul(10);
        self.tried > limit.max(TRIED_MIN)
    }

    /// Returns the runtime for the tasks of requests. None if the system has no thread for it.
    pub fn runtime(&self) -> Option<Handle> {
        self.network.runtime()
    }

    /// Accepts a request that a rule allows and that is within the limits.
    ///
    /// # Errors
    /// [`RequestError::Denied`] without such a rule, and others where it is malformed or beyond a limit.
    pub fn admit<B>(
        &mut self,
        mut request: Request<B>,
        timeouts: RequestTimeouts,
    ) -> Result<OutboundRequest<B>, RequestError> {
        self.tried += 1;
        let limits = &self.meter.limits;
        check_head(&request, limits)?;
        let uri = request.uri();
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(RequestError::UriInvalid);
        };
        let origin = Scheme::parse(scheme)
            .and_then(|scheme| Origin::of(scheme, authority.as_str()))
            .map_err(|_| RequestError::UriInvalid)?;
        let method = request.method().as_str();
        if !is_allowed_method(method) {
            return Err(RequestError::MethodInvalid);
        }
        let grant = self.grant.clone().filter(|grant| {
            let mut rules = grant.allow.iter();
            rules.any(|rule| rule.allows(method, &origin, uri.path()))
        });
        let Some(grant) = grant else {
            let denial = Denial::of_request(method, &origin, uri.path());
            return Err(RequestError::Denied(denial));
        };
        let counted = self.meter.begin_request();
        counted.map_err(|limit| RequestError::TooManyRequests { limit })?;
        let concurrent = limits.http_concurrent;
        let slots = self
            .slots
            .get_or_insert_with(|| Arc::new(Semaphore::new(concurrent)));
        let slots = Arc::clone(slots);
        let host = origin.authority().parse();
        let host: HeaderValue = host.map_err(|_| RequestError::UriInvalid)?;
        request.headers_mut().insert(header::HOST, host);
        Ok(OutboundRequest {
            timeouts: self.bounded(timeouts),
            request,
            slots,
            route: Route {
                origin,
                grant,
                network: Arc::clone(&self.network),
                meter: Arc::clone(&self.meter),
            },
        })
    }

    /// Returns the guest's timeouts, bounded by the limits and by the call's remaining time.
    fn bounded(&self, timeouts: RequestTimeouts) -> Timeouts {
        let limits = &self.meter.limits;
        let left = self.deadline.map(|deadline| {
            let left = deadline.saturating_duration_since(Instant::now());
            left.saturating_sub(MARGIN)
        });
        let bounded = |timeout: Option<Duration>, limit: Duration| {
            let timeout = timeout.map_or(limit, |timeout| timeout.min(limit));
            left.map_or(timeout, |left| timeout.min(left))
        };
        Timeouts {
            connect: bounded(timeouts.connect, limits.http_connect),
            first_byte: bounded(timeouts.first_byte, limits.http_first_byte),
            between_bytes: bounded(timeouts.between_bytes, limits.http_between_bytes),
        }
    }
}

/// Checks the size of the headers and of the URI.
fn check_head<B>(request: &Request<B>, limits: &Limits) -> Result<(), RequestError> {
    let headers = request.headers();
    let line_bytes = |(name, value): (&HeaderName, &HeaderValue)| {
        name.as_str().len() + value.len() + ": \r\n".len()
    };
    let bytes: usize = headers.iter().map(line_bytes).sum();
    if headers.len() > limits.http_headers || bytes > limits.http_header_bytes {
        return Err(RequestError::HeadersTooLarge(u32::try_from(bytes).ok()));
    }
    let path = request.uri().path_and_query();
    if path.is_some_and(|path| path.as_str().len() > limits.http_header_bytes) {
        return Err(RequestError::UriTooLong);
    }
    Ok(())
}
