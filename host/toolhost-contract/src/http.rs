//! Types and parsing of HTTP grants: rules, origins, address blocks and credentials.

mod address;
mod credential;
mod origin;
mod rule;

use std::net::SocketAddr;
use std::sync::Arc;

pub use address::{AddressBlock, AddressBlockError, non_public_block};
pub use credential::{HttpCredential, HttpCredentialError, is_reserved_header};
pub use origin::{Host, Origin, OriginError, Reach, Scheme};
pub use rule::{HttpRule, HttpRuleError, METHOD_MAX, is_allowed_method, normalize_path};

/// Allowed requests of a tool, and the credentials that the host adds. Default: no requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpGrant {
    /// Rules. A request is allowed if at least one rule allows it. Shared, as each call that gets
    /// credentials has a grant of its own.
    pub allow: Arc<[HttpRule]>,
    /// Blocks of non-public addresses to which host names may resolve. Not needed for rules with an
    /// address, or for `localhost` and loopback.
    pub private_networks: Vec<AddressBlock>,
    /// Headers with secrets that the host adds to requests.
    pub credentials: Vec<HttpCredential>,
    /// Server that receives all allowed requests instead of the real hosts, over plain HTTP. No name is
    /// resolved.
    pub answered_by: Option<SocketAddr>,
}
