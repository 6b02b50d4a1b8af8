//! The programs of other runtimes, which `cargo xtask bench peers` installs.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolhost_tests::root;

use super::works::{Work, python_path};

/// Where xtask installs them.
const INSTALLED: &str = "target/peers";

/// A program that does works, as a process.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Program {
    Bun,
    Node,
    Python,
    /// jaq, compiled for this machine, which compiles the query of each request.
    Jaq,
    /// jaq, which compiles a query once.
    JaqKept,
}

impl Program {
    /// Returns the program as xtask installed it, or why it is missing.
    fn installed(self) -> Result<PathBuf, String> {
        let path = match self {
            Self::Bun => "bun",
            Self::Node => "node",
            Self::Python => "python/bin/python",
            Self::Jaq | Self::JaqKept => "jaq-build/release/native-jaq",
        };
        installed(path)
    }

    pub(super) fn does(self, work: &Work) -> bool {
        match self {
            Self::Bun | Self::Node => {
                ["echo", "read", "write", "replace"].contains(&work.in_scripts)
            }
            Self::Python => ["echo", "count"].contains(&work.in_scripts),
            Self::Jaq | Self::JaqKept => work.in_scripts == "query",
        }
    }

    /// Returns the command that answers requests from its standard input until that ends, or one request.
    pub(super) fn command(self, workdir: &Path, requests: Requests) -> Result<Command, String> {
        let mut command = Command::new(self.installed()?);
        let scripts = root("benches/peers");
        match self {
            Self::Bun | Self::Node => {
                command.arg(scripts.join("worker.mjs"));
                command.env("TEXT_TRANSFORM", installed("text-transform.mjs")?);
            }
            Self::Python => {
                command.arg(scripts.join("worker.py"));
                command.env("PYTHONPATH", python_path());
                // Compiled modules are kept, but not beside the sources.
                command.env("PYTHONPYCACHEPREFIX", root(INSTALLED).join("pycache"));
            }
            Self::JaqKept => {
                command.arg("kept");
            }
            Self::Jaq => {}
        }
        if requests == Requests::One {
            command.arg("once");
        }
        command.current_dir(workdir);
        Ok(command)
    }
}

/// How many requests a process answers.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Requests {
    One,
    Many,
}

/// Returns the path of what xtask installed, or why it is missing.
pub(super) fn installed(name: &str) -> Result<PathBuf, String> {
    let folder = root(INSTALLED);
    let path = folder.join(name);
    if path.exists() {
        return path.canonicalize().map_err(|error| error.to_string());
    }
    let reason = std::fs::read_to_string(folder.join("missing.txt")).unwrap_or_default();
    match reason.lines().find(|line| line.starts_with(name)) {
        Some(line) => Err(line.to_owned()),
        None => Err(format!(
            "{INSTALLED}/{name} is missing: run `cargo xtask bench peers`"
        )),
    }
}
