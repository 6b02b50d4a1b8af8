//! The soak test of the MCP server: `helper mcp-soak COUNT [--without-drift]`.
//!
//! Over HTTP, opens COUNT sessions and abandons them, then drops COUNT connections in the middle of a call.
//! Prints statistics; fails if a session or a call is left, or if memory, files or threads have grown since
//! the warm-up.
#![expect(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program of the tests: what cannot go on fails loudly"
)]

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use toolhost::{Host, LiveBundle, Policy};
use toolhost_mcp::{HttpConfig, HttpServer, McpConfig, McpServer, ServedAgent};
use toolhost_tests::mcp_client::{McpClient, Revision};
use toolhost_tests::own_sandbox;
use toolhost_tests::process_usage::ProcessUsage;
use toolhost_tests::test_host::{TestHost, TestTool};

/// Clients at once, those included that have left and whose sessions are still open.
const AT_ONCE: usize = 512;

/// Part of the clients that come before the first measurement.
const WARM_UP: usize = 4;

/// Time without a request after which a session ends.
const SESSION_IDLE: Duration = Duration::from_secs(1);

/// Time after which the session of a client that has left has ended.
const SESSION_GONE: Duration = Duration::from_millis(1500);

/// Sessions that may be open at least: those of a second are not yet freed.
const SESSIONS_MIN: usize = 10_000;

/// Longest wait for sessions and calls to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Largest growth of memory after the warm-up, in percent.
const GROWTH_PERCENT: u64 = 5;

const TOOLS: &[TestTool<'_>] = &[
    ("echo", "echo", &["say"]),
    ("spin", "spin_forever", &["run"]),
    ("sleep", "sleep_forever", &["run"]),
    ("writer", "write_bytes", &["run"]),
];

/// What a client does.
#[derive(Debug, Clone, Copy)]
enum Doing {
    /// Opens a session, makes a call now and then, and leaves.
    Session,
    /// Begins a call and leaves, after so many milliseconds at most.
    Call,
}

async fn client(doing: Doing, address: SocketAddr, number: u64) {
    match doing {
        Doing::Session => {
            let mut client = McpClient::connect(address, Revision::Session).await;
            if number.is_multiple_of(10) {
                let own = json!({"number": number});
                let result = client.call("echo__say", &own).await;
                assert_eq!(result.get("structuredContent"), Some(&own), "{result}");
            }
        }
        Doing::Call => {
            let revision = match number % 2 {
                0 => Revision::Session,
                _ => Revision::Stateless,
            };
            let mut client = McpClient::connect(address, revision).await;
            let (tool, args) = match number % 4 {
                0 => ("spin__run", json!({})),
                1 => ("sleep__run", json!({})),
                2 => ("writer__run", json!({"bytes": 1 << 20, "chunk": 1})),
                _ => ("echo__say", json!({"number": number})),
            };
            client.send(&client.call_request(tool, &args)).await;
            tokio::time::sleep(Duration::from_millis(number % 8)).await;
        }
    }
}

/// Lets clients come, [`AT_ONCE`] at a time.
async fn clients(doing: Doing, address: SocketAddr, numbers: std::ops::Range<usize>) {
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut running = JoinSet::new();
    for number in numbers {
        let permit = Arc::clone(&permits).acquire_owned().await;
        running.spawn(async move {
            client(doing, address, number as u64).await;
            tokio::time::sleep(SESSION_GONE).await;
            drop(permit);
        });
        while let Some(ended) = running.try_join_next() {
            ended.expect("no client panics");
        }
    }
    running.join_all().await;
}

/// Waits until no session is open and no call runs; then returns what the process uses and what it counted.
async fn at_rest(address: SocketAddr, drift: bool) -> (ProcessUsage, String) {
    let started = Instant::now();
    loop {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut client = McpClient::connect(address, Revision::Stateless).await;
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let metrics = client.exchange(&request).await.body;
        let is_none = |name: &str| metrics.contains(&format!("\n{name} 0\n"));
        let rests = is_none("toolhost_sessions") && is_none("toolhost_calls_in_flight");
        if rests || started.elapsed() > PATIENCE {
            drop(client);
            if drift {
                // Idle threads of a sandbox end after a second.
                tokio::time::sleep(Duration::from_secs(2)).await;
            }
            return (ProcessUsage::now(), metrics);
        }
    }
}

