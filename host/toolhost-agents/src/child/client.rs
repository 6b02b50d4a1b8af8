//! The connection of an agent's process to the orchestrator.

use std::time::SystemTime;

use toolhost_contract::{AgentEvent, IpcMessage, Timestamp};

use crate::lines::LineWriter;
use crate::reply_waiters::ReplyWaiters;
use crate::{Undelivered, wire};

/// Writes messages, and matches answers with the requests that wait for them.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) out: LineWriter,
    /// By correlation id, or by event id if only acceptance is awaited.
    waiting: ReplyWaiters<AgentEvent>,
}

impl Client {
    pub(super) fn new(out: LineWriter) -> Self {
        let waiting = ReplyWaiters::default();
        Self { out, waiting }
    }

    /// Sends a message, and waits for the event that answers this id.
    pub(super) async fn ask(
        &self,
        id: &str,
        message: &IpcMessage,
    ) -> Result<AgentEvent, Undelivered> {
        let answered = self.waiting.expect(id).ok_or(Undelivered::Duplicate)?;
        let _waiting = Waiting { client: self, id };
        self.out.send(message).await?;
        answered.await.map_err(|_| Undelivered::Disconnected)
    }

    /// Gives an event to the request that waits for it. Returns false if there is none.
    pub(super) fn answered(&self, event: &AgentEvent) -> bool {
        let id = match event.event_type.as_str() {
            wire::ACCEPTED | wire::REFUSED => wire::event_id(event),
            _ => event.in_reply_to(),
        };
        id.is_some_and(|id| self.waiting.is_expected(id) && self.waiting.reply(id, event.clone()))
    }

    /// Ends the writer after the queued lines; the requests that wait fail.
    pub(super) async fn close(&self) {
        self.out.close().await;
        self.waiting.forget_all();
    }
}

/// The current time as events contain it.
pub(super) fn now() -> String {
    Timestamp(SystemTime::now()).to_string()
}

/// A request that waits, removed when it is dropped.
struct Waiting<'a> {
    client: &'a Client,
    id: &'a str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.client.waiting.forget(self.id);
    }
}
