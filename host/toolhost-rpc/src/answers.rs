//! Writes the lines of one connection: answers and notifications.

use std::time::Duration;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::memory::{Memory, MemoryCharge};

/// Lines that wait to be written. Beyond them no request is read, and notifications wait.
const QUEUE: usize = 64;

/// A line to be written.
#[derive(Debug)]
struct Queued {
    line: String,
    _charge: Option<MemoryCharge>,
}

/// Queues the lines of one connection.
#[derive(Debug)]
pub(crate) struct AnswerQueue {
    queue: mpsc::Sender<Queued>,
    memory: Memory,
    /// Whether the client stopped reading, or reads too slowly.
    is_stuck: watch::Sender<bool>,
}

/// Writes the queued lines, in a task that ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Writer(JoinHandle<()>);

impl AnswerQueue {
    /// Starts the writer. It ends with the last [`AnswerQueue`], or if a line cannot be written within
    /// `line_timeout`.
    pub(crate) fn start(
        writer: impl AsyncWrite + Send + Unpin + 'static,
        memory: Memory,
        line_timeout: Duration,
    ) -> (Self, Writer) {
        let (queue, lines) = mpsc::channel(QUEUE);
        let answers = Self {
            queue,
            memory,
            is_stuck: watch::Sender::new(false),
        };
        let task = write(writer, lines, line_timeout);
        (answers, Writer(tokio::spawn(task)))
    }

    /// Sends an answer; waits while the queue is full. If the client leaves too many answers unread,
    /// the connection ends.
    pub(crate) async fn answer(&self, line: String) {
        let charge = self.memory.take(line.len());
        if charge.is_none() {
            self.is_stuck.send_replace(true);
            return;
        }
        self.send(line, charge).await;
    }

    /// Sends a notification; waits while the queue is full.
    pub(crate) async fn notify(&self, line: String) {
        self.send(line, None).await;
    }

    async fn send(&self, line: String, charge: Option<MemoryCharge>) {
        let queued = Queued {
            line,
            _charge: charge,
        };
        // It fails if the writer has ended; then the connection ends.
        let _ = self.queue.send(queued).await;
    }

    /// Waits until the queue has room. Cancel safe.
    pub(crate) async fn room(&self) {
        // It fails if the writer has ended; then the connection ends.
        let _ = self.queue.reserve().await;
    }

    /// Waits until the client has stopped reading. Cancel safe.
    pub(crate) async fn stuck(&self) {
        let mut is_stuck = self.is_stuck.subscribe();
        tokio::select! {
            // It cannot fail: the sender is a field of `self`.
            _ = is_stuck.wait_for(|is_stuck| *is_stuck) => {}
            () = self.queue.closed() => {}
        }
    }
}

impl Writer {
    /// Waits until the queued lines are written, after the last [`AnswerQueue`] is dropped.
    pub(crate) async fn finish(mut self, within: Duration) {
        // If it takes longer, dropping the writer ends it.
        let _ = timeout(within, &mut self.0).await;
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn write(
    mut writer: impl AsyncWrite + Send + Unpin,
    mut lines: mpsc::Receiver<Queued>,
    line_timeout: Duration,
) {
    while let Some(queued) = lines.recv().await {
        let write = async {
            writer.write_all(queued.line.as_bytes()).await?;
            writer.flush().await
        };
        match timeout(line_timeout, write).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) | Err(_) => return,
        }
    }
    // The client may have gone.
    let _ = timeout(line_timeout, writer.shutdown()).await;
}
