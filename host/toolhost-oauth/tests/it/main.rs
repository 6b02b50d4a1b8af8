//! Grants at an authorization server that others wrote, from npm. `cargo xtask test` installs it.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "tests find programs by variables, report what is missing, and start themselves as processes"
)]

mod grants;
mod processes;
mod support;
