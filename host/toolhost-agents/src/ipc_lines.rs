//! Messages of a child process, one a line.

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use toolhost_contract::IpcMessage;
use toolhost_runtime::lines::Line;

use super::Undelivered;

const QUEUE: usize = 64;

/// Parses a line as a message; the error is for a log.
pub(super) fn parse(line: &Line) -> Result<IpcMessage, String> {
    let text = line.text().map_err(|error| error.to_string())?;
    IpcMessage::parse(text).map_err(|error| error.to_string())
}

/// Writes messages as lines, in a task. The queue ends with `None`.
#[derive(Debug)]
pub(crate) struct LineWriter(mpsc::Sender<Option<String>>);

impl LineWriter {
    /// Starts the task in `tasks`. It ends when nobody reads any more, or after [`close`](Self::close).
    pub(crate) fn start(
        mut writer: impl AsyncWrite + Send + Unpin + 'static,
        tasks: &mut JoinSet<()>,
    ) -> Self {
        let (queue, mut lines) = mpsc::channel::<Option<String>>(QUEUE);
        tasks.spawn(async move {
            while let Some(Some(line)) = lines.recv().await {
                let result = writer.write_all(line.as_bytes()).await;
                if result.is_err() || writer.flush().await.is_err() {
                    return;
                }
            }
        });
        Self(queue)
    }

    /// Sends a message; waits while the queue is full.
    pub(crate) async fn send(&self, message: &IpcMessage) -> Result<(), Undelivered> {
        let line = message.to_line().map_err(Undelivered::Malformed)?;
        let gone = |_| Undelivered::Disconnected;
        self.0.send(Some(line)).await.map_err(gone)
    }

    /// Sends a message if the queue has room for it.
    pub(crate) fn try_send(&self, message: &IpcMessage) -> Result<(), Undelivered> {
        let line = message.to_line().map_err(Undelivered::Malformed)?;
        let gone = |_| Undelivered::Disconnected;
        self.0.try_send(Some(line)).map_err(gone)
    }

    /// Waits until nothing can be written any more.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }

    /// Ends the task after the queued lines.
    pub(crate) async fn close(&self) {
        // It fails if the task has ended.
        let _ = self.0.send(None).await;
    }
}
