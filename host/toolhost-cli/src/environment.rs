//! The environment variables that toolhost reads. No other file reads the environment.

use std::ffi::OsString;
use std::path::PathBuf;

/// The variables. Empty variables count as not set.
#[derive(Debug, Default)]
pub(crate) struct Environment {
    /// `HOME`, if it is absolute.
    pub(crate) home: Option<PathBuf>,
    /// `TOOLHOST_STATE_ROOT`.
    pub(crate) state_root: Option<PathBuf>,
    /// `XDG_STATE_HOME`, if it is absolute; its specification says to ignore relative paths.
    pub(crate) xdg_state: Option<PathBuf>,
    /// `XDG_CACHE_HOME`, if it is absolute.
    pub(crate) xdg_cache: Option<PathBuf>,
    /// `NO_COLOR` is set, or `TERM` names a terminal without colours.
    pub(crate) colourless: bool,
    /// `CARGO_TARGET_DIR` is set: cargo reads it and gets no `--target-dir`.
    pub(crate) cargo_target_dir: bool,
}

impl Environment {
    /// Reads the variables.
    pub(crate) fn read() -> Self {
        Self {
            home: absolute("HOME"),
            state_root: value("TOOLHOST_STATE_ROOT").map(PathBuf::from),
            xdg_state: absolute("XDG_STATE_HOME"),
            xdg_cache: absolute("XDG_CACHE_HOME"),
            cargo_target_dir: value("CARGO_TARGET_DIR").is_some(),
            colourless: value("NO_COLOR").is_some() || value("TERM").is_some_and(|t| t == "dumb"),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "only the command line reads the environment, and only here"
)]
pub(crate) fn value(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn absolute(name: &str) -> Option<PathBuf> {
    value(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}
