//! Installs the MCP servers of others that the tests of `toolhost-mcp-client` start.

use std::path::PathBuf;

use anyhow::Result;

use crate::packages;
use crate::workspace::Workspace;

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "host/toolhost-mcp-client/tests/npm";
const INSTALLED: &str = "target/mcp-servers";

/// Returns the folder of the installed servers.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs the pinned servers. Prints that they are not tested if Node is not installed.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    if let Some(missing) = packages::missing_npm() {
        println!("test: MCP servers of others are NOT tested: install {missing}");
        return Ok(());
    }
    packages::install_npm_copy(&workspace.root().join(PINNED), &installed(workspace))
}
