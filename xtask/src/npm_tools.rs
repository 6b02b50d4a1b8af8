//! Installs what tests of the command line use from npm: the browser in which they open pages of `toolhost docs`, and
//! the services of Sigstore that sign packages.

use std::path::PathBuf;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{mcp_clients, packages};

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "host/toolhost-cli/tests/npm";
const INSTALLED: &str = "target/npm-tools";

/// Returns the folder of what is installed: `node` and `node_modules`.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs the packages, and the Node 24 that runs them. Prints that they are not tested with if a program that installs
/// them is missing.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let Some(clients) = mcp_clients::install(workspace)? else {
        println!(
            "test: pages are NOT opened in a browser, and signatures of identities are NOT verified"
        );
        return Ok(());
    };
    let (pinned, installed) = (workspace.root().join(PINNED), installed(workspace));
    packages::install_npm_copy(&pinned, &installed)?;
    packages::link(&clients.join("node"), &installed.join("node"))
}
