//! The HTTP grant of one tool.

use std::net::SocketAddr;

use super::{AddressBlock, HttpCredential, HttpRule};

/// Where a tool may send requests, and what the host adds to them. Default: nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpGrant {
    /// A request is allowed if one of these rules allows it.
    pub allow: Vec<HttpRule>,
    /// Blocks of addresses that are not public, to which a name may resolve all the same. Not needed
    /// for a rule that names an address, or for `localhost` and loopback.
    pub private_networks: Vec<AddressBlock>,
    /// Secrets that the host adds to requests to one origin.
    pub credentials: Vec<HttpCredential>,
    /// A server that gets every allowed request instead, in plain HTTP. No name is resolved then.
    pub answered_by: Option<SocketAddr>,
}
