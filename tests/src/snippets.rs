//! The Rust snippets of the pages, compiled as doctests.

#[doc = include_str!("../../README.md")]
mod readme {}

#[doc = include_str!("../../docs/embedding.md")]
mod embedding {}

#[doc = include_str!("../../docs/mcp-servers.md")]
mod mcp_servers {}

#[doc = include_str!("../../docs/search.md")]
mod search {}
