//! Effects of a call that may need consent, and what makes its runs alike.
//!
//! A call that waits for consent to a request is stopped there, and runs again once it has it. The second run gets the
//! times, the random numbers and the answers of the first one, so that it comes to the same request.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tokio::sync::Notify;
use toolhost_contract::http::{Origin, Scheme};
use toolhost_egress::RequestError;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder};
use wasmtime_wasi_http::WasiBody;

/// A request as it would leave, but for the headers that the host adds to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct WholeRequest {
    /// Its method.
    pub method: String,
    /// Its address.
    pub url: String,
    /// The server; none if it cannot be read from the address.
    pub origin: Option<Origin>,
    /// The path of the address, without its query.
    pub path: String,
    /// Its headers, in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Names of the headers with secrets that the host sets.
    pub secret_headers: Vec<String>,
    /// Its body.
    pub body: Bytes,
}

/// A response that was read whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeResponse {
    /// Its status.
    pub status: u16,
    /// Its headers, in their order.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Its body.
    pub body: Bytes,
}

/// Counts what was sent and has no answer yet. Dropping it means that it has one, or never will.
#[derive(Debug)]
pub struct InFlight {
    sent: Arc<SentCount>,
}

/// How much was sent and has no answer yet.
#[derive(Debug, Default)]
pub struct SentCount {
    sent: AtomicUsize,
    ended: Notify,
}

impl SentCount {
    /// Counts something that is sent.
    pub fn begin(self: &Arc<Self>) -> InFlight {
        self.sent.fetch_add(1, Relaxed);
        InFlight {
            sent: Arc::clone(self),
        }
    }

    /// Waits until all that was sent has ended.
    pub async fn ended(&self) {
        while self.sent.load(Relaxed) > 0 {
            self.ended.notified().await;
        }
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.sent.sent.fetch_sub(1, Relaxed);
        self.sent.ended.notify_one();
    }
}

/// What becomes of a request.
#[derive(Debug)]
pub enum RequestVerdict {
    /// It is sent, and [`EffectsPort::answered`] gets its response.
    Send(InFlight),
    /// It was sent by an earlier run, which got this response.
    Answered(WholeResponse),
    /// It was sent by an earlier run, which got no response. It is not sent again.
    Failed,
    /// It waits for consent. The guest gets no answer: whoever decided so stops the call.
    Held,
}

/// A clock of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockKind {
    /// Nanoseconds since 1970.
    Wall,
    /// Nanoseconds since some time.
    Monotonic,
}

/// Decides about the effects of one call, and gives it what an earlier run of it got.
pub trait EffectsPort: Send + Sync + fmt::Debug {
    /// Decides about a request that the grants allow.
    fn request(&self, request: &WholeRequest) -> RequestVerdict;

    /// Receives the response of a request that was sent.
    fn answered(&self, request: &WholeRequest, response: &WholeResponse);

    /// Learns that a request was sent and got no whole response: the server may have it.
    fn failed(&self, request: &WholeRequest);

    /// Returns what a guest reads from a clock that shows `now`.
    fn time(&self, clock: ClockKind, now: u64) -> u64;

    /// Returns the seed of the random numbers of the call.
    fn seed(&self) -> [u8; 32];
}

struct Clock {
    port: Arc<dyn EffectsPort>,
    kind: ClockKind,
    live: Box<dyn HostMonotonicClock + Send>,
}

/// The live wall clock.
struct Wall;

