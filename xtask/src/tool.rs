//! Subcommands of cargo, installed if they are missing.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::child;
use crate::workspace::Workspace;

/// A subcommand of cargo, and the version to install.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
}

impl Tool {
    /// Returns the program in `PATH`, of any version; else builds it from crates.io into `target/tools`, once.
    ///
    /// # Errors
    /// It is not in `PATH` and could not be built.
    pub(crate) fn find_or_install(&self, workspace: &Workspace) -> Result<PathBuf> {
        let (name, version) = (self.name, self.version);
        // As cargo starts it: with its name after `cargo-`, without which not all print their version.
        let subcommand = name.strip_prefix("cargo-").unwrap_or(name);
        let version_of = [subcommand, "--version"];
        let works = |program: &PathBuf| child::works(Command::new(program).args(version_of));
        let in_path = PathBuf::from(name);
        if works(&in_path) {
            return Ok(in_path);
        }
        let tools = workspace.root().join("target/tools");
        let own = tools.join(format!("{name}-{version}"));
        let program = own.join("bin").join(name);
        if !works(&program) {
            println!("{name} is not installed: building {version} into target/tools, once");
            let mut install = child::cargo(workspace.root());
            install
                .args(["install", name, "--version", version])
                // To optimise it takes longer than to run it.
                .args(["--locked", "--debug", "--quiet", "--root"])
                .arg(&own)
                .arg("--target-dir")
                .arg(tools.join("build"));
            child::run(&mut install).with_context(|| {
                format!("install it yourself: `cargo install {name}@{version} --locked`")
            })?;
        }
        Ok(program)
    }
}
