//! One HTTP exchange over `wasi:http`: what the tools that send requests have in common.
//!
//! The host decides which origins may be reached. It checks each request, also one to the location of a
//! redirect, which is an exchange of its own.

mod cookies;
mod encoding;
mod exchange;
mod fault;
mod headers;
mod inflate;
mod payload;
#[cfg(feature = "zstd")]
mod zstd;

pub use cookies::{Cookie, Jar};
pub use encoding::{Encodings, is_early_end};
pub use exchange::{Body, Deadline, Failure, Request, Response, exchange};
pub use fault::Fault;
pub use headers::{Headers, ResponseHeaders, has, without_body, without_secrets};
pub use payload::{Part, Payload, Piece};
pub use url;
pub use wasip2::http::types::{ErrorCode, Method};
