//! The headers that the host sets itself.

use http::{HeaderName, header};

/// Headers of one connection, of the framing of a body, and the host.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Headers that make some servers use another method or path than those that the rules allowed.
const OVERRIDES: [&str; 5] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// Whether neither a guest nor a credential may set this header.
#[must_use]
pub fn is_reserved_header(name: &HeaderName) -> bool {
    name.as_str().starts_with("proxy-")
        || OF_CONNECTION.contains(name)
        || OVERRIDES.contains(&name.as_str())
}
