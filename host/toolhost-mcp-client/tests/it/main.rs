//! Tools of real MCP servers, each a process of its own.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests look for programs in PATH, and report what is missing"
)]

mod answers;
mod bundles;
mod calls;
mod hostile;
mod lists;
mod oauth;
mod over_http;
mod processes;
mod real;
mod support;
