//! One request to a server, and its redirects.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderValue, LOCATION};
use http::{Method, Request, StatusCode};
use toolhost_contract::AddressBlock;
use toolhost_contract::http::Origin;
use toolhost_egress::{Egress, HttpClientError};
use url::{Host, Url};

/// Name under which open connections are counted.
const OWNER: &str = "packages";

/// Most redirects of one request.
const REDIRECTS_MAX: usize = 5;

/// Time for a request with its redirects and the response, and for each megabyte of them.
const WHOLE: Duration = Duration::from_secs(60);
const EACH_MEGABYTE: Duration = Duration::from_secs(10);

/// How servers are reached.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) egress: Egress,
    pub(crate) private_networks: Vec<AddressBlock>,
    pub(crate) idle_time: Duration,
}

/// A request without a body, or with one.
#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Most bytes of the body of the response. Errors have [`ERROR_MAX`](super::request::ERROR_MAX).
    pub(crate) max: u64,
    /// Whether the registry is on this machine. No other one leads here.
    pub(crate) is_local: bool,
}

/// A response, with the URL that sent it.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) url: Url,
}

/// Why there is no response.
#[derive(Debug)]
pub(crate) enum NoResponse {
    TooLarge,
    Failed(String),
}

impl Exchange {
    /// Sends a request, and follows redirects of `GET` and `HEAD`. The header with a credential goes to the first
    /// server alone, and no request goes from `https` to `http`.
    pub(crate) async fn send(&self, request: HttpRequest) -> Result<Response, NoResponse> {
        let megabytes = (request.max + request.body.len() as u64) / 1_000_000;
        let time = WHOLE.saturating_add(
            EACH_MEGABYTE.saturating_mul(u32::try_from(megabytes).unwrap_or(u32::MAX)),
        );
        let seconds = time.as_secs();
        match self
            .egress
            .threads()
            .within(time, self.follow(request, time))
            .await
        {
            Some(response) => response,
            None => Err(NoResponse::Failed(format!(
                "no whole answer within {seconds} s"
            ))),
        }
    }

    async fn follow(
        &self,
        mut request: HttpRequest,
        time: Duration,
    ) -> Result<Response, NoResponse> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_now(request.clone(), time).await?;
            let follows = request.method == Method::GET || request.method == Method::HEAD;
            if !follows || !is_redirect(response.status) {
                return Ok(response);
            }
            let to =
                location(&response).ok_or_else(|| failed("a redirect has no valid location"))?;
            if request.url.scheme() == "https" && to.scheme() != "https" {
                return Err(failed("a redirect leads from https to http"));
            }
            if to.origin() != request.url.origin() {
                request.headers.remove(AUTHORIZATION);
            }
            request.url = to;
        }
        Err(failed("it redirects too often"))
    }

    async fn send_now(
        &self,
        http_request: HttpRequest,
        time: Duration,
    ) -> Result<Response, NoResponse> {
        let HttpRequest {
            method,
            url,
            headers,
            body,
            max,
            is_local,
        } = http_request;
        check_url(&url, is_local)?;
        let origin = Origin::of_url(url.as_str());
        let origin = origin.map_err(|error| NoResponse::Failed(format!("{url}: {error}")))?;
        let client = self.egress.to(OWNER, origin);
        let client = client
            .networks(&self.private_networks)
            .named_by_operator(is_loopback(&url))
            .max_bytes(max)
            .time(time)
            .idle_time(self.idle_time);
        let length = HeaderValue::from(body.len());
        let has_body = !body.is_empty() || method == Method::POST || method == Method::PUT;
        let mut request = Request::new(body);
        *request.method_mut() = method;
        *request.uri_mut() = url
            .as_str()
            .parse()
            .map_err(|error| NoResponse::Failed(format!("{error}")))?;
        *request.headers_mut() = headers;
        if has_body {
            request.headers_mut().insert(CONTENT_LENGTH, length);
        }
        let (parts, body) = match client.fetch(request).await {
            Ok(response) => response.into_parts(),
            Err(HttpClientError::TooLarge { .. }) => return Err(NoResponse::TooLarge),
            Err(error) => return Err(NoResponse::Failed(error.to_string())),
        };
        Ok(Response {
            status: parts.status,
            headers: parts.headers,
            body,
            url,
        })
    }
}

/// Checks a URL, before the addresses of its host are.
fn check_url(url: &Url, is_local: bool) -> Result<(), NoResponse> {
    if !url.username().is_empty() || url.password().is_some() {
        return Err(failed("a URL has a user or a password"));
    }
    match (is_loopback(url), is_local) {
        (true, false) => Err(failed("it leads to this machine")),
        (false, _) if url.scheme() != "https" => {
            Err(failed("only servers of this machine are reached by http"))
        }
        (true, true) | (false, _) => Ok(()),
    }
}

fn failed(reason: &str) -> NoResponse {
    NoResponse::Failed(reason.to_owned())
}

fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Returns where a response leads to, relative to the URL that sent it.
pub(crate) fn location(response: &Response) -> Option<Url> {
    let location = response.headers.get(LOCATION)?.to_str().ok()?;
    response.url.join(location).ok()
}

/// Returns whether a URL names this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address == Ipv4Addr::LOCALHOST,
        Some(Host::Ipv6(address)) => address == Ipv6Addr::LOCALHOST,
        None => false,
    }
}
