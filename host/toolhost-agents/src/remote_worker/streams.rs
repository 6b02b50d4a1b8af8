//! The streams of a worker.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::time::Instant;
use toolhost_contract::IPC_LINE_BYTES_MAX;
use toolhost_runtime::lines::{Lines, is_logged};

use crate::WorkerProcess;

use super::connection::{WorkerConnection, WorkerEnd};
use super::inbound::Inbound;

/// Longest line of standard error that is logged, in bytes.
const LOG_LINE_BYTES_MAX: usize = 8 << 10;

/// Lines of standard error that are all logged. [`is_logged`] selects some of the later ones.
const LINES_LOGGED: u64 = 1000;

/// How long the output of a process is read after it has ended (another process may keep the stream
/// open), and how long a process may run after it has closed a stream.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(500);

pub(super) async fn log(
    stderr: Box<dyn AsyncRead + Send + Unpin>,
    connection: Arc<WorkerConnection>,
) {
    let mut lines = Lines::new(stderr, LOG_LINE_BYTES_MAX);
    let mut count = 0;
    while let Some(line) = lines.next().await {
        count += 1;
        if !is_logged(count, LINES_LOGGED) {
            continue;
        }
        tracing::info!(
            target: "toolhost::agent",
            instance = %connection.instance(), pid = connection.pid, count,
            "{}", line.excerpt(LOG_LINE_BYTES_MAX)
        );
    }
}

/// Reads messages until the worker has ended.
pub(super) async fn read(
    stdout: Box<dyn AsyncRead + Send + Unpin>,
    mut process: Box<dyn WorkerProcess>,
    connection: Arc<WorkerConnection>,
) {
    let mut lines = Lines::new(stdout, IPC_LINE_BYTES_MAX);
    let mut inbound = Inbound::new(Arc::clone(&connection));
    let (mut has_ended, mut status) = (false, None);
    let mut until: Option<Instant> = None;
    loop {
        let drained = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => pending().await,
            }
        };
        tokio::select! {
            line = lines.next() => match line {
                Some(line) => inbound.receive(&line),
                None => break,
            },
            () = inbound.answered() => {}
            end = process.ended(), if !has_ended => {
                (has_ended, status) = (true, end);
                until = Some(Instant::now() + DRAIN_TIMEOUT);
            }
            () = connection.out.closed(), if until.is_none() => {
                until = Some(Instant::now() + DRAIN_TIMEOUT);
            }
            () = drained => break,
        }
    }
    if !has_ended {
        let end = tokio::time::timeout(DRAIN_TIMEOUT, process.ended()).await;
        status = end.ok().flatten();
    }
    drop(process);
    connection.set_ended(status.map_or(WorkerEnd::Closed, WorkerEnd::Exited));
}
