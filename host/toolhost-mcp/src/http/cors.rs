//! Answers the preflight requests of browsers for pages of the allowed origins, and lets these pages read
//! the responses.

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
    ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use http::{HeaderValue, Method, Request, Response, StatusCode};

use super::body::{BoxResponse, full};

/// What a page may send.
const METHODS: &str = "GET, POST, DELETE";
const HEADERS: &str = "Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, \
    Mcp-Session-Id, Mcp-Method, Mcp-Name";

/// What the name of a header that repeats a parameter of a tool begins with.
const PARAMETER: &str = "mcp-param-";

/// What a page may read beside the body.
const EXPOSED: &str = "Mcp-Session-Id, WWW-Authenticate, Retry-After";

/// Seconds for which a browser keeps the answer to a preflight request.
const MAX_AGE: &str = "600";

/// Returns the response to a preflight request, which has no token. Its origin has been checked.
pub(super) fn preflight<B>(request: &Request<B>) -> Option<BoxResponse> {
    let headers = request.headers();
    let is_preflight = request.method() == Method::OPTIONS
        && headers.contains_key(ORIGIN)
        && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    if !is_preflight {
        return None;
    }
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::NO_CONTENT;
    let allowed = allowed_headers(headers.get(ACCESS_CONTROL_REQUEST_HEADERS));
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, allowed);
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    set(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    Some(response)
}

/// Returns the headers that a page may send: those of the protocol, and the parameters of tools among those
/// that it asks for.
fn allowed_headers(requested: Option<&HeaderValue>) -> HeaderValue {
    let requested = requested.and_then(|requested| requested.to_str().ok());
    let requested = requested.unwrap_or_default().split(',').map(str::trim);
    let parameters = requested.filter(|name| {
        let start = name.get(..PARAMETER.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(PARAMETER))
    });
    let names: Vec<&str> = std::iter::once(HEADERS).chain(parameters).collect();
    let value = HeaderValue::try_from(names.join(", "));
    value.unwrap_or(HeaderValue::from_static(HEADERS))
}

/// Lets the page of this origin read a response.
pub(super) fn expose(response: &mut BoxResponse, origin: HeaderValue) {
    let headers = response.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    let exposed = HeaderValue::from_static(EXPOSED);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
    headers.append(VARY, HeaderValue::from_static("Origin"));
}
