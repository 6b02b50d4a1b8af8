//! One request to a server, and its redirects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, HeaderMap, HeaderValue, LOCATION};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use toolhost_contract::http::non_public_block;
use toolhost_contract::{AddressBlock, HttpGrant, HttpRule, Limits};
use toolhost_sandbox::Sandbox;
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
    pub(crate) sandbox: Sandbox,
    pub(crate) private_networks: Vec<AddressBlock>,
    pub(crate) idle_time: Duration,
}

/// A request without a body, or with one.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// Most bytes of the body of the response. Of an error, [`ERROR_MAX`](super::request::ERROR_MAX).
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
    pub(crate) async fn send(&self, sent: Sent) -> Result<Response, NoResponse> {
        let megabytes = (sent.max + sent.body.len() as u64) / 1_000_000;
        let time = WHOLE.saturating_add(
            EACH_MEGABYTE.saturating_mul(u32::try_from(megabytes).unwrap_or(u32::MAX)),
        );
        let seconds = time.as_secs();
        match self.sandbox.threads().within(time, self.follow(sent)).await {
            Some(response) => response,
            None => Err(NoResponse::Failed(format!(
                "no whole answer within {seconds} s"
            ))),
        }
    }

    async fn follow(&self, mut sent: Sent) -> Result<Response, NoResponse> {
        for _ in 0..=REDIRECTS_MAX {
            let response = self.send_now(sent.clone()).await?;
            let follows = sent.method == Method::GET || sent.method == Method::HEAD;
            if !follows || !is_redirect(response.status) {
                return Ok(response);
            }
            let to =
                location(&response).ok_or_else(|| failed("a redirect has no valid location"))?;
            if sent.url.scheme() == "https" && to.scheme() != "https" {
                return Err(failed("a redirect leads from https to http"));
            }
            if to.origin() != sent.url.origin() {
                sent.headers.remove(AUTHORIZATION);
            }
            sent.url = to;
        }
        Err(failed("it redirects too often"))
    }

    async fn send_now(&self, sent: Sent) -> Result<Response, NoResponse> {
        let Sent {
            method,
            url,
            headers,
            body,
            max,
            is_local,
        } = sent;
        self.check_host(&url, is_local)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(failed("a URL has a user or a password"));
        }
        let origin = url.origin().ascii_serialization();
        // The host's own rule: this origin and nothing else.
        let rule = HttpRule::parse(&format!("{method} {origin}"));
        let rule = rule.map_err(|error| NoResponse::Failed(format!("{origin}: {error}")))?;
        let grant = HttpGrant {
            allow: [rule].into(),
            private_networks: self.private_networks.clone(),
            ..HttpGrant::default()
        };
        let limits = Limits {
            http_request_bytes: body.len() as u64,
            // So that the body is found too large below.
            http_response_bytes: max.saturating_add(1 << 20),
            http_first_byte: self.idle_time,
            http_between_bytes: self.idle_time,
            ..Limits::default()
        };
        let client = self.sandbox.http_client(OWNER, Arc::new(grant), limits);
        let length = HeaderValue::from(body.len());
        let has_body = !body.is_empty() || method == Method::POST || method == Method::PUT;
        let is_head = method == Method::HEAD;
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
        let response = client.send(request).await;
        let (parts, body) = response
            .map_err(|error| NoResponse::Failed(error.to_string()))?
            .into_parts();
        let announced = parts.headers.get(CONTENT_LENGTH);
        let announced = announced.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
        if !is_head && announced.is_some_and(|length| length > max) {
            return Err(NoResponse::TooLarge);
        }
        let most = usize::try_from(max).unwrap_or(usize::MAX);
        let body = if is_head {
            Bytes::new()
        } else {
            match Limited::new(body, most).collect().await {
                Ok(body) => body.to_bytes(),
                Err(error) if error.is::<LengthLimitError>() => return Err(NoResponse::TooLarge),
                Err(error) => return Err(NoResponse::Failed(error.to_string())),
            }
        };
        Ok(Response {
            status: parts.status,
            headers: parts.headers,
            body,
            url,
        })
    }
}

impl Exchange {
    /// Checks a host that is an address. (Of a name, the addresses are checked when it is resolved.)
    fn check_host(&self, url: &Url, is_local: bool) -> Result<(), NoResponse> {
        if is_loopback(url) {
            return if is_local {
                Ok(())
            } else {
                Err(failed("it leads to this machine"))
            };
        }
        if url.scheme() != "https" {
            return Err(failed("only servers of this machine are reached by http"));
        }
        let address: IpAddr = match url.host() {
            Some(Host::Ipv4(address)) => address.into(),
            Some(Host::Ipv6(address)) => address.into(),
            Some(Host::Domain(_)) => return Ok(()),
            None => return Err(failed("a URL has no host")),
        };
        let is_granted = self
            .private_networks
            .iter()
            .any(|block| block.contains(address));
        match non_public_block(address).filter(|_| !is_granted) {
            Some(_) => Err(NoResponse::Failed(format!(
                "{address} is not a public address"
            ))),
            None => Ok(()),
        }
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
