//! The door: each request a guest makes is looked at here, before anything is looked up.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use http::{HeaderName, Request, header};
use tokio::sync::Semaphore;
use toolhost_contract::Denial;
use toolhost_contract::HttpGrant;
use toolhost_contract::http::{Origin, Scheme, is_served, is_the_hosts, plain};
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, WasiBody, WasiHttpCtx, WasiHttpHooks,
};

use super::Network;
use super::exchange::{Exchange, Exchanged, Route, Times};
use super::unread::{SharedBody, Unread};
use crate::accounting::meter::Meter;

/// Most bytes of a body that a guest hands over at once; two such pieces are kept.
pub(super) const PIECE: usize = 16 << 10;

/// Requests that any call may ask for, denied or not.
const ASKED_MIN: u64 = 1_000;

/// What a request leaves of the call's own time, so that the guest can answer for its failure.
const MARGIN: Duration = Duration::from_millis(50);

/// Longest path of a request that is told of, in bytes.
const PATH_SHOWN: usize = 120;

/// What a store holds of HTTP.
pub(crate) struct Http {
    pub(crate) ctx: WasiHttpCtx,
    pub(crate) egress: Egress,
    /// Whether its handles were used since what is held for them was last counted.
    pub(crate) used: bool,
}

/// What decides on the requests of one call.
pub(crate) struct Egress {
    grant: Option<Arc<HttpGrant>>,
    network: Arc<Network>,
    meter: Arc<Meter>,
    /// When the call is stopped; none is beyond what the clock can tell.
    ends: Option<Instant>,
    /// How many requests it asked for, those that were denied among them.
    asked: u64,
    /// Of the requests at once. Made with the first.
    slots: Option<Arc<Semaphore>>,
    unread: Unread,
}

impl Http {
    pub(crate) fn of(
        grant: Option<Arc<HttpGrant>>,
        network: Arc<Network>,
        meter: Arc<Meter>,
        ends: Option<Instant>,
    ) -> Self {
        let mut ctx = WasiHttpCtx::new();
        ctx.set_field_size_limit(meter.limits.http_header_bytes);
        let egress = Egress {
            grant,
            network,
            meter,
            ends,
            asked: 0,
            slots: None,
            unread: Unread::default(),
        };
        Self {
            ctx,
            egress,
            used: false,
        }
    }
}

impl WasiHttpHooks for Egress {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        is_the_hosts(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(is_the_hosts)
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        PIECE
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Exchanged> + Send> {
        self.asked += 1;
        let (request, body) = SharedBody::of(request);
        let (unread, most) = (self.unread.clone(), self.meter.limits.http_request_bytes);
        let admitted = self.admit(request, options.unwrap_or_default());
        Box::new(async move {
            let exchanged = match admitted {
                Ok(exchange) => exchange.run().await,
                Err(error) => Err(error),
            };
            if exchanged.is_err() {
                unread.read(body, most);
            }
            exchanged
        })
    }
}

impl Egress {
    /// Whether more was asked for than anybody asks who looks at the answers.
    pub(crate) fn is_flooded(&self) -> bool {
        self.asked
            > self
                .meter
                .limits
                .http_requests
                .saturating_mul(10)
                .max(ASKED_MIN)
    }

