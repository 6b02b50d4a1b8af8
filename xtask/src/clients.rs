//! Tests the clients of `toolhost rpc` with the built binary.

use std::process::Command;

use anyhow::{Context as _, Result};

use crate::workspace::Workspace;
use crate::{child, packages, sources};

/// Runs the tests of the clients. Prints which are not run because a language is not installed.
pub(crate) fn test(workspace: &Workspace) -> Result<()> {
    test_one("typescript", || test_typescript(workspace))?;
    test_one("python", || test_python(workspace))
}

fn test_one(language: &str, test: impl FnOnce() -> Result<()>) -> Result<()> {
    if let Some(missing) = sources::missing(language) {
        println!("test: the client for {language} is NOT tested: install {missing}");
        return Ok(());
    }
    test().with_context(|| format!("the client for {language}"))
}

fn test_typescript(workspace: &Workspace) -> Result<()> {
    let client = workspace.root().join("clients/typescript");
    packages::install_npm(&client)?;
    let mut node = sources::in_own_cache(Command::new("node"), workspace);
    // Named one by one: releases of Node differ in what they do with a folder.
    node.args([
        "--test",
        "test/client.test.mjs",
        "test/line.test.mjs",
        "test/page.test.mjs",
    ])
    .current_dir(&client)
    .env("TOOLHOST", workspace.built("toolhost-cli", "toolhost")?);
    child::run(&mut node)
}

fn test_python(workspace: &Workspace) -> Result<()> {
    let mut tests = sources::in_own_cache(Command::new("python3"), workspace);
    tests
        .args(["-m", "unittest", "discover", "-s", "test"])
        .current_dir(workspace.root().join("clients/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("TOOLHOST", workspace.built("toolhost-cli", "toolhost")?);
    child::run(&mut tests)
}
