//! The streams of a process, and the process itself.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;
use toolhost_contract::IPC_LINE_BYTES_MAX;

use super::super::lines::{Line, Lines, shown};
use super::inbound::Inbound;
use super::link::{End, Link};

/// Longest line of standard error that is logged, in bytes.
const LOG_LINE_BYTES_MAX: usize = 8 << 10;

/// How long what a process wrote last is read after it has ended, and how long it may take to end
/// after it has closed its output: another process may hold the stream open.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A process, killed with its group where it has not ended.
#[derive(Debug)]
pub(super) struct Body(Child);

impl Body {
    pub(super) fn new(child: Child) -> Self {
        Self(child)
    }

    pub(super) fn pid(&self) -> u32 {
        self.0.id().unwrap_or_default()
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        // None once it was waited for: until then no other process can have its id.
        let pid = self.0.id().and_then(|pid| i32::try_from(pid).ok());
        if let Some(group) = pid.and_then(Pid::from_raw) {
            // It may have ended by itself, and be waited for by nobody.
            let _ = kill_process_group(group, Signal::KILL);
        }
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
    while let Some(line) = lines.next().await {
        let (Line::Whole(line) | Line::TooLong(line)) = line;
        tracing::info!(
            target: "toolhost::agent", instance = %link.instance(), pid = link.pid(),
            "{}", shown(&line, LOG_LINE_BYTES_MAX)
        );
    }
}

/// Reads messages until the process has ended.
pub(super) async fn read(
    stdout: ChildStdout,
    mut body: Body,
    link: Arc<Link>,
    results: Arc<Notify>,
) {
    let mut lines = Lines::new(stdout, IPC_LINE_BYTES_MAX);
    let mut inbound = Inbound::new(Arc::clone(&link));
    // Some may have come before this process was there.
    inbound.hand_over_results();
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
            () = results.notified() => inbound.hand_over_results(),
            ended = body.0.wait(), if status.is_none() => {
                status = ended.ok();
                until = Some(Instant::now() + LAST_WORDS);
            }
            () = link.is_deaf(), if until.is_none() => until = Some(Instant::now() + LAST_WORDS),
            () = last_words => break,
        }
    }
    if status.is_none() {
        let ended = tokio::time::timeout(LAST_WORDS, body.0.wait()).await;
        status = ended.ok().and_then(Result::ok);
    }
    drop(body);
    link.set_ended(status.map_or(End::Closed, End::Exited));
}
