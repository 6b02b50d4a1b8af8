//! Whose a header is: the guest's, or the connection's.

use http::{HeaderName, header};

/// Those of one hop, those that say how a body is framed, and the host.
const OF_THE_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Those by which some servers take another method or path than the one that was held against the
/// rules.
const IN_PLACE_OF_THE_LINE: [&str; 5] = [
    "x-http-method",
    "x-http-method-override",
    "x-method-override",
    "x-original-url",
    "x-rewrite-url",
];

/// Whether a header is the host's to make: the connection's, or one in place of the request's line.
pub fn is_the_hosts(name: &HeaderName) -> bool {
    name.as_str().starts_with("proxy-")
        || OF_THE_CONNECTION.contains(name)
        || IN_PLACE_OF_THE_LINE.contains(&name.as_str())
}
