//! Writes lines on a thread of its own, so that a slow disk holds up no thread of the caller.

use std::io::{self, Write};

use tokio::sync::{mpsc, oneshot};
use toolhost_contract::text::escape_json;

/// Lines that may wait to be written, with those that calls under way have yet to send. A line has at most
/// a few kilobytes.
const QUEUE_LINES: usize = 16_384;

/// The queue of the thread. The thread ends with its last clone, after the lines in the queue.
#[derive(Clone)]
pub(super) struct Writer {
    queue: mpsc::Sender<Job>,
}

/// A place in the queue, for one line.
pub(super) struct Slot(mpsc::OwnedPermit<Job>);

enum Job {
    Line {
        json: String,
        written: oneshot::Sender<bool>,
    },
    Flush(oneshot::Sender<()>),
}

/// Whether a line was written; false also if the thread has ended.
pub(super) struct Written(oneshot::Receiver<bool>);

impl Writer {
    /// Starts the thread. If it cannot be started, every [`Self::reserve`] fails.
    pub(super) fn start(writer: impl Write + Send + 'static) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE_LINES);
        let thread = std::thread::Builder::new().name("toolhost-audit".to_owned());
        if let Err(error) = thread.spawn(move || write_all(jobs, writer)) {
            tracing::error!(target: "toolhost::audit", %error, "the audit log has no thread");
        }
        Self { queue }
    }

    /// Reserves a place for a line; none if the queue is full or the thread has ended.
    pub(super) fn reserve(&self) -> Option<Slot> {
        self.queue.clone().try_reserve_owned().ok().map(Slot)
    }

    /// Waits until all lines that were sent before are written, or could not be.
    pub(super) async fn flush(&self) {
        let (done, flushed) = oneshot::channel();
        if self.queue.send(Job::Flush(done)).await.is_ok() {
            // It fails if the thread has ended.
            let _has_flushed = flushed.await.is_ok();
        }
    }
}

impl Slot {
    /// Sends a line to the thread. Never waits.
    pub(super) fn send(self, json: String) -> Written {
        let (written, receiver) = oneshot::channel();
        self.0.send(Job::Line { json, written });
        Written(receiver)
    }
}

impl Written {
    /// Waits until the line is written, or could not be. Returns whether it is.
    pub(super) async fn confirmed(self) -> bool {
        self.0.await.unwrap_or(false)
    }
}

fn write_all(mut jobs: mpsc::Receiver<Job>, mut writer: impl Write) {
    // Whether the last line may be incomplete.
    let mut is_incomplete = false;
    while let Some(job) = jobs.blocking_recv() {
        match job {
            Job::Line { json, written } => {
                let line = write_line(&mut writer, &json, is_incomplete);
                is_incomplete = line.is_err();
                if let Err(error) = &line {
                    tracing::error!(target: "toolhost::audit", %error, "cannot write a line of the audit log");
                }
                // The caller may not wait for it.
                let _is_received = written.send(line.is_ok()).is_ok();
            }
            Job::Flush(done) => {
                let _is_received = done.send(()).is_ok();
            }
        }
    }
}

/// Writes a line with one write, and flushes it. It begins on a new line if the last one may be
/// incomplete.
fn write_line(writer: &mut impl Write, json: &str, is_incomplete: bool) -> io::Result<()> {
    let begin = if is_incomplete { "\n" } else { "" };
    let text = format!("{begin}{}\n", escape_json(json));
    writer.write_all(text.as_bytes())?;
    writer.flush()
}
