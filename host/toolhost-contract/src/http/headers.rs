//! Headers that guests and credentials must not set.

use http::{HeaderName, header};

/// Headers of the connection and of the body's framing, and `host`.
const CONNECTION_HEADERS: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers with which some servers override the method or path that the rules have checked.
const OVERRIDE_HEADERS: [&str; 5] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// Returns whether guests and credentials must not set this header.
#[must_use]
pub fn is_reserved_header(name: &HeaderName) -> bool {
    name.as_str().starts_with("proxy-")
        || CONNECTION_HEADERS.contains(name)
        || OVERRIDE_HEADERS.contains(&name.as_str())
}
