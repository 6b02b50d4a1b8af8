//! The HTTP grant of one tool.

use std::net::SocketAddr;

use super::{AddressBlock, HttpCredential, HttpRule};

/// Allowed requests of a tool, and the credentials that the host adds. Default: no requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpGrant {
    /// Rules. A request is allowed if at least one rule allows it.
    pub allow: Vec<HttpRule>,
    /// Blocks of non-public addresses to which host names may resolve. Not needed for rules with an
    /// address, or for `localhost` and loopback.
    pub private_networks: Vec<AddressBlock>,
    /// Headers with secrets that the host adds to requests.
    pub credentials: Vec<HttpCredential>,
    /// Server that receives all allowed requests instead of the real hosts, over plain HTTP. No name is
    /// resolved.
    pub answered_by: Option<SocketAddr>,
}
