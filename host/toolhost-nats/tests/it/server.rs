//! A NATS server on loopback, and what the tests send over it.

use std::fs;
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tempfile::TempDir;
use tokio::time::timeout;
use toolhost::fleet::{
    Carrier as _, CarrierError, Claim, Claimed, Deliveries, Delivery, Destination, Route,
};
use toolhost_contract::WorkerCallId;
use toolhost_nats::{NatsCarrier, NatsConfig};

/// Longest time that a test waits for what must come.
pub(crate) const SOON: Duration = Duration::from_secs(8);

/// Time in which what must not come would have come.
pub(crate) const WHILE: Duration = Duration::from_millis(400);

pub(crate) struct NatsServer {
    child: Option<Child>,
    port: u16,
    folder: TempDir,
    program: PathBuf,
}

impl NatsServer {
    /// Starts a server. None, with a line that reports it, where none is installed.
    pub(crate) fn start() -> Option<Self> {
        Self::start_with("")
    }

    /// Starts a server with further lines of configuration.
    #[expect(
        clippy::disallowed_methods,
        clippy::print_stderr,
        reason = "it is where `cargo xtask test` has installed it"
    )]
    pub(crate) fn start_with(lines: &str) -> Option<Self> {
        let target = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/nats");
        let installed = std::env::var_os("TOOLHOST_NATS");
        let installed = installed.map_or_else(|| PathBuf::from(target), PathBuf::from);
        let program = installed.join("bin/nats-server");
        if !program.exists() {
            let installed = installed.display();
            eprintln!("NOT tested: no NATS server is in {installed}: run `cargo xtask test`");
            return None;
        }
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let lines = format!(
            "listen: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {data:?} }}\nlog_file: {:?}\n{lines}\n",
            folder.path().join("log"),
        );
        fs::write(folder.path().join("server.conf"), lines).unwrap();
        let mut server = Self {
            child: None,
            port,
            folder,
            program,
        };
        server.run();
        Some(server)
    }

    /// Starts it, after it was killed.
    pub(crate) fn run(&mut self) {
        let config = self.folder.path().join("server.conf");
        let child = Command::new(&self.program)
            .arg("-c")
            .arg(config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.unwrap());
        let start = Instant::now();
        let answers = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
            stream.set_read_timeout(Some(SOON)).ok()?;
            stream.read_exact(&mut [0; 4]).ok()
        };
        while answers().is_none() {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            assert!(start.elapsed() < SOON, "the server does not start: {log}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Removes what it stored.
    pub(crate) fn forget(&self) {
        fs::remove_dir_all(self.folder.path().join("data")).unwrap();
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn config(&self) -> NatsConfig {
        NatsConfig::new(&self.url())
    }

    pub(crate) async fn carrier(&self) -> NatsCarrier {
        NatsCarrier::connect(self.config()).await.unwrap()
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Returns an id with this number in it.
pub(crate) fn id(number: usize) -> WorkerCallId {
    let letters = b"abcdefghijklmnopqrstuvwxyz234567";
    let mut text = vec![b'a'; 32];
    for (index, letter) in text.iter_mut().rev().take(12).enumerate() {
        *letter = letters[(number >> (5 * index)) & 31];
    }
    WorkerCallId::parse(std::str::from_utf8(&text).unwrap()).unwrap()
}

pub(crate) fn route(terms: u8, to: Destination) -> Route {
    Route {
        terms: format!("{terms:02x}").repeat(32),
        to,
    }
}

pub(crate) fn any() -> Route {
    route(1, Destination::Any)
}

pub(crate) fn text(number: usize) -> Bytes {
    Bytes::from(format!("call {number}"))
}

pub(crate) async fn send(carrier: &NatsCarrier, route: &Route, number: usize) {
    send_call(carrier, route, number, 1, text(number))
        .await
        .unwrap();
}

pub(crate) async fn send_call(
    carrier: &NatsCarrier,
    route: &Route,
    number: usize,
    attempt: u32,
    call: Bytes,
) -> Result<String, CarrierError> {
    carrier.send_call(route, &id(number), attempt, call).await
}

pub(crate) async fn send_report(carrier: &NatsCarrier, host: &str, number: usize, report: Bytes) {
    let sent = carrier.send_report(host, &id(number), report).await;
    sent.unwrap();
}

pub(crate) async fn calls(carrier: &NatsCarrier, routes: &[Route]) -> Box<dyn Deliveries> {
    carrier.calls(routes, 16).await.unwrap()
}

pub(crate) async fn next(from: &mut Box<dyn Deliveries>) -> Delivery {
    timeout(SOON, from.next()).await.unwrap().unwrap()
}

/// Checks that nothing arrives.
pub(crate) async fn silent(from: &mut Box<dyn Deliveries>) {
    if let Ok(delivery) = timeout(WHILE, from.next()).await {
        panic!("{delivery:?} was delivered");
    }
}

/// Returns the claim that there was before.
pub(crate) fn before(claimed: Claimed) -> Option<Claim> {
    match claimed {
        Claimed::Now(_) => None,
        Claimed::Before(claim) => Some(claim),
    }
}
