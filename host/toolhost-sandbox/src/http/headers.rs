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

/// Whether a header is the connection's, which is the host's to make.
pub(crate) fn is_of_the_connection(name: &HeaderName) -> bool {
    name.as_str().starts_with("proxy-") || OF_THE_CONNECTION.contains(name)
}
