//! HTTP for guests: where a request may go, what goes with it, and how much of it there may be.
//!
//! The resources of `wasi:http` are wasmtime's; [`egress`] decides, [`exchange`] sends. Closed by
//! default: without an [`HttpGrant`](toolhost_contract::HttpGrant) no name is looked up and nothing is connected to.

mod body;
mod egress;
mod exchange;
mod held;
mod network;
mod unread;
mod veil;

pub(crate) use egress::Http;
pub(crate) use held::held_for;
pub(crate) use network::Network;
pub use network::{HttpConfig, HttpResolved, HttpResolver, SystemResolver};
