//! `get` and `post`: one request and its redirects.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use toolhost_guest::{Context, ToolError, Value};
use url::Url;
use wasip2::http::types::Method;

use crate::exchange::{Request, Response, exchange};
use crate::{body, fault, headers};

/// Below the 30 s that the host lets a call run.
const DEFAULT_TIMEOUT_MS: u64 = 20_000;
const DEFAULT_MAX_BYTES: usize = 100_000;
const DEFAULT_REDIRECTS: u32 = 5;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Input {
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: Option<String>,
    json: Option<Value>,
    timeout_ms: Option<u64>,
    max_bytes: Option<usize>,
    max_redirects: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    /// Of the last request, when redirects were followed.
    url: String,
    status: u16,
    /// A status from 200 to 299.
    ok: bool,
    headers: BTreeMap<String, String>,
    body: String,
    /// Whether the body is not text; `body` is then its base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<bool>,
    /// The body is longer.
    truncated: bool,
}

pub(crate) fn get(_: &Context, input: Input) -> Result<Output, ToolError> {
    fetch(Method::Get, input)
}

pub(crate) fn post(_: &Context, input: Input) -> Result<Output, ToolError> {
    fetch(Method::Post, input)
}

/// Returns `{url, status, ok, headers, body, base64?, truncated}`.
fn fetch(method: Method, input: Input) -> Result<Output, ToolError> {
    let timeout = Duration::from_millis(input.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS));
    let max_redirects = input.max_redirects.unwrap_or(DEFAULT_REDIRECTS);
    let max_bytes = input.max_bytes.unwrap_or(DEFAULT_MAX_BYTES);
    let url = Url::parse(&input.url).map_err(|reason| fault::url(&input.url, &reason))?;
    let body = match (input.body, input.json) {
        (Some(_), Some(_)) => return Err(fault::two_bodies()),
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(json)) => Some(json.to_string().into_bytes()),
        (None, None) => None,
    };
    let mut request = Request {
        method,
        url,
        headers: headers::of_request(input.headers, body.as_deref())?,
        body,
        until: Instant::now() + timeout,
        timeout,
        max_bytes,
    };
    for _ in 0..=max_redirects {
        let response = exchange(&request)?;
        match response.redirect() {
            Some(location) => request.follow(response.status, location)?,
            None => return Ok(answer(request, response)),
        }
    }
    Err(fault::redirects(max_redirects, &request.url))
}

fn answer(request: Request, response: Response) -> Output {
    let body = body::to_text(response.body, response.truncated, request.max_bytes);
    Output {
        url: request.url.into(),
        status: response.status,
        ok: (200..300).contains(&response.status),
        headers: response.headers,
        body: body.text,
        base64: body.base64.then_some(true),
        truncated: body.truncated,
    }
}

impl Response {
    /// Returns the location of a redirect.
    fn redirect(&self) -> Option<&str> {
        let redirects = matches!(self.status, 301 | 302 | 303 | 307 | 308);
        let location = self.headers.get("location").filter(|_| redirects);
        location.map(String::as_str)
    }
}

impl Request {
    /// Turns this into the request to the location of a redirect. The host checks its origin again.
    fn follow(&mut self, status: u16, location: &str) -> Result<(), ToolError> {
        let next = self.url.join(location);
        let next = next.map_err(|reason| fault::url(location, &reason))?;
        // As in browsers: a POST becomes a GET, unless the status demands the same method.
        if matches!(status, 301..=303) && !matches!(self.method, Method::Get) {
            self.method = Method::Get;
            self.body = None;
            headers::without_body(&mut self.headers);
        }
        if next.origin() != self.url.origin() {
            headers::without_secrets(&mut self.headers);
        }
        self.url = next;
        Ok(())
    }
}
