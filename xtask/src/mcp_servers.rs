//! Installs the MCP servers of others that the tests of `toolhost-mcp-client` start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::child;
use crate::workspace::Workspace;

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "host/toolhost-mcp-client/tests/npm";
const INSTALLED: &str = "target/mcp-servers";

const FILES: [&str; 2] = ["package.json", "package-lock.json"];

/// Returns the folder of the installed servers.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs the pinned servers. Prints that they are not tested if Node is not installed.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let recent = "process.exit(Number.parseInt(process.versions.node) < 20 ? 1 : 0)";
    if !child::works(Command::new("node").args(["-e", recent])) {
        println!("test: MCP servers of others are NOT tested: install Node 20 or newer");
        return Ok(());
    }
    let (pinned, installed) = (workspace.root().join(PINNED), installed(workspace));
    let read = |dir: &Path, file: &str| fs::read(dir.join(file)).unwrap_or_default();
    let is_done = FILES
        .iter()
        .all(|file| read(&pinned, file) == read(&installed, file))
        && installed.join("node_modules/.package-lock.json").exists();
    if is_done {
        return Ok(());
    }
    fs::create_dir_all(&installed)?;
    for file in FILES {
        let from = pinned.join(file);
        fs::copy(&from, installed.join(file)).with_context(|| from.display().to_string())?;
    }
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    child::run(npm.current_dir(&installed))
}
