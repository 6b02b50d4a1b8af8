//! Tests that need a guest, a child process or more than one crate. They are one binary, so that the
//! engine is linked once.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests fail by panicking and may read the environment"
)]

mod agent_example;
mod agents;
mod approvals;
mod architecture;
mod base_tools;
mod budgets;
mod cache;
mod calls;
mod compiler;
mod docs;
mod execute;
mod extensions;
mod files;
mod fleet;
mod front_ends;
mod helper;
mod http;
mod inner_calls;
mod leaks;
mod load;
mod mcp;
mod otel;
mod pending;
mod reload;
mod rpc;
mod sandbox;
mod soak;
mod spec;
mod system_failures;
mod upgrade;
