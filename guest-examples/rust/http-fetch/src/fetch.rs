//! A request and its redirects.

use std::collections::BTreeMap;
use std::time::Duration;

use http_exchange::{Deadline, Jar, Request, Response, exchange, without_body, without_secrets};
use serde::Serialize;
use toolhost_guest::{Context, ToolError};
use url::Url;

use crate::content::{Content, Decoded};
use crate::input::{Conversion, Input, Method};
use crate::media_type::MediaType;
use crate::payload::RequestBody;
use crate::save::Unfinished;
use crate::{fault, headers};

/// Below the 30 s that the host lets a call run.
const DEFAULT_TIMEOUT_MS: u64 = 20_000;
const DEFAULT_MAX_BYTES: usize = 100_000;
const DEFAULT_REDIRECTS: u32 = 5;
const MAX_COOKIES: usize = 50;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Output {
    /// Of the last request, when redirects were followed.
    url: String,
    redirected: bool,
    status: u16,
    /// A status from 200 to 299.
    ok: bool,
    headers: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// Whether the body is not text; `body` is then its base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    charset: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saved_to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    /// The body is longer.
    truncated: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notes: Vec<String>,
}

pub(crate) fn get(_: &Context, input: Input) -> Result<Output, ToolError> {
    fetch(Method::Get, input)
}

pub(crate) fn post(_: &Context, input: Input) -> Result<Output, ToolError> {
    fetch(Method::Post, input)
}

pub(crate) fn request(_: &Context, input: Input) -> Result<Output, ToolError> {
    let method = input.method;
    fetch(method.unwrap_or(Method::Get), input)
}

fn fetch(method: Method, input: Input) -> Result<Output, ToolError> {
    let timeout = Duration::from_millis(input.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS));
    let max_redirects = input.max_redirects.unwrap_or(DEFAULT_REDIRECTS);
    let max_bytes = input.max_bytes.unwrap_or(DEFAULT_MAX_BYTES);
    let mut url = Url::parse(&input.url).map_err(|reason| fault::url(&input.url, &reason))?;
    let mut query = input.query.pairs().peekable();
    if query.peek().is_some() {
        url.query_pairs_mut().extend_pairs(query);
    }
    if input.save_to.is_some() && input.conversion != Conversion::Raw {
        return Err(fault::input(
            "`saveTo` keeps the body as it is",
            "leave out `as`, or `saveTo`",
        ));
    }
    let body = RequestBody::new(input.body)?;
    let mut request = Request {
        method: method.into(),
        url,
        headers: headers::of_request(input.headers, method, body.as_ref())?,
        payload: body.map(|body| body.payload),
        deadline: Deadline::after(timeout),
        connect_timeout: None,
    };
    check(&request.url)?;
    let target = match &input.save_to {
        Some(path) => Some(Unfinished::create(path, input.overwrite)?),
        None => None,
    };
    let mut cookies = Jar::new(MAX_COOKIES);
    for count in 0..=max_redirects {
        let response = exchange(&request, cookies.header(&request.url).as_deref());
        let response = response.map_err(|fault| fault::exchange(&request.url, fault))?;
        for cookie in response.headers.all("set-cookie") {
            cookies.set(&request.url, cookie);
        }
        match response.redirect() {
            Some(location) => follow(&mut request, response.status, location)?,
            None => {
                let mut output =
                    answer(&request.url, response, |decoded, kind, ok| match target {
                        Some(target) if ok => {
                            let (bytes, notes) = decoded.save(target)?;
                            let content = Content {
                                notes,
                                ..Content::default()
                            };
                            Ok((content, Some(bytes)))
                        }
                        Some(_) | None => {
                            let content = decoded.content(kind, input.conversion, max_bytes)?;
                            Ok((content, None))
                        }
                    })?;
                output.redirected = count > 0;
                if output.bytes.is_some() {
                    output.saved_to = input.save_to;
                    output.body = None;
                } else if input.save_to.is_some() {
                    let note = format!("not saved: the status is {}", output.status);
                    output.notes.push(note);
                }
                return Ok(output);
            }
        }
    }
    Err(fault::redirects(max_redirects, &request.url))
}

/// Returns the output for a response whose body `take` reads.
fn answer(
    url: &Url,
    response: Response,
    take: impl FnOnce(Decoded<'_>, &MediaType, bool) -> Result<(Content, Option<u64>), ToolError>,
) -> Result<Output, ToolError> {
    let Response {
        status,
        headers,
        body,
    } = response;
    let ok = (200..300).contains(&status);
    let kind = MediaType::parse(headers.first("content-type").unwrap_or_default());
    let decoded = Decoded::new(url, &headers, body)?;
    let (mut content, bytes) = take(decoded, &kind, ok)?;
    if content.truncated {
        let note =
            "there is more: raise `maxBytes` (at most 500000), or get all of it with `saveTo`";
        content.notes.push(note.to_owned());
    }
    Ok(Output {
        url: url.as_str().to_owned(),
        redirected: false,
        status,
        ok,
        headers: headers::joined(&headers),
        title: content.title,
        body: Some(content.text),
        base64: content.is_base64.then_some(true),
        charset: content.charset,
        saved_to: None,
        bytes,
        truncated: content.truncated,
        notes: content.notes,
    })
}

/// Refuses a URL that no request is sent to.
fn check(url: &Url) -> Result<(), ToolError> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(fault::scheme(url));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault::credentials(url));
    }
    Ok(())
}

/// Turns a request into that to the location of a redirect. The host checks its origin again.
fn follow(request: &mut Request, status: u16, location: &str) -> Result<(), ToolError> {
    let next = request.url.join(location);
    let mut next = next.map_err(|reason| fault::url(location, &reason))?;
    if next.fragment().is_none() {
        next.set_fragment(request.url.fragment());
    }
    // As in browsers: a POST becomes a GET, unless the status demands the same method.
    let becomes_get = match request.method {
        http_exchange::Method::Get | http_exchange::Method::Head => false,
        http_exchange::Method::Post => matches!(status, 301..=303),
        _ => status == 303,
    };
    if becomes_get {
        request.method = http_exchange::Method::Get;
        request.payload = None;
        without_body(&mut request.headers);
    }
    if next.origin() != request.url.origin() {
        without_secrets(&mut request.headers);
    }
    request.url = next;
    check(&request.url)
}