    /// Takes a request that is allowed and within its limits.
    fn admit(
        &mut self,
        mut request: Request<WasiBody>,
        options: RequestOptions,
    ) -> Result<Exchange, Error> {
        let limits = &self.meter.limits;
        is_within(&request, limits.http_headers, limits.http_header_bytes)?;
        let (scheme, authority) = (request.uri().scheme_str(), request.uri().authority());
        let (Some(scheme), Some(authority)) = (scheme, authority) else {
            return Err(Error::HttpRequestUriInvalid);
        };
        let origin = Scheme::parse(scheme)
            .and_then(|scheme| Origin::of(scheme, authority.as_str()))
            .map_err(|_| Error::HttpRequestUriInvalid)?;
        let method = request.method().as_str();
        if !is_served(method) {
            return Err(Error::HttpRequestMethodInvalid);
        }
        let path = request.uri().path();
        let allows = |grant: &Arc<HttpGrant>| {
            let mut rules = grant.allow.iter();
            rules.any(|rule| rule.allows(method, &origin, path))
        };
        let Some(grant) = self.grant.clone().filter(allows) else {
            self.meter
                .deny(Denial::HttpRequest(shown(method, &origin, path)));
            return Err(Error::HttpRequestDenied);
        };
        let limit = limits.http_requests;
        let one_more = |made: u64| (made < limit).then_some(made + 1);
        let made = &self.meter.http_requests;
        if made.fetch_update(Relaxed, Relaxed, one_more).is_err() {
            let reason = format!("a call may make {limit} HTTP requests (limits.httpRequests)");
            return Err(Error::InternalError(Some(reason)));
        }
        let most = limits.http_concurrent;
        let slots = self.slots.clone();
        let slots = slots.unwrap_or_else(|| Arc::new(Semaphore::new(most)));
        self.slots = Some(Arc::clone(&slots));
        let headers = request.headers_mut();
        let host = origin.authority().parse();
        headers.insert(
            header::HOST,
            host.map_err(|_| Error::HttpRequestUriInvalid)?,
        );
        Ok(Exchange {
            times: self.times(options),
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

    /// How long each part may take: what the guest says, within its limits and the call's own time.
    fn times(&self, options: RequestOptions) -> Times {
        let limits = &self.meter.limits;
        let left = self.ends.map(|ends| {
            let left = ends.saturating_duration_since(Instant::now());
            left.saturating_sub(MARGIN)
        });
        let within = |said: Option<Duration>, limit: Duration| {
            let time = said.map_or(limit, |said| said.min(limit));
            left.map_or(time, |left| time.min(left))
        };
        Times {
            connect: within(options.connect_timeout, limits.http_connect),
            first_byte: within(options.first_byte_timeout, limits.http_first_byte),
            between_bytes: within(options.between_bytes_timeout, limits.http_between_bytes),
        }
    }
}

/// Holds what a guest puts before a body to its limits.
fn is_within(request: &Request<WasiBody>, count: usize, bytes: usize) -> Result<(), Error> {
    let headers = request.headers();
    // `name: value\r\n`
    let line =
        |(name, value): (&HeaderName, &http::HeaderValue)| name.as_str().len() + value.len() + 4;
    let size: usize = headers.iter().map(line).sum();
    let told = u32::try_from(size).ok();
    if headers.len() > count || size > bytes {
        return Err(Error::HttpRequestHeaderSectionSize(told));
    }
    let path = request.uri().path_and_query();
    if path.is_some_and(|path| path.as_str().len() > bytes) {
        return Err(Error::HttpRequestUriTooLong);
    }
    Ok(())
}

/// The rule that would allow a request: the words are the guest's, so they are few and plain.
fn shown(method: &str, origin: &Origin, path: &str) -> String {
    let capitals = |b: u8| b.is_ascii_uppercase() || b == b'-';
    let method = Some(method).filter(|m| m.len() <= 16 && m.bytes().all(capitals));
    let method = method
        .map(|method| format!("{method} "))
        .unwrap_or_default();
    let tame = |path: &String| {
        let tame = |b: u8| b.is_ascii_alphanumeric() || b"/-._~%@:+,=".contains(&b);
        path.len() <= PATH_SHOWN && path.bytes().all(tame)
    };
    let path = match plain(path) {
        Some(path) if tame(&path) => path,
        Some(_) => "/*".to_owned(),
        // No rule with a path allows it.
        None => String::new(),
    };
    format!("{method}{origin}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolhost_contract::HttpRule;

    #[test]
    fn the_rule_that_is_told_allows_the_request_and_is_plain() {
        let origin = Origin::of(Scheme::Https, "a.example").unwrap();
        let long = format!("/{}", "x".repeat(PATH_SHOWN));
        for (method, path, expected) in [
            ("GET", "/v1/x", "GET https://a.example/v1/x"),
            ("GET", "/v1/%78", "GET https://a.example/v1/x"),
            ("GET", &long, "GET https://a.example/*"),
            ("GET", "/a'b", "GET https://a.example/*"),
            ("GET", "/a%3Bb", "GET https://a.example"),
            ("GET", "/a/../b", "GET https://a.example"),
            ("pRoP", "/", "https://a.example/"),
        ] {
            let told = shown(method, &origin, path);
            assert_eq!(told, expected);
            let rule = HttpRule::parse(&told).unwrap();
            assert!(rule.allows(method, &origin, path), "{told}: {path}");
        }
    }
}
