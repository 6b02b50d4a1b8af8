//! Installs the MCP servers of others, old and new, that the tests of `toolhost-mcp-client` start.

use std::path::PathBuf;
use std::thread;

use anyhow::{Result, anyhow};

use crate::workspace::Workspace;
use crate::{child, packages};

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "host/toolhost-mcp-client/tests";
const INSTALLED: &str = "target/mcp-servers";

/// Folders with a lock file of npm, and where their packages are installed beneath [`INSTALLED`].
const NPM: [(&str, &str); 2] = [("npm", ""), ("npm-2025", "2025")];

/// Files of requirements in the folder `pypi`, each with a release of the Python SDK or of FastMCP.
const PYPI: [&str; 4] = ["mcp-1.2", "mcp-1.6", "mcp-1.9", "fastmcp-3.4"];

/// The workspace of servers of rmcp, and the target directory in which it is built beneath [`INSTALLED`].
const RMCP: &str = "rmcp";

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
    let rmcp = || {
        let mut cargo = child::guest_cargo(&pinned.join(RMCP));
        cargo.env("CARGO_TARGET_DIR", installed.join(RMCP));
        child::run(cargo.args(["build", "--quiet", "--locked"]))
    };
    thread::scope(|scope| {
        let (pypi, rmcp) = (scope.spawn(pypi), scope.spawn(rmcp));
        npm()?;
        rmcp.join()
            .map_err(|_| anyhow!("the build of rmcp's servers panicked"))??;
        pypi.join()
            .map_err(|_| anyhow!("the installation of PyPI's servers panicked"))?
    })
}
