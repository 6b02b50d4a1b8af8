//! Installs the NATS server over which tests carry calls to workers.

use std::path::PathBuf;

use anyhow::Result;

use crate::packages;
use crate::workspace::Workspace;

/// Where the version is pinned, and where it is installed, beneath the workspace.
const PINNED: &str = "host/toolhost-nats/tests/server/requirements.txt";
const INSTALLED: &str = "target/nats";

/// Returns the folder of what is installed: a virtual environment with `bin/nats-server`.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs the server. Prints that it is not tested with if it cannot be installed.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    if let Some(missing) = packages::missing_python() {
        println!("test: calls are NOT tested over NATS: install {missing}");
        return Ok(());
    }
    let requirements = workspace.root().join(PINNED);
    if let Err(error) = packages::install_venv(&requirements, &installed(workspace)) {
        println!("test: calls are NOT tested over NATS: {error:#}");
    }
    Ok(())
}
