//! HTTP requests of guests and of the host.
//!
//! A request is checked against the rules of its grant. Then its name is resolved, its addresses are checked, and it is
//! sent over a connection of its own. Closed by default: requests without a rule, addresses that are not public,
//! redirects, and the environment's proxies. Without a request no name is resolved and no thread started.

mod body;
mod client;
mod config;
mod egress;
mod error;
mod meter;
mod network;
mod origin_client;
mod outbound_request;
mod redactor;
mod route;
mod sender;

pub use body::ResponseBody;
pub use client::{HttpClient, HttpClientError};
pub use config::{CertificateError, HttpConfig, HttpResolveFuture, HttpResolver, SystemResolver};
pub use egress::Egress;
pub use error::RequestError;
pub use meter::HttpMeter;
pub use origin_client::OriginClient;
pub use outbound_request::{FailedRequest, OutboundRequest};
pub use sender::{HttpSender, RequestTimeouts};

#[cfg(test)]
mod tests;
