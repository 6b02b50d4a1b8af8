//! Installs the MCP servers of others, old and new, that the tests of `toolhost-mcp-client` start.

use std::path::PathBuf;
use std::thread;

use anyhow::{Result, anyhow};

use crate::packages;
use crate::workspace::Workspace;

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "host/toolhost-mcp-client/tests";
const INSTALLED: &str = "target/mcp-servers";

/// Folders with a lock file of npm, and where their packages are installed beneath [`INSTALLED`].
const NPM: [(&str, &str); 2] = [("npm", ""), ("npm-2025", "2025")];

/// Files of requirements in the folder `pypi`, each with a release of the Python SDK.
const PYPI: [&str; 3] = ["mcp-1.2", "mcp-1.6", "mcp-1.9"];

/// Returns the folder of the installed servers.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs the pinned servers, all at once. Prints which are not tested because Node or Python is missing.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    let (pinned, installed) = (workspace.root().join(PINNED), installed(workspace));
    let npm = || {
        if let Some(missing) = packages::missing_npm() {
            println!("test: MCP servers of npm are NOT tested: install {missing}");
            return Ok(());
        }
        NPM.iter().try_for_each(|(folder, to)| {
            packages::install_npm_copy(&pinned.join(folder), &installed.join(to))
        })
    };
    let pypi = || {
        if let Some(missing) = packages::missing_python() {
            println!("test: MCP servers of PyPI are NOT tested: install {missing}");
            return Ok(());
        }
        PYPI.iter().try_for_each(|name| {
            let requirements = pinned.join("pypi").join(format!("{name}.txt"));
            packages::install_venv(&requirements, &installed.join(name)).map(drop)
        })
    };
    thread::scope(|scope| {
        let pypi = scope.spawn(pypi);
        npm()?;
        pypi.join()
            .map_err(|_| anyhow!("the installation of PyPI's servers panicked"))?
    })
}
