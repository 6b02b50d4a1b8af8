//! The connection of an agent's process to the orchestrator.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::SystemTime;

use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use toolhost_contract::{AgentEvent, IpcMessage, Timestamp};

use crate::sync::lock;
use crate::{Undelivered, wire};

/// Lines that wait to be written.
const LINES: usize = 64;

/// Writes messages, and matches answers with the requests that wait for them.
#[derive(Debug)]
pub(super) struct Client {
    /// Lines; `None` after the last.
    out: mpsc::Sender<Option<String>>,
    /// By correlation id, or by event id if only acceptance is awaited.
    waiting: Mutex<HashMap<String, oneshot::Sender<AgentEvent>>>,
}

impl Client {
    /// Starts the writer, in a task of `tasks`.
    pub(super) fn start<W>(writer: W, tasks: &mut JoinSet<()>) -> Self
    where
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (out, lines) = mpsc::channel(LINES);
        tasks.spawn(write(writer, lines));
        Self {
            out,
            waiting: Mutex::default(),
        }
    }

    /// Sends a message.
    pub(super) async fn send(&self, message: &IpcMessage) -> Result<(), Undelivered> {
        let line = message.to_line().map_err(Undelivered::Malformed)?;
        let gone = |_| Undelivered::Disconnected;
        self.out.send(Some(line)).await.map_err(gone)
    }

    /// Sends a message, and waits for the event that answers this id.
    pub(super) async fn ask(
        &self,
        id: &str,
        message: &IpcMessage,
    ) -> Result<AgentEvent, Undelivered> {
        let (answer, answered) = oneshot::channel();
        lock(&self.waiting).insert(id.to_owned(), answer);
        let _waiting = Waiting { client: self, id };
        self.send(message).await?;
        answered.await.map_err(|_| Undelivered::Disconnected)
    }

    /// Gives an event to the request that waits for it. Returns false if there is none.
    pub(super) fn answered(&self, event: &AgentEvent) -> bool {
        let accepted = [wire::ACCEPTED, wire::REFUSED].contains(&event.event_type.as_str());
        let event_id = || event.metadata.as_ref()?.get(wire::EVENT_ID)?.as_str();
        let id = if accepted {
            event_id()
        } else {
            event.in_reply_to()
        };
        let waiting = id.and_then(|id| lock(&self.waiting).remove(id));
        waiting.is_some_and(|waiting| waiting.send(event.clone()).is_ok())
    }

    /// Ends the writer after the queued lines; the requests that wait fail.
    pub(super) async fn close(&self) {
        // It fails if the writer has ended.
        let _ = self.out.send(None).await;
        lock(&self.waiting).clear();
    }
}

/// The current time as events contain it.
pub(super) fn now() -> String {
    Timestamp(SystemTime::now()).to_string()
}

async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut lines: mpsc::Receiver<Option<String>>) {
    while let Some(Some(line)) = lines.recv().await {
        let written = writer.write_all(line.as_bytes()).await;
        if written.is_err() || writer.flush().await.is_err() {
            return;
        }
    }
}

/// A request that waits, removed when it is dropped.
struct Waiting<'a> {
    client: &'a Client,
    id: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        lock(&self.client.waiting).remove(self.id);
    }
}
