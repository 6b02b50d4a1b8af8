//! What one tool may request.

use std::net::SocketAddr;

use super::{AddressBlock, HttpCredential, HttpRule};

/// Where a tool may send requests, and what the host adds to them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpGrant {
    /// What it may request.
    pub allow: Vec<HttpRule>,
    /// Blocks of addresses, other than public ones, to which a name may resolve. A rule that itself
    /// names an address needs none, nor does one that names `localhost` for loopback.
    pub private_networks: Vec<AddressBlock>,
    /// What the host adds to requests to one origin, unseen by the guest.
    pub credentials: Vec<HttpCredential>,
    /// Where every allowed request is sent instead, in plain HTTP: no name is looked up then.
    pub answered_by: Option<SocketAddr>,
}
