//! Grants at an authorization server that others wrote, from npm. `cargo xtask test` installs it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::wildcard_enum_match_arm,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests find programs by variables, report what is missing, and start themselves as processes"
)]

mod grants;
mod processes;
mod support;
