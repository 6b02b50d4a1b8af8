//! A NATS server in a process of its own, as `cargo xtask test` installs it.

use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub(super) struct NatsServer {
    program: PathBuf,
    port: u16,
    storage: TempDir,
    process: Option<Child>,
}

impl NatsServer {
    /// None, and a line that says so, if the server is not installed.
    #[expect(
        clippy::disallowed_methods,
        clippy::print_stderr,
        reason = "`cargo xtask test` says where it is; who runs the tests reads what was not tested"
    )]
    pub(super) fn start() -> Option<Self> {
        let installed = std::env::var_os("TOOLHOST_NATS").map_or_else(
            || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/nats"),
            PathBuf::from,
        );
        let program = installed.join("bin/nats-server");
        if !program.exists() {
            eprintln!("NOT TESTED: {} is not installed", program.display());
            return None;
        }
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut server = Self {
            program,
            port,
            storage: tempfile::tempdir().unwrap(),
            process: None,
        };
        server.start_again();
        Some(server)
    }

    pub(super) fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Starts it on what it has stored, and waits until it answers.
    pub(super) fn start_again(&mut self) {
        let process = Command::new(&self.program)
            .args([
                "--jetstream",
                "--addr",
                "127.0.0.1",
                "--port",
                &self.port.to_string(),
            ])
            .arg("--store_dir")
            .arg(self.storage.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(process);
        let began = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "the server does not answer"
            );
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it with SIGKILL.
    pub(super) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
