//! The programs of other runtimes, which `cargo xtask bench peers` installs.

use std::path::{Path, PathBuf};
use std::process::Command;

use toolhost_tests::root;

use super::works::{PROGRAM, Work, python_path};

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
    /// The code mode of Vercel's AI SDK.
    AiSdk,
    /// The code mode of UTCP.
    Utcp,
    Monty,
}

impl Program {
    /// Returns the program as xtask installed it, or why it is missing.
    fn installed(self) -> Result<PathBuf, String> {
        let path = match self {
            Self::Bun => "bun",
            Self::Node | Self::AiSdk | Self::Utcp => "node",
            Self::Python | Self::Monty => "python/bin/python",
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
            Self::AiSdk | Self::Utcp | Self::Monty => work.in_scripts == PROGRAM,
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
            Self::AiSdk | Self::Utcp => {
                let name = if self == Self::Utcp { "utcp" } else { "ai-sdk" };
                installed(&format!("node_modules/@{name}/code-mode"))?;
                // Packages that run code in an isolate of V8 do not start without it.
                command.arg("--no-node-snapshot");
                command.arg(scripts.join("code_mode.mjs")).arg(name);
                command.env("PEERS", root(INSTALLED));
                command.env("NODE_NO_WARNINGS", "1");
            }
            Self::Monty => {
                command.arg(scripts.join("code_mode.py"));
            }
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
        return std::path::absolute(path).map_err(|error| error.to_string());
    }
    let reason = std::fs::read_to_string(folder.join("missing.txt")).unwrap_or_default();
    match reason.lines().find(|line| line.starts_with(name)) {
        Some(line) => Err(line.to_owned()),
        None => Err(format!(
            "{INSTALLED}/{name} is missing: run `cargo xtask bench peers`"
        )),
    }
}
