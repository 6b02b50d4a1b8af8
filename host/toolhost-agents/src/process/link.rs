//! What is known of a process, shared by those who talk to it and those who listen.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::sync::{mpsc, oneshot, watch};
use toolhost_contract::{AgentEvent, HandlerError, IpcMessage};

use super::super::local::Local;
use super::super::{InstanceId, Loss, Undelivered, lock};

/// What the process says came of a turn.
pub(super) type Said = Result<Value, HandlerError>;

/// The connection to a process.
#[derive(Debug)]
pub(super) struct Link {
    pid: u32,
    out: mpsc::Sender<String>,
    /// What it may ask outside of a turn.
    local: Arc<Local>,
    current: Mutex<Option<Current>>,
    end: watch::Sender<Option<End>>,
    is_told_to_end: AtomicBool,
}

/// The turn that the process takes.
#[derive(Debug)]
pub(super) struct Current {
    event_id: String,
    correlation_id: Option<String>,
    done: oneshot::Sender<Said>,
    local: Arc<Local>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum End {
    Exited(ExitStatus),
    /// It closed its output, and was killed.
    Closed,
}

/// Which turn is meant.
#[derive(Debug, Clone, Copy)]
pub(super) enum TurnOf<'a> {
    Event(&'a str),
    Request(&'a str),
}

/// The current turn, until it is dropped.
pub(super) struct Begun<'a>(&'a Link);

impl Current {
    pub(super) fn of(event: &AgentEvent, local: Arc<Local>) -> (Self, oneshot::Receiver<Said>) {
        let (done, end) = oneshot::channel();
        let reply_to = event.reply_to.as_ref();
        let current = Self {
            event_id: event.id.clone(),
            correlation_id: reply_to.map(|reply_to| reply_to.correlation_id.clone()),
            done,
            local,
        };
        (current, end)
    }

    fn is(&self, turn: TurnOf<'_>) -> bool {
        match turn {
            TurnOf::Event(id) => self.event_id == id,
            TurnOf::Request(id) => self.correlation_id.as_deref() == Some(id),
        }
    }
}

impl Link {
    pub(super) fn new(pid: u32, out: mpsc::Sender<String>, local: Arc<Local>) -> Self {
        Self {
            pid,
            out,
            local,
            current: Mutex::default(),
            end: watch::Sender::new(None),
            is_told_to_end: AtomicBool::new(false),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    pub(super) fn instance(&self) -> &InstanceId {
        self.local.from()
    }

    pub(super) fn agent(&self) -> &str {
        self.local.from().agent()
    }

    /// The way to the others: the turn's own, as long as there is one.
    pub(super) fn local(&self) -> Arc<Local> {
        let current = lock(&self.current);
        let local = current.as_ref().map_or(&self.local, |turn| &turn.local);
        Arc::clone(local)
    }

    /// Begins a turn.
    pub(super) fn begin(&self, current: Current) -> Result<Begun<'_>, Loss> {
        // Under the lock: whoever notes the end lets go of the turn after it.
        let mut turn = lock(&self.current);
        if self.has_ended() {
            return Err(self.loss());
        }
        *turn = Some(current);
        Ok(Begun(self))
    }

    /// Ends a turn; says whether it was the current one.
    pub(super) fn complete(&self, turn: TurnOf<'_>, said: Said) -> bool {
        let mut current = lock(&self.current);
        if !current.as_ref().is_some_and(|current| current.is(turn)) {
            return false;
        }
        current
            .take()
            .is_some_and(|turn| turn.done.send(said).is_ok())
    }

    /// Writes a message; waits while the process does not read.
    pub(super) async fn tell(&self, message: &IpcMessage) -> Result<(), Undelivered> {
        let line = message.to_line().map_err(Undelivered::Malformed)?;
        let gone = |_| Undelivered::Disconnected;
        self.out.send(line).await.map_err(gone)
    }

    /// Waits until nothing can be written any more.
    pub(super) async fn is_deaf(&self) {
        self.out.closed().await;
    }

    /// Writes that the process is to end, once, where there is room for it.
    pub(super) fn announce_shutdown(&self, message: &IpcMessage) {
        if self.is_told_to_end.swap(true, Relaxed) {
            return;
        }
        let Ok(line) = message.to_line() else { return };
        if self.out.try_send(line).is_err() {
            tracing::warn!(
                target: "toolhost::agents", instance = %self.instance(), pid = self.pid,
                "a process does not read, and is not told to end"
            );
        }
    }

    /// Notes that the process has ended, and lets go of its turn.
    pub(super) fn set_ended(&self, end: End) {
        self.end.send_replace(Some(end));
        let turn = lock(&self.current).take();
        drop(turn);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    /// Waits until the process has ended.
    pub(super) async fn ended(&self) {
        let mut end = self.end.subscribe();
        // The sender is here.
        let _ = end.wait_for(Option::is_some).await;
    }

    /// How the instance was lost.
    pub(super) fn loss(&self) -> Loss {
        let pid = self.pid;
        match *self.end.borrow() {
            Some(End::Exited(status)) => Loss::Exited { pid, status },
            Some(End::Closed) | None => Loss::Closed { pid },
        }
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        let turn = lock(&self.0.current).take();
        drop(turn);
    }
}
