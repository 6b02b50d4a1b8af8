//! The HTTP requests of OAuth: over the egress of guests, each to one origin, without redirects.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use rmcp::transport::auth::{
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
};
use toolhost::http::Egress;

use super::check::UrlCheck;
use super::settings::OAuthSettings;

/// Most requests to find an authorization server and to get one token. Documents may name many servers.
const REQUESTS_MAX: u32 = 40;

/// Sends the requests of one authorization, or of one refresh.
pub(super) struct FlowEgress {
    egress: Egress,
    urls: UrlCheck,
    /// Time for one request and its answer.
    time: Duration,
    requests: AtomicU32,
}

impl FlowEgress {
    pub(super) fn new(settings: &OAuthSettings) -> Self {
        Self {
            egress: settings.egress.clone(),
            urls: settings.check(),
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
        let url = request.uri().to_string();
        let origin = self.urls.origin_of(&url)?;
        let headers = request.headers_mut();
        let accept = HeaderValue::from_static("application/json");
        headers.entry(header::ACCEPT).or_insert(accept);
        let client = self.egress.to(&origin.to_string(), origin.clone());
        let client = client
            .networks(&self.urls.networks)
            .named_by_operator(self.urls.is_server(&origin))
            .time(self.time);
        let answer = client.fetch(request.map(Bytes::from)).await?;
        Ok(answer.map(Vec::from))
    }
}

impl OAuthHttpClient for FlowEgress {
    /// Redirects are returned, whatever the request's policy: documents are redirected by the caller
    /// within their origin, and tokens never.
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(self.send(request.request))
    }
}
