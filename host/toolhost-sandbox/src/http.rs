//! HTTP for guests: where a request may go, what goes with it, and how much of it there may be.
//!
//! The resources of `wasi:http` are wasmtime's; [`egress`] decides, [`exchange`] sends. Closed by
//! default: without an [`HttpGrant`] no name is looked up and nothing is connected to.

mod address;
mod body;
mod credential;
mod egress;
mod exchange;
mod network;
mod origin;
mod rule;
mod veil;

use std::net::SocketAddr;

pub use address::{AddressBlock, AddressBlockError};
pub use credential::{HttpCredential, HttpCredentialError};
pub(crate) use egress::Http;
pub(crate) use network::Network;
pub use network::{HttpConfig, HttpResolved, HttpResolver, SystemResolver};
pub use origin::OriginError;
pub use rule::{HttpRule, HttpRuleError};

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
