//! What is run on the finished guests: demo, tests, lints, benchmarks, soak.

use std::process::Command;

use anyhow::Result;

use crate::workspace::Workspace;
use crate::{child, sources};

/// Runs every test, those of the kits too where all are meant. cargo-nextest leaves out the examples in
/// the docs, so cargo runs those.
pub(crate) fn test(workspace: &Workspace, args: &[String]) -> Result<()> {
    // First, so that the last thing printed is the count of all the others.
    if args.is_empty() {
        sources::test(workspace)?;
    }
    let nextest = child::works(child::cargo(workspace.root()).args(["nextest", "--version"]));
    if !nextest {
        return child::run(
            cargo_with_guests(workspace)
                .args(["test", "--workspace"])
                .args(args),
        );
    }
    if args.is_empty() {
        child::run(cargo_with_guests(workspace).args(["test", "--doc", "--workspace", "--quiet"]))?;
    }
    child::run(
        cargo_with_guests(workspace)
            .args(["nextest", "run", "--workspace"])
            .args(args),
    )
}

/// Checks the format of all crates, guests too, runs clippy on the workspace and the SDK, and
/// compiles what the fuzz targets take in.
pub(crate) fn lint(workspace: &Workspace) -> Result<()> {
    let root = workspace.root();
    for dir in [
        root.to_path_buf(),
        workspace.examples(),
        root.join("tests/guests"),
        workspace.fuzz(),
        workspace.sdk("rust"),
    ] {
        child::run(child::cargo(&dir).args(["fmt", "--all", "--check"]))?;
    }
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    child::run(child::cargo(root).args(clippy))?;
    let mut sdk = child::guest_cargo(&workspace.sdk("rust"));
    sdk.env("CARGO_TARGET_DIR", root.join("target/guests-build/sdk"));
    child::run(sdk.args(clippy))?;
    // The fuzz targets take files of the crates in: those that need no engine are compiled.
    let mut pure = child::cargo(&workspace.fuzz());
    pure.env("CARGO_TARGET_DIR", root.join("target/fuzz/check"));
    child::run(pure.args(["check", "--package", "toolhost-pure", "--tests"]))
}

/// Runs the benchmarks, in the profile that users ship.
pub(crate) fn bench(workspace: &Workspace, args: &[String]) -> Result<()> {
    let bench = [
        "run",
        "--release",
        "--package",
        "toolhost-bench",
        "--",
        "--bench",
    ];
    child::run(cargo_with_guests(workspace).args(bench).args(args))
}

/// Calls tools of every kind for so many minutes.
pub(crate) fn soak(workspace: &Workspace, minutes: u32) -> Result<()> {
    let mut soak = Command::new(workspace.built("toolhost-tests", "soak")?);
    let seconds = u64::from(minutes).saturating_mul(60);
    child::run(soak.arg(seconds.to_string()))
}

/// Measures the base tools.
pub(crate) fn base_tools(workspace: &Workspace, args: &[String]) -> Result<()> {
    let mut base_tools = Command::new(workspace.built("toolhost-tests", "base_tools")?);
    child::run(base_tools.args(args))
}

/// Returns a cargo whose tests find the guests through the environment.
fn cargo_with_guests(workspace: &Workspace) -> Command {
    let mut cargo = child::cargo(workspace.root());
    cargo
        .env("TOOLHOST_GUESTS", workspace.guests())
        .env("TOOLHOST_EXAMPLES", workspace.examples());
    cargo
}
