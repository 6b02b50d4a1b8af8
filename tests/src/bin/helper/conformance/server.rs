//! The server under test, as a process.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::Result;
use super::fixture::Fixture;

/// Time until the server listens: it compiles the component first.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A shell that kills the server when its stdin ends, so that no server outlives this program, however it
/// ends.
const KILLED_AT_EOF: &str = r#""$@" </dev/null & exec 2>/dev/null; cat >/dev/null; kill -9 $!"#;

/// Ends when this is dropped.
pub(crate) struct Server {
    shell: Child,
    address: SocketAddr,
}

impl Server {
    /// Starts `toolhost serve` on a free port of loopback.
    pub(crate) fn start(toolhost: &Path, fixture: &Fixture) -> Result<Self> {
        let mut shell = Command::new("sh")
            .args(["-c", KILLED_AT_EOF, "sh"])
            .arg(toolhost)
            .arg("serve")
            .arg(fixture.bundle())
            .arg("--workdir")
            .arg(fixture.workdir())
            .args(["--serve-workdir", "--watch", "--http", "127.0.0.1:0"])
            .arg("--state-root")
            .arg(fixture.other("state"))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        let listening = match shell.stderr.take() {
            Some(stderr) => listening(stderr, &fixture.other("serve.log")),
            None => Err("the server has no stderr".into()),
        };
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut server = Self {
            shell,
            address: unknown,
        };
        server.address = listening?;
        Ok(server)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.shell.stdin.take());
        let _is_ended = self.shell.wait().is_ok();
    }
}

/// Waits until the server prints its address. What it prints is in a file.
fn listening(stderr: ChildStderr, log: &Path) -> Result<SocketAddr> {
    let mut file = std::fs::File::create(log)?;
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr)
            .lines()
            .map_while(std::io::Result::ok)
        {
            let _is_written = writeln!(file, "{line}").is_ok();
            let address = line
                .split_once("http://")
                .and_then(|(_, rest)| rest.split_once('/'));
            if let Some(address) = address.and_then(|(address, _)| address.parse().ok()) {
                let _is_awaited = sender.send(address).is_ok();
            }
        }
    });
    let address = receiver.recv_timeout(START_TIMEOUT);
    address.map_err(|_| format!("the server does not listen: see {}", log.display()).into())
}