/// Lets `count` clients come, and prints and judges what they leave behind.
async fn soak(doing: Doing, address: SocketAddr, count: usize, drift: bool) -> Vec<String> {
    let started = Instant::now();
    clients(doing, address, 0..count / WARM_UP).await;
    let (before, _) = at_rest(address, drift).await;
    clients(doing, address, count / WARM_UP..count).await;
    let busy = ProcessUsage::now();
    let (mut after, mut metrics) = at_rest(address, drift).await;
    while drift && after.threads > before.threads && started.elapsed() < PATIENCE {
        (after, metrics) = at_rest(address, drift).await;
    }
    let took = started.elapsed().as_secs();
    println!("mcp soak: {count} × {doing:?} in {took} s");
    println!("             warmed up   busy   at the end");
    let rows = [
        (
            "RSS, MiB",
            before.rss >> 20,
            busy.rss >> 20,
            after.rss >> 20,
        ),
        (
            "open files",
            before.fds as u64,
            busy.fds as u64,
            after.fds as u64,
        ),
        (
            "threads",
            before.threads as u64,
            busy.threads as u64,
            after.threads as u64,
        ),
    ];
    for (name, before, busy, after) in rows {
        println!("  {name:<11}{before:>9} {busy:>6} {after:>12}");
    }
    let counted = metrics.lines().filter(|line| {
        ["calls_total", "sessions", "http_"].iter().any(|name| {
            line.strip_prefix("toolhost_")
                .is_some_and(|line| line.starts_with(name))
        })
    });
    counted.for_each(|line| println!("  {line}"));
    let mut faults = Vec::new();
    for name in [
        "toolhost_sessions",
        "toolhost_calls_in_flight",
        "toolhost_memory_bytes",
    ] {
        if !metrics.contains(&format!("\n{name} 0\n")) {
            faults.push(format!("{doing:?}: {name} is not 0"));
        }
    }
    if drift && after.rss > before.rss + before.rss * GROWTH_PERCENT / 100 {
        faults.push(format!(
            "{doing:?}: memory grew by more than {GROWTH_PERCENT} %"
        ));
    }
    if drift && (after.fds > before.fds || after.threads > before.threads) {
        faults.push(format!("{doing:?}: there are more files or threads"));
    }
    faults
}

#[tokio::main]
pub(crate) async fn run(arguments: &[String]) -> ExitCode {
    let count = arguments.first().and_then(|count| count.parse().ok());
    let count: usize = count.expect("mcp_soak COUNT [--without-drift]");
    let drift = !arguments.iter().any(|word| word == "--without-drift");

    let policy = "defaults: {limits: {deadlineMs: 60000}}";
    let host = Host::builder()
        .sandbox(own_sandbox(|_| ()))
        .policy(Policy::parse(policy, "policy.yaml").expect("it parses"))
        .build()
        .expect("the host starts");
    let test_host = TestHost::with_tools_in(host, TOOLS).await;
    let bundle = LiveBundle::new(test_host.loaded.clone());
    let served = ServedAgent::new(bundle).only_workdir("default", test_host.work.workdir.clone());
    let server = McpServer::new(served, McpConfig::default());
    let mut config = HttpConfig::default();
    config.session_idle = SESSION_IDLE;
    config.max_sessions = count.max(SESSIONS_MIN);
    config.max_instance_sessions = config.max_sessions;
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let http = HttpServer::bind(&server, loopback, config).await;
    let http = http.expect("it listens");
    let address = http.address();
    let serving = tokio::spawn(http.run());
    let mut faults = soak(Doing::Session, address, count, drift).await;
    faults.extend(soak(Doing::Call, address, count, drift).await);
    serving.abort();
    for fault in &faults {
        eprintln!("mcp soak: {fault}");
    }
    if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