impl HostMonotonicClock for Wall {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let nanos = now.unwrap_or_default().as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// The live monotonic clock.
struct Elapsed(std::time::Instant);

impl HostMonotonicClock for Elapsed {
    fn resolution(&self) -> u64 {
        1
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

impl Clock {
    fn read(&self) -> u64 {
        self.port.time(self.kind, self.live.now())
    }
}

impl HostMonotonicClock for Clock {
    fn resolution(&self) -> u64 {
        self.live.resolution()
    }

    fn now(&self) -> u64 {
        self.read()
    }
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_nanos(self.live.resolution())
    }

    fn now(&self) -> Duration {
        Duration::from_nanos(self.read())
    }
}

/// Returns a seed for the random numbers of a call: of a generator of this thread, as a call of the operating system would
/// take longer than all else that a port needs.
pub fn random_seed() -> [u8; 32] {
    rand::random()
}

/// Returns the seeds of a guest's hash maps.
pub(crate) fn hash_seed(port: &dyn EffectsPort) -> (u64, u64) {
    let [low, high] = [0, 8].map(|at| {
        let seed = port.seed();
        let bytes = seed.get(at..at + 8).and_then(|part| part.try_into().ok());
        u64::from_le_bytes(bytes.unwrap_or_default())
    });
    (low, high)
}

/// Takes the clocks and the random numbers of a call from its port.
pub(crate) fn repeat(builder: &mut WasiCtxBuilder, port: &Arc<dyn EffectsPort>) {
    let clock = |kind, live| Clock {
        port: Arc::clone(port),
        kind,
        live,
    };
    let (mut secure, mut insecure) = (port.seed(), port.seed());
    // Three sources that are not alike.
    if let (Some(one), Some(other)) = (secure.last_mut(), insecure.last_mut()) {
        *one ^= 1;
        *other ^= 2;
    }
    let elapsed = Elapsed(std::time::Instant::now());
    builder
        .wall_clock(clock(ClockKind::Wall, Box::new(Wall)))
        .monotonic_clock(clock(ClockKind::Monotonic, Box::new(elapsed)))
        .secure_random(StdRng::from_seed(secure))
        .insecure_random(StdRng::from_seed(insecure));
}

/// Reads the body of a request that may have to wait.
pub(crate) async fn whole_request<B>(
    request: Request<B>,
    secret_headers: Vec<String>,
    bytes_max: u64,
) -> Result<(WholeRequest, Request<Full<Bytes>>), RequestError>
where
    B: http_body::Body<Data = Bytes, Error = RequestError>,
{
    let (parts, body) = request.into_parts();
    let body = read_whole(
        body,
        bytes_max,
        RequestError::RequestTooLarge(Some(bytes_max)),
    )
    .await?;
    let whole = WholeRequest {
        method: parts.method.to_string(),
        url: parts.uri.to_string(),
        origin: origin_of(&parts.uri),
        path: parts.uri.path().to_owned(),
        headers: texts(&parts.headers),
        secret_headers,
        body: body.clone(),
    };
    Ok((whole, Request::from_parts(parts, Full::new(body))))
}

/// Reads the whole body of a response.
pub(crate) async fn whole_response<B>(
    response: Response<B>,
    bytes_max: u64,
) -> Result<WholeResponse, RequestError>
where
    B: http_body::Body<Data = Bytes, Error = RequestError>,
{
    let (parts, body) = response.into_parts();
    let body = read_whole(
        body,
        bytes_max,
        RequestError::ResponseTooLarge { limit: bytes_max },
    )
    .await?;
    Ok(WholeResponse {
        status: parts.status.as_u16(),
        headers: texts(&parts.headers),
        body,
    })
}

async fn read_whole<B>(body: B, most: u64, beyond: RequestError) -> Result<Bytes, RequestError>
where
    B: http_body::Body<Data = Bytes, Error = RequestError>,
{
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    match Limited::new(body, most).collect().await {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) => Err(match error.downcast::<RequestError>() {
            Ok(error) => *error,
            Err(_) => beyond,
        }),
    }
}

fn origin_of(uri: &http::Uri) -> Option<Origin> {
    let scheme = Scheme::parse(uri.scheme_str()?).ok()?;
    Origin::of(scheme, uri.authority()?.as_str()).ok()
}

fn texts(headers: &http::HeaderMap) -> Vec<(String, Vec<u8>)> {
    let headers = headers.iter();
    let text = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), value.as_bytes().to_owned())
    };
    headers.map(text).collect()
}

/// Returns a response for the guest.
pub(crate) fn to_wasi_response(whole: WholeResponse) -> Result<Response<WasiBody>, RequestError> {
    let mut response = Response::builder().status(whole.status);
    for (name, value) in &whole.headers {
        response = response.header(name.as_str(), value.as_slice());
    }
    let body = Full::new(whole.body).map_err(|never| match never {});
    let response = response.body(body.boxed_unsync());
    response.map_err(|_| RequestError::Closed)
}
