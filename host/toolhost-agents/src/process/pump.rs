//! The streams of a process, and the process itself.

use std::future::pending;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::time::Instant;
use toolhost_contract::IPC_LINE_BYTES_MAX;

use super::super::lines::{Line, Lines, is_logged, shown};
use super::inbound::Inbound;
use super::link::{End, Link};

/// Longest line of standard error that is logged, in bytes.
const LOG_LINE_BYTES_MAX: usize = 8 << 10;

/// Lines of standard error that are all logged; of further ones ever fewer are.
const LINES_LOGGED: u64 = 1000;

/// How long what a process wrote last is read after it has ended, and how long it may take to end
/// after it has closed its output: another process may hold the stream open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A process. When it has ended, or is dropped, all that is left in its process group is killed.
#[derive(Debug)]
pub(super) struct Body {
    child: Child,
    group: Option<Pid>,
}

impl Body {
    pub(super) fn new(child: Child) -> Self {
        let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
        let group = pid.and_then(Pid::from_raw);
        Self { child, group }
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// Waits for its end. Nothing is lost where the future is dropped.
    async fn ended(&mut self) -> Option<ExitStatus> {
        let status = self.child.wait().await.ok();
        self.kill_group();
        status
    }

    /// Kills what is left: once, and at once, so that the id cannot have become another's.
    fn kill_group(&mut self) {
        if let Some(group) = self.group.take() {
            // Nothing may be left of it.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// Writes lines until the process no longer reads.
pub(super) async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<String>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(line.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Passes on what the process writes to its standard error.
pub(super) async fn log(stderr: ChildStderr, link: Arc<Link>) {
    let mut lines = Lines::new(stderr, LOG_LINE_BYTES_MAX);
    let mut count = 0;
    while let Some(line) = lines.next().await {
        count += 1;
        if !is_logged(count, LINES_LOGGED) {
            continue;
        }
        let (Line::Whole(line) | Line::TooLong(line)) = line;
        tracing::info!(
            target: "toolhost::agent", instance = %link.instance(), pid = link.pid(), count,
            "{}", shown(&line, LOG_LINE_BYTES_MAX)
        );
    }
}

/// Reads messages until the process has ended.
pub(super) async fn read(stdout: ChildStdout, mut body: Body, link: Arc<Link>) {
    let mut lines = Lines::new(stdout, IPC_LINE_BYTES_MAX);
    let mut inbound = Inbound::new(Arc::clone(&link));
    let mut status = None;
    let mut until: Option<Instant> = None;
    loop {
        let last_words = async {
            match until {
                Some(until) => tokio::time::sleep_until(until).await,
                None => pending().await,
            }
        };
        tokio::select! {
            line = lines.next() => match line {
                Some(line) => inbound.take(line),
                None => break,
            },
            () = inbound.answered() => {}
            ended = body.ended(), if status.is_none() => {
                status = ended;
                until = Some(Instant::now() + LAST_WORDS);
            }
            () = link.is_deaf(), if until.is_none() => until = Some(Instant::now() + LAST_WORDS),
            () = last_words => break,
        }
    }
    if status.is_none() {
        let ended = tokio::time::timeout(LAST_WORDS, body.ended()).await;
        status = ended.ok().flatten();
    }
    drop(body);
    link.set_ended(status.map_or(End::Closed, End::Exited));
}
