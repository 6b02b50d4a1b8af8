//! Tests, lints, benchmarks and the soak run.

use std::panic::resume_unwind;
use std::process::Command;
use std::thread;
use std::time::Instant;

use anyhow::Result;

use crate::api::{self, ApiRun};
use crate::package::{self, PackageRun};
use crate::workspace::Workspace;
use crate::{
    any_language, bfcl, child, clients, conformance, dist, instructions, mcp_clients, mcp_servers,
    nats, npm_tools, oauth, postgres, registry, sources,
};

/// Runs the tests with cargo-nextest, or with cargo if it is not installed. Without arguments it also runs
/// the tests of the kits, of the examples in other languages and of the clients, compares the counts of
/// instructions, and runs the doctests, which cargo-nextest does not run.
pub(crate) fn test(workspace: &Workspace, args: &[String]) -> Result<()> {
    // The kits first, so that the last line is the number of the host's tests.
    if args.is_empty() {
        // Compilers of guests use one core, and servers and downloads wait.
        thread::scope(|scope| {
            let beside = scope.spawn(|| beside_the_kits(workspace));
            timed("the kits", || sources::test(workspace))?;
            timed("other languages", || any_language::test(workspace))?;
            beside.join().unwrap_or_else(|panic| resume_unwind(panic))
        })?;
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
    let mut nextest = cargo_with_guests(workspace);
    nextest.args(["nextest", "run", "--workspace"]);
    if args.is_empty() {
        // A quarter of the time, a test waits.
        let cores = thread::available_parallelism().map_or(1, usize::from);
        nextest.args(["--test-threads", &(cores + cores.div_ceil(2)).to_string()]);
    }
    child::run(nextest.args(args))
}

/// Tests what needs no compiler of guests.
fn beside_the_kits(workspace: &Workspace) -> Result<()> {
    timed("installs", || install(workspace))?;
    timed("the clients", || clients::test(workspace))?;
    timed("MCP clients", || mcp_clients::test(workspace))?;
    timed("conformance", || conformance::test(workspace))?;
    timed("packages of a release", || dist::test(workspace))?;
    timed("instructions", || instructions::run(workspace, &[]))?;
    timed("public-api", || {
        child::run(api::cargo(workspace).args(["test", "--quiet"]))
    })
}

/// Installs what others wrote and the tests use.
fn install(workspace: &Workspace) -> Result<()> {
    mcp_servers::install(workspace)?;
    oauth::install(workspace)?;
    npm_tools::install(workspace)?;
    postgres::install(workspace)?;
    registry::install(workspace)?;
    nats::install(workspace)
}

/// Runs a part of the tests, and prints how long it took.
fn timed(part: &str, test: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    test()?;
    println!("test: {part}: {} s", start.elapsed().as_secs());
    Ok(())
}

/// Checks the format of all crates, runs clippy on the workspace, the SDK and `public-api`, checks the documentation, the
/// public API and the packages of the published crates.
pub(crate) fn lint(workspace: &Workspace) -> Result<()> {
    let root = workspace.root();
    for dir in [
        root.to_path_buf(),
        workspace.examples(),
        root.join("tests/guests"),
        root.join("host/toolhost-mcp-client/tests/rmcp"),
        workspace.fuzz(),
        workspace.sdk("rust"),
        root.join("xtask/public-api"),
    ] {
        child::run(child::cargo(&dir).args(["fmt", "--all", "--check"]))?;
    }
    // Without the patched crate beneath it.
    let shell = workspace.examples().join("rust/bash");
    child::run(child::cargo(&shell).args(["fmt", "--check"]))?;
    let clippy = [
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "-D",
        "warnings",
    ];
    child::run(child::cargo(root).args(clippy))?;
    for folder in ["", "macros"] {
        let mut sdk = child::guest_cargo(&workspace.sdk("rust").join(folder));
        sdk.env("CARGO_TARGET_DIR", root.join("target/guests-build/sdk"));
        child::run(sdk.args(clippy))?;
    }
    child::run(api::cargo(workspace).args(clippy))?;
    api::run(workspace, ApiRun::Check)?;
    package::run(workspace, PackageRun::Contents)
}

/// Runs the benchmarks in the release profile.
pub(crate) fn bench(workspace: &Workspace, args: &[String]) -> Result<()> {
    let bench = [
        "run",
        "--release",
        "--package",
        "toolhost-bench",
        "--",
        "--bench",
    ];
    let mut cargo = cargo_with_guests(workspace);
    if args.iter().any(|arg| arg == "search") {
        cargo.env("TOOLHOST_BFCL", bfcl::installed(workspace)?);
    }
    child::run(cargo.args(bench).args(args))
}

/// Clients of the MCP server that leave their sessions, and as many that leave their calls.
const SOAK_CLIENTS: u32 = 10_000;

/// Calls tools of every kind for some minutes, then has clients abandon the MCP server.
pub(crate) fn soak(workspace: &Workspace, minutes: u32) -> Result<()> {
    let mut soak = helper(workspace, "soak")?;
    let seconds = u64::from(minutes).saturating_mul(60);
    child::run(soak.arg(seconds.to_string()))?;
    let mut mcp = helper(workspace, "mcp-soak")?;
    child::run(mcp.arg(SOAK_CLIENTS.to_string()))
}

/// Measures the base tools.
pub(crate) fn base_tools(workspace: &Workspace, args: &[String]) -> Result<()> {
    let mut base_tools = helper(workspace, "base-tools")?;
    child::run(base_tools.args(args))
}

/// Returns a program of the tests.
fn helper(workspace: &Workspace, program: &str) -> Result<Command> {
    let mut helper = Command::new(workspace.built("toolhost-tests", "helper")?);
    helper.arg(program);
    Ok(helper)
}

/// Returns a cargo with the folders of the guests in its environment, for the tests.
fn cargo_with_guests(workspace: &Workspace) -> Command {
    let mut cargo = child::cargo(workspace.root());
    cargo
        .env("TOOLHOST_GUESTS", workspace.guests())
        .env("TOOLHOST_EXAMPLES", workspace.examples())
        .env("TOOLHOST_MCP_CLIENTS", mcp_clients::installed(workspace))
        .env("TOOLHOST_MCP_SERVERS", mcp_servers::installed(workspace))
        .env("TOOLHOST_OAUTH", oauth::installed(workspace))
        .env("TOOLHOST_REGISTRY", registry::installed(workspace))
        .env("TOOLHOST_NATS", nats::installed(workspace))
        .env("TOOLHOST_NPM_TOOLS", npm_tools::installed(workspace));
    cargo
}
