//! Serves `wasi:http` for guests: checks, sends and bounds their requests.
//!
//! wasmtime implements the resources; [`hooks`] checks a request, and [`outbound_request`] sends it.
//! Without an [`HttpGrant`](crate::HttpGrant) no name is resolved and no connection is made.

mod body;
mod body_drain;
mod client;
mod error;
mod handle_memory;
mod hooks;
mod meter;
mod network;
mod origin_client;
mod outbound_request;
mod redactor;
mod route;

pub use client::{HttpClient, HttpClientBody, HttpClientError};
pub(crate) use handle_memory::handle_memory;
pub(crate) use hooks::Http;
pub(crate) use meter::HttpMeter;
pub(crate) use network::Network;
pub use network::{HttpConfig, HttpResolveFuture, HttpResolver, SystemResolver};
pub use origin_client::OriginClient;
