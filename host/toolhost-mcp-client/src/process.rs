//! The process of a server: started in a group of its own, which is killed with it.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinSet;
use toolhost::ResourceName;
use toolhost::agents::{ProcessSetup, WorkerProcess};
use toolhost_runtime::lines::{Lines, is_logged};

use crate::config::StdioServer;

/// Longest line of standard error that is logged, in bytes.
const LINE_MAX: usize = 8 << 10;

/// Lines of standard error that are all logged. [`is_logged`] selects some of the later ones.
const LINES_LOGGED: u64 = 1000;

/// How long the last lines of standard error of a process that ended are waited for.
const DRAIN: Duration = Duration::from_millis(200);

/// Kills a process group at the end of its standard input, which is when this process ends, however it
/// ends: a process that was killed cannot kill others.
const GUARDIAN: &str = "read -r _; kill -s KILL -- \"-$1\"";

/// The streams to a process.
pub(crate) struct Pipes {
    pub(crate) stdin: Box<dyn AsyncWrite + Send + Unpin>,
    pub(crate) stdout: Box<dyn AsyncRead + Send + Unpin>,
}

/// A process that runs [`GUARDIAN`]. It is killed before its standard input is closed, so that it kills
/// nothing: another group may have the id by then.
struct Guardian {
    _process: Box<dyn WorkerProcess>,
    _stdin: Box<dyn AsyncWrite + Send + Unpin>,
}

/// A process. Dropping it kills its group.
pub(crate) struct Process {
    // Dropped first.
    guardian: Option<Guardian>,
    process: Box<dyn WorkerProcess>,
    last_line: Arc<Mutex<String>>,
    logging: JoinSet<()>,
}

impl Process {
    /// Starts a process, and logs its standard error.
    pub(crate) fn start(server: &ResourceName, config: &StdioServer) -> io::Result<(Self, Pipes)> {
        let mut setup = ProcessSetup::new(&config.program);
        setup.args = config.args.iter().map(Into::into).collect();
        let env = config.env.iter();
        setup.env = env
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        setup.dir.clone_from(&config.dir);
        let streams = setup.spawn()?;
        let guardian = ProcessSetup::new("/bin/sh")
            .arg("-c")
            .arg(GUARDIAN)
            .arg("toolhost-guardian")
            .arg(streams.pid.to_string())
            .spawn();
        if let Err(error) = &guardian {
            tracing::warn!(
                target: "toolhost::mcp", %server, %error,
                "the server may outlive this process if it is killed: /bin/sh cannot be started"
            );
        }
        let last_line = Arc::<Mutex<String>>::default();
        let mut logging = JoinSet::new();
        logging.spawn(log(
            server.clone(),
            streams.pid,
            streams.stderr,
            Arc::clone(&last_line),
        ));
        let guardian = guardian.map(|streams| Guardian {
            _process: streams.process,
            _stdin: streams.stdin,
        });
        let process = Self {
            guardian: guardian.ok(),
            process: streams.process,
            last_line,
            logging,
        };
        let pipes = Pipes {
            stdin: streams.stdin,
            stdout: streams.stdout,
        };
        Ok((process, pipes))
    }

    /// Waits until the process has ended, and returns why. Cancel safe.
    pub(crate) async fn ended(&mut self) -> String {
        let status = self.process.ended().await;
        let _ = tokio::time::timeout(DRAIN, self.logging.join_next()).await;
        let how = match status {
            Some(status) => how(status),
            None => "its process ended".to_owned(),
        };
        let line = self
            .last_line
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        match line.as_str() {
            "" => how,
            line => format!("{how}; the last line of its standard error: {line}"),
        }
    }

    /// Waits until the process has ended, and kills its group if that takes too long.
    pub(crate) async fn end_within(mut self, time: Duration) {
        if tokio::time::timeout(time, self.process.ended())
            .await
            .is_err()
        {
            drop(self.guardian.take());
            self.process.kill();
            // It ends at once, and is reaped.
            let _ = tokio::time::timeout(time, self.process.ended()).await;
        }
    }
}

fn how(status: ExitStatus) -> String {
    format!("its process ended with {status}")
}

async fn log(
    server: ResourceName,
    pid: u32,
    stderr: Box<dyn AsyncRead + Send + Unpin>,
    last_line: Arc<Mutex<String>>,
) {
    let mut lines = Lines::new(stderr, LINE_MAX);
    let mut count = 0;
    while let Some(line) = lines.next().await {
        count += 1;
        let line = line.excerpt(LINE_MAX);
        if is_logged(count, LINES_LOGGED) {
            tracing::info!(target: "toolhost::mcp", %server, pid, count, "{line}");
        }
        if !line.trim().is_empty() {
            *last_line.lock().unwrap_or_else(PoisonError::into_inner) = line;
        }
    }
}
