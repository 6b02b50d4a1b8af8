//! Requests as a call sends them, to real servers on loopback.

mod addresses;
mod credentials;
mod limits;
mod rules;
// Also for the tests with guests.
#[path = "../../../tests/it/http/server.rs"]
mod server;
mod timeouts;
mod tls;

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use toolhost_contract::http::{HttpGrant, HttpRule};
use toolhost_contract::{AddressBlock, HttpCredential, Limits};
use toolhost_runtime::{ComponentId, Quota, Threads};

use crate::outbound_request::FailedRequest;
use crate::{Egress, HttpConfig, HttpMeter, HttpSender, RequestError, RequestTimeouts};

/// What a call may send, and how servers are found.
#[derive(Default)]
struct Setup {
    config: HttpConfig,
    grant: HttpGrant,
    limits: Limits,
}

/// The requests of one call.
struct Call {
    sender: HttpSender,
    meter: Arc<HttpMeter>,
}

/// A response, as far as it arrived.
#[derive(Debug)]
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: String,
    trailers: HeaderMap,
    /// Why the body ended early.
    failed: Option<RequestError>,
}

impl Setup {
    /// Lets a call send the requests of these rules.
    fn allow<R: AsRef<str>>(rules: &[R]) -> Self {
        let rules = rules.iter().map(|rule| HttpRule::parse(rule.as_ref()));
        let mut setup = Self::default();
        setup.grant.allow = rules.collect::<Result<_, _>>().unwrap();
        setup
    }

    fn network(mut self, block: &str) -> Self {
        let block = AddressBlock::parse(block).unwrap();
        self.grant.private_networks.push(block);
        self
    }

    fn credential(mut self, credential: HttpCredential) -> Self {
        self.grant.credentials.push(credential);
        self
    }

    fn limit(mut self, change: impl FnOnce(&mut Limits)) -> Self {
        change(&mut self.limits);
        self
    }

    fn call(self) -> Call {
        let (files, threads) = (Arc::new(Quota::new(100, 3)), Threads::start(1).unwrap());
        let egress = Egress::new(&self.config, files, 3, threads).unwrap();
        let meter = Arc::new(HttpMeter::new(ComponentId(1), self.limits));
        let sender = egress.sender(Some(Arc::new(self.grant)), Arc::clone(&meter), None);
        Call { sender, meter }
    }

    /// Sends one request as the only one of a call.
    async fn get(self, url: &str) -> Result<Answer, RequestError> {
        self.call().get(url).await
    }
}

impl Call {
    async fn get(&mut self, url: &str) -> Result<Answer, RequestError> {
        self.send(get(url), RequestTimeouts::default()).await
    }

    /// Sends a request, which is admitted at once.
    fn send(
        &mut self,
        request: Request<Full<Bytes>>,
        timeouts: RequestTimeouts,
    ) -> impl Future<Output = Result<Answer, RequestError>> + use<> {
        let admitted = self.sender.admit(request, timeouts);
        async move {
            let sent = admitted?.send().await;
            let sent = sent.map_err(|FailedRequest { error, .. }| error)?;
            let (parts, mut body) = sent.into_parts();
            let mut answer = Answer {
                status: parts.status,
                headers: parts.headers,
                body: String::new(),
                trailers: HeaderMap::new(),
                failed: None,
            };
            while let Some(frame) = body.frame().await {
                match frame.map(http_body::Frame::into_data) {
                    Ok(Ok(data)) => answer.body.push_str(std::str::from_utf8(&data).unwrap()),
                    Ok(Err(trailers)) => answer.trailers = trailers.into_trailers().unwrap(),
                    Err(error) => answer.failed = Some(error),
                }
            }
            Ok(answer)
        }
    }
}

fn get(url: &str) -> Request<Full<Bytes>> {
    Request::get(url).body(Full::default()).unwrap()
}

/// Polls until something holds, for at most ten seconds.
async fn eventually(what: &str, holds: impl Fn() -> bool) {
    let ends = Instant::now() + Duration::from_secs(10);
    while !holds() {
        assert!(Instant::now() < ends, "timed out until {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
