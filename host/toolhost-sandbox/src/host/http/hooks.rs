//! Checks each outgoing HTTP request against the grants and limits of the call, before any name is
//! resolved.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, Request, header};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use toolhost_contract::http::{HttpGrant, Origin, Scheme, is_allowed_method, is_reserved_header};
use toolhost_contract::{Denial, Limits};
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks,
};

use super::body_drain::{BodyDrain, SharedBody};
use super::meter::HttpMeter;
use super::network::Network;
use super::outbound_request::{OutboundRequest, SendResult, Timeouts};
use super::route::Route;

/// Maximum bytes of a body that a guest passes at once.
pub(super) const BODY_CHUNK: usize = 16 << 10;

/// Requests, denied ones included, that any call may try without counting as a flood.
const TRIED_MIN: u64 = 1_000;

/// Time of the call that a request leaves, so that the guest can report a timeout.
const MARGIN: Duration = Duration::from_millis(50);

/// The part of a store that serves `wasi:http`.
pub(crate) struct Http {
    pub(crate) ctx: WasiHttpCtx,
    pub(crate) hooks: HttpHooks,
    /// Whether the guest used its handles since their memory was last counted.
    pub(crate) used: bool,
}

/// Decides which requests of one call are sent.
pub(crate) struct HttpHooks {
    grant: Option<Arc<HttpGrant>>,
    network: Arc<Network>,
    meter: Arc<HttpMeter>,
    /// The deadline of the call; none if it is beyond the clock's range.
    deadline: Option<Instant>,
    /// Requests that the guest tried to send, denied ones included.
    tried: u64,
    /// Bounds concurrent requests. Created with the first one.
    slots: Option<Arc<Semaphore>>,
    drain: BodyDrain,
}

impl Http {
    pub(crate) fn new(
        grant: Option<Arc<HttpGrant>>,
        network: Arc<Network>,
        meter: Arc<HttpMeter>,
        deadline: Option<Instant>,
    ) -> Self {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(meter.limits.http_header_bytes);
        let hooks = HttpHooks {
            grant,
            network,
            meter,
            deadline,
            tried: 0,
            slots: None,
            drain: BodyDrain::default(),
        };
        Self {
            ctx,
            hooks,
            used: false,
        }
    }
}

impl WasiHttpHooks for HttpHooks {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        is_reserved_header(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_reserved_header)
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_CHUNK
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = SendResult> + Send> {
        self.tried += 1;
        let (request, body) = SharedBody::share(request);
        let (drain, limit) = (self.drain.clone(), self.meter.limits.http_request_bytes);
        let admitted = self.admit(request, options.unwrap_or_default());
        Box::new(async move {
            let sent = match admitted {
                Ok(request) => request.send().await,
                Err(error) => Err(error),
            };
            if sent.is_err() {
                drain.drain(body, limit);
            }
            sent
        })
    }
}

impl HttpHooks {
    /// Whether the guest goes on sending requests that are refused.
    pub(crate) fn is_flooded(&self) -> bool {
        let limit = self.meter.limits.http_requests.saturating_mul(10);
        self.tried > limit.max(TRIED_MIN)
    }

    /// Returns the runtime for the tasks of requests. None if the system has no thread for it.
    pub(crate) fn runtime(&self) -> Option<Handle> {
        self.network.runtime()
    }

    /// Accepts a request that a rule allows and that is within the limits.
    fn admit(
        &mut self,
        mut request: Request<SharedBody>,
        options: RequestOptions,
    ) -> Result<OutboundRequest, Error> {
        let limits = &self.meter.limits;
        check_head(&request, limits)?;
        let uri = request.uri();
        let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
            return Err(Error::HttpRequestUriInvalid);
        };
        let origin = Scheme::parse(scheme)
            .and_then(|scheme| Origin::of(scheme, authority.as_str()))
            .map_err(|_| Error::HttpRequestUriInvalid)?;
        let method = request.method().as_str();
        if !is_allowed_method(method) {
            return Err(Error::HttpRequestMethodInvalid);
        }
        let grant = self.grant.clone().filter(|grant| {
            let mut rules = grant.allow.iter();
            rules.any(|rule| rule.allows(method, &origin, uri.path()))
        });
        let Some(grant) = grant else {
            let denial = Denial::of_request(method, &origin, uri.path());
            self.meter.attempts.deny(denial);
            return Err(Error::HttpRequestDenied);
        };
        let limit = limits.http_requests;
        let one_more = |sent: u64| (sent < limit).then_some(sent + 1);
        let sent = &self.meter.requests;
        if sent.fetch_update(Relaxed, Relaxed, one_more).is_err() {
            let reason = format!("a call may make {limit} HTTP requests (limits.httpRequests)");
            return Err(Error::InternalError(Some(reason)));
        }
        let concurrent = limits.http_concurrent;
        let slots = self
            .slots
            .get_or_insert_with(|| Arc::new(Semaphore::new(concurrent)));
        let slots = Arc::clone(slots);
        let host = origin.authority().parse();
        let host: HeaderValue = host.map_err(|_| Error::HttpRequestUriInvalid)?;
        request.headers_mut().insert(header::HOST, host);
        Ok(OutboundRequest {
            timeouts: self.timeouts(options),
            request,
            slots,
            route: Route {
                origin,
                grant,
                network: Arc::clone(&self.network),
                meter: Arc::clone(&self.meter),
                certificate_fault: OnceLock::new(),
            },
        })
    }

    /// Returns the guest's timeouts, bounded by the limits and by the call's remaining time.
    fn timeouts(&self, options: RequestOptions) -> Timeouts {
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
            connect: bounded(options.connect_timeout, limits.http_connect),
            first_byte: bounded(options.first_byte_timeout, limits.http_first_byte),
            between_bytes: bounded(options.between_bytes_timeout, limits.http_between_bytes),
        }
    }
}

/// Checks the size of the headers and of the URI.
fn check_head(request: &Request<SharedBody>, limits: &Limits) -> Result<(), Error> {
    let headers = request.headers();
    let line_bytes = |(name, value): (&HeaderName, &HeaderValue)| {
        name.as_str().len() + value.len() + ": \r\n".len()
    };
    let bytes: usize = headers.iter().map(line_bytes).sum();
    if headers.len() > limits.http_headers || bytes > limits.http_header_bytes {
        let bytes = u32::try_from(bytes).ok();
        return Err(Error::HttpRequestHeaderSectionSize(bytes));
    }
    let path = request.uri().path_and_query();
    if path.is_some_and(|path| path.as_str().len() > limits.http_header_bytes) {
        return Err(Error::HttpRequestUriTooLong);
    }
    Ok(())
}
