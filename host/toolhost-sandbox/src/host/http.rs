//! Serves `wasi:http` for guests.
//!
//! wasmtime implements the resources, and `toolhost-egress` checks, sends and bounds the requests; what is here converts
//! between both. Without an [`HttpGrant`](crate::HttpGrant) no name is resolved and no connection is made.

mod body_drain;
mod error;
mod handle_memory;
mod hooks;

pub(crate) use handle_memory::handle_memory;
pub(crate) use hooks::Http;
