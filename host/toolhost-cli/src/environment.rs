//! Reads environment variables. No other file reads them.

use std::ffi::OsString;

/// Returns a variable that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment, and only here"
)]
pub(crate) fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Whether `TERM` names a terminal that cannot move the cursor.
pub(crate) fn is_dumb_terminal() -> bool {
    value("TERM").is_some_and(|term| term == "dumb")
}
