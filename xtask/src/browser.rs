//! Installs the browser in which tests open pages of `toolhost docs`.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{mcp_clients, packages};

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "host/toolhost-cli/tests/npm";
const INSTALLED: &str = "target/browser";

/// Returns the folder of what is installed: `node` and `node_modules`.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs Chromium from npm, and the Node 24 that drives it. Prints that it is not tested with if a program
/// that installs it is missing.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let Some(clients) = mcp_clients::install(workspace)? else {
        println!("test: pages are NOT opened in a browser");
        return Ok(());
    };
    let (pinned, installed) = (workspace.root().join(PINNED), installed(workspace));
    packages::install_npm_copy(&pinned, &installed)?;
    packages::link(&clients.join("node"), &installed.join("node"))
}
