//! Installs the authorization server of others that the tests of `toolhost-oauth` start.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{mcp_clients, packages};

/// Where the version is pinned, and where it is installed, beneath the workspace.
const PINNED: &str = "host/toolhost-oauth/tests/npm";
const INSTALLED: &str = "target/oauth";

/// Returns the folder of what is installed: `node`, the program, and `node_modules`.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs the pinned server, and the Node 24 that it needs. Prints that it is not tested with if a program
/// that installs it is missing.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let Some(clients) = mcp_clients::install(workspace)? else {
        println!("test: OAuth is NOT tested with a server of others");
        return Ok(());
    };
    let installed = installed(workspace);
    packages::install_npm_copy(&workspace.root().join(PINNED), &installed)?;
    packages::link(&clients.join("node"), &installed.join("node"))
}
