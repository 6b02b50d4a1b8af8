//! Runs the conformance suite of MCP against `toolhost serve`, and against the client of
//! `toolhost-mcp-client`: `helper conformance TOOLHOST NODE SUITE OUT`.
//!
//! `TOOLHOST` is the built program, `NODE` a Node, `SUITE` the
//! `index.js` of the npm package `@modelcontextprotocol/conformance`, and `OUT` a folder that is made anew for
//! what the run leaves.
//!
//! The server serves `tests/fixtures/conformance` over HTTP. Both revisions are tested. The run fails if a
//! result differs from the list of expected failures of its revision, in either direction.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of the tests: it prints the results"
)]

mod expected;
mod fixture;
mod http_message;
mod proxy;
mod server;
mod suite;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use fixture::Fixture;
use proxy::Proxy;
use server::Server;
use suite::{Side, Suite};

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The revisions of the protocol whose requirements the server and the client have to meet.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];

pub(crate) fn run(arguments: &[String]) -> ExitCode {
    match ran_as_expected(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("conformance: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether all results are the expected ones.
fn ran_as_expected(arguments: &[String]) -> Result<bool> {
    let arguments: Vec<PathBuf> = arguments.iter().map(PathBuf::from).collect();
    let [toolhost, node, index, out] = arguments.as_slice() else {
        return Err("usage: helper conformance TOOLHOST NODE SUITE OUT".into());
    };
    let client = format!("{} conformance-client", std::env::current_exe()?.display());
    let fixture = Fixture::create(out)?;
    let server = Server::start(toolhost, &fixture)?;
    let proxy = Proxy::start(server.address(), fixture.clone())?;
    let suite = Suite { node, index, out };
    let mut all_expected = true;
    for revision in REVISIONS {
        all_expected &= suite.run(revision, &Side::Server(proxy.address()))?;
        all_expected &= suite.run(revision, &Side::Client(&client))?;
    }
    Ok(all_expected)
}
