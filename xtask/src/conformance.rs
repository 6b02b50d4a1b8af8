//! Tests `toolhost serve`, and the client of MCP servers, with the conformance suite of MCP.

use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{child, mcp_clients, sources};

/// The suite's program, beneath the folder of the installed packages.
const SUITE: &str = "node_modules/@modelcontextprotocol/conformance/dist/index.js";

/// Where the run leaves the results of each check, beneath the workspace.
const RESULTS: &str = "target/conformance";

/// Runs the scenarios of both revisions. Needs the guests. Prints that they are not run if a program that
/// installs the suite is missing.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    let Some(installed) = mcp_clients::install(workspace)? else {
        println!(
            "test: the conformance of `toolhost serve` and of the client to MCP is NOT tested"
        );
        return Ok(());
    };
    let program = workspace.built("toolhost-tests", "helper")?;
    let mut conformance = sources::in_own_cache(Command::new(program), workspace);
    conformance
        .arg("conformance")
        .arg(workspace.built("toolhost-cli", "toolhost")?)
        .arg(installed.join("node"))
        .arg(installed.join(SUITE))
        .arg(workspace.root().join(RESULTS));
    child::run(&mut conformance)
}
