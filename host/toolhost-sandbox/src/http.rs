//! HTTP for guests: where a request may go, what goes with it, and how much of it there may be.
//!
//! The resources of `wasi:http` are wasmtime's; [`egress`] decides, [`exchange`] sends. Closed by
//! default: without an [`HttpGrant`] no name is looked up and nothing is connected to.

mod address;
mod body;
mod credential;
mod egress;
mod exchange;
mod grant;
mod headers;
mod held;
mod network;
mod origin;
mod rule;
mod unread;
mod veil;

pub use address::{AddressBlock, AddressBlockError};
pub use credential::{HttpCredential, HttpCredentialError};
pub(crate) use egress::Http;
pub use grant::HttpGrant;
pub(crate) use held::held_for;
pub(crate) use network::Network;
pub use network::{HttpConfig, HttpResolved, HttpResolver, SystemResolver};
pub use origin::OriginError;
pub(crate) use rule::METHOD_MAX;
pub use rule::{HttpRule, HttpRuleError};
