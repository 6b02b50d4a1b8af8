//! Every test that needs a guest, a command line or more than one crate. One binary, so that the
//! engine is linked once.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests: what cannot go on fails loudly, and CI's environment is theirs to read"
)]

mod agents;
mod architecture;
mod base_tools;
mod cache;
mod compiler;
mod docs;
mod execute;
mod extensions;
mod files;
mod http;
mod leaks;
mod load;
mod otel;
mod pending;
mod sandbox;
mod soak;
mod spec;
mod system_failures;
