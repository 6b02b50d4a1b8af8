//! Measures the same call through the library and through each server: latency and calls per second.
//!
//! All clients are in this process. The servers on sockets are in this process too; those on standard
//! input and output are child processes: this program with [`SERVE_MCP`] or [`SERVE_RPC`].

mod echo;
mod http;
mod library;
mod samples;
mod servers;
mod stream;

use std::path::Path;
use std::time::Duration;

use tokio::runtime::Runtime;

use http::{HttpCalls, Protocol};
use library::LibraryCalls;
use samples::{Samples, Summary};
use servers::Servers;

pub(crate) use servers::{Child, serve_mcp, serve_rpc};
pub(crate) use stream::StreamCalls;

/// Arguments of this program that make it a server on standard input and output.
pub(crate) const SERVE_MCP: &str = "serve-mcp";
pub(crate) const SERVE_RPC: &str = "serve-rpc";

/// Concurrent calls.
const IN_FLIGHT: [usize; 3] = [1, 16, 64];

/// Time of one measurement in a round.
const ROUND: Duration = Duration::from_millis(400);

/// Rounds. The front ends alternate, so that noise affects all of them.
const ROUNDS: usize = 7;

/// A way to call the tool.
enum FrontEnd {
    Library(LibraryCalls),
    Stream(StreamCalls),
    Http(HttpCalls),
}

impl FrontEnd {
    /// Calls the tool for some time, with so many calls at once.
    async fn run(&mut self, in_flight: usize, time: Duration) -> Samples {
        match self {
            Self::Library(calls) => calls.run(in_flight, time).await,
            Self::Stream(calls) => calls.run(in_flight, time).await,
            Self::Http(calls) => calls.run(in_flight, time).await,
        }
    }
}

/// Connects to each front end. The first is what the others are compared with.
async fn front_ends(servers: &Servers) -> Vec<(&'static str, FrontEnd)> {
    let http = |protocol| FrontEnd::Http(HttpCalls::new(servers.http, protocol));
    let mut mcp_stdio = Child::start(SERVE_MCP);
    let mut rpc_stdio = Child::start(SERVE_RPC);
    let (mcp_in_memory, rpc_in_memory) = (servers.mcp_in_memory(), servers.rpc_in_memory());
    let rpc_socket = servers.connect().await;
    vec![
        (
            "library: turn, step, call",
            FrontEnd::Library(LibraryCalls::with_turns(servers)),
        ),
        (
            "library: call in an open step",
            FrontEnd::Library(LibraryCalls::in_a_step(servers).await),
        ),
        (
            "JSON-RPC, pipe in memory",
            FrontEnd::Stream(StreamCalls::rpc(rpc_in_memory)),
        ),
        (
            "JSON-RPC, Unix socket",
            FrontEnd::Stream(StreamCalls::rpc(rpc_socket)),
        ),
        (
            "JSON-RPC, stdio of a process",
            FrontEnd::Stream(StreamCalls::rpc(rpc_stdio.streams())),
        ),
        (
            "MCP, pipe in memory",
            FrontEnd::Stream(StreamCalls::mcp(mcp_in_memory).await),
        ),
        (
            "MCP, stdio of a process",
            FrontEnd::Stream(StreamCalls::mcp(mcp_stdio.streams()).await),
        ),
        ("MCP, HTTP, 2026-07-28", http(Protocol::Stateless)),
        ("MCP, HTTP, session of 2025-11-25", http(Protocol::Session)),
        ("(HTTP alone: GET /healthz)", http(Protocol::Health)),
    ]
}

/// Measures all front ends and prints a table.
pub(crate) fn print(runtime: &Runtime, work: &Path) {
    let summaries = runtime.block_on(async {
        let servers = Servers::start(work).await;
        let mut front_ends = front_ends(&servers).await;
        let mut measured: Vec<[Vec<Summary>; 3]> = Vec::new();
        measured.resize_with(front_ends.len(), Default::default);
        for _ in 0..=ROUNDS {
            for ((_, front_end), measured) in front_ends.iter_mut().zip(&mut measured) {
                for (in_flight, rounds) in IN_FLIGHT.into_iter().zip(measured) {
                    rounds.push(front_end.run(in_flight, ROUND).await.summary());
                }
            }
        }
        let names = front_ends.iter().map(|(name, _)| *name);
        let summaries: Vec<_> = names.zip(measured).collect();
        summaries
    });
    println!("front ends: p50 and p99 in µs, calls/s, and calls/s of the library per calls/s");
    let mut base = None;
    for (name, measured) in summaries {
        // The first round warms up.
        let measured = measured.map(|rounds| Summary::median(&rounds[1..]));
        let base = *base.get_or_insert(measured);
        print!("  {name:<34}");
        for ((in_flight, one), base) in IN_FLIGHT.into_iter().zip(measured).zip(base) {
            let ratio = base.per_second / one.per_second;
            print!(
                " | {in_flight:>2}: {:>6.0} {:>6.0} {:>6.0}/s {ratio:>5.2} ×",
                one.p50, one.p99, one.per_second
            );
        }
        println!();
    }
}
