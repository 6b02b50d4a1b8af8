//! The HTTP requests of OAuth: over the egress of guests, each to one origin, without redirects.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body_util::{BodyExt, Limited};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use tokio::time::timeout;
use toolhost::{
    Sandbox,
    http::{HttpGrant, HttpRule},
    sandbox::Limits,
};

use super::check::UrlCheck;
use super::settings::OAuthSettings;

/// The content type of streams of events.
const EVENTS: &[u8] = b"text/event-stream";

/// Most bytes of one answer.
const ANSWER_MAX: usize = 1 << 20;

/// Most requests to find an authorization server and to get one token. Documents may name many servers.
const REQUESTS_MAX: u32 = 40;

/// Sends the requests of one authorization, or of one refresh.
pub(super) struct OAuthEgress {
    sandbox: Sandbox,
    check: UrlCheck,
    grant: Arc<HttpGrant>,
    /// Time for one request and its answer.
    time: Duration,
    requests: AtomicU32,
}

impl OAuthEgress {
    pub(super) fn new(settings: &OAuthSettings) -> Self {
        Self {
            sandbox: settings.sandbox.clone(),
            check: settings.check(),
            grant: Arc::clone(&settings.grant),
            time: settings.request_time,
            requests: AtomicU32::new(0),
        }
    }

    async fn send(
        &self,
        mut request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, OAuthHttpClientError> {
        if self.requests.fetch_add(1, Ordering::Relaxed) >= REQUESTS_MAX {
            return Err(format!("more than {REQUESTS_MAX} requests would be needed").into());
        }
        let origin = self.check.check(&request.uri().to_string())?;
        // The host's own rule: this origin and nothing else. No credentials of the policy are added.
        let rule = HttpRule::parse(&format!("{} {origin}", request.method()))?;
        let grant = HttpGrant {
            allow: [rule].into(),
            private_networks: self.grant.private_networks.clone(),
            ..HttpGrant::default()
        };
        let limits = Limits {
            http_response_bytes: ANSWER_MAX as u64,
            http_first_byte: self.time,
            http_between_bytes: self.time,
            ..Limits::default()
        };
        let headers = request.headers_mut();
        let accept = HeaderValue::from_static("application/json");
        headers.entry(header::ACCEPT).or_insert(accept);
        let client = self
            .sandbox
            .http_client(&origin.to_string(), Arc::new(grant), limits);
        let response = client.send(request.map(Bytes::from)).await?;
        let (parts, body) = response.into_parts();
        let content_type = parts.headers.get(header::CONTENT_TYPE);
        let is_stream = content_type.is_some_and(|it| it.as_bytes().starts_with(EVENTS));
        if is_stream {
            // The server's own stream, which does not end: it was asked only for its challenge.
            return Ok(Response::from_parts(parts, Vec::new()));
        }
        let body = Limited::new(body, ANSWER_MAX).collect().await?.to_bytes();
        Ok(Response::from_parts(parts, body.into()))
    }
}

impl OAuthHttpClient for OAuthEgress {
    /// Redirects are returned, whatever the request's policy: documents are redirected by the caller
    /// within their origin, and tokens never.
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            match timeout(self.time, self.send(request.request)).await {
                Ok(answered) => answered,
                Err(_) => {
                    let seconds = self.time.as_secs_f64();
                    Err(format!("no answer within {seconds} s").into())
                }
            }
        })
    }
}
