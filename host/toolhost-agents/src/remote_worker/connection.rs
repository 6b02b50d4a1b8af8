//! The state of the connection to a worker, shared by the tasks that write and read it.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;
use toolhost_contract::{AgentEvent, HandlerError, IpcBody};
use toolhost_runtime::lock;

use crate::ipc_lines::LineWriter;
use crate::local_port::LocalPort;
use crate::request::millis;
use crate::{InstanceId, Loss, wire};

/// The result of a turn, as the worker reports it.
pub(super) type TurnResult = Result<Value, HandlerError>;

#[derive(Debug)]
pub(super) struct WorkerConnection {
    pub(super) pid: u32,
    pub(super) out: LineWriter,
    /// The port of what the worker sends outside of a turn.
    local: Arc<LocalPort>,
    current: Mutex<Option<CurrentTurn>>,
    end: watch::Sender<Option<WorkerEnd>>,
    shutdown_sent: AtomicBool,
}

/// The turn that the worker takes.
#[derive(Debug)]
struct CurrentTurn {
    event_id: String,
    correlation_id: Option<String>,
    done: oneshot::Sender<TurnResult>,
    local: Arc<LocalPort>,
}

/// How a worker ended.
#[derive(Debug, Clone, Copy)]
pub(super) enum WorkerEnd {
    Exited(ExitStatus),
    /// It closed its output, and was killed.
    Closed,
}

/// Identifies a turn by its event, or by the correlation id of its request.
#[derive(Debug, Clone, Copy)]
pub(super) enum TurnKey<'a> {
    Event(&'a str),
    Request(&'a str),
}

/// Clears the current turn when it is dropped.
pub(super) struct CurrentTurnGuard<'a>(&'a WorkerConnection);

impl WorkerConnection {
    pub(super) fn new(pid: u32, out: LineWriter, local: Arc<LocalPort>) -> Self {
        Self {
            pid,
            out,
            local,
            current: Mutex::default(),
            end: watch::Sender::new(None),
            shutdown_sent: AtomicBool::new(false),
        }
    }

    pub(super) fn instance(&self) -> &InstanceId {
        self.local.from()
    }

    pub(super) fn agent(&self) -> &str {
        self.instance().agent()
    }

    /// Returns the port to the other agents: that of the current turn, if there is one.
    pub(super) fn local(&self) -> Arc<LocalPort> {
        let current = lock(&self.current);
        let local = current.as_ref().map_or(&self.local, |turn| &turn.local);
        Arc::clone(local)
    }

    /// Begins a turn, until the guard is dropped. The receiver gets its result.
    pub(super) fn begin(
        &self,
        event: &AgentEvent,
        local: &Arc<LocalPort>,
    ) -> Result<(CurrentTurnGuard<'_>, oneshot::Receiver<TurnResult>), Loss> {
        // Checked under the lock: `set_ended` takes the turn after it has noted the end.
        let mut current = lock(&self.current);
        if self.has_ended() {
            return Err(self.loss());
        }
        let (done, end) = oneshot::channel();
        let reply_to = event.reply_to.as_ref();
        *current = Some(CurrentTurn {
            event_id: event.id.clone(),
            correlation_id: reply_to.map(|reply_to| reply_to.correlation_id.clone()),
            done,
            local: Arc::clone(local),
        });
        Ok((CurrentTurnGuard(self), end))
    }

    /// Ends a turn. Returns false if it is not the current one. `received` lists the responses that the
    /// process got in it, if it did not get all that it took.
    pub(super) fn complete(
        &self,
        turn: TurnKey<'_>,
        received: Option<Vec<String>>,
        result: TurnResult,
    ) -> bool {
        let mut current = lock(&self.current);
        let done = current.take_if(|current| match turn {
            TurnKey::Event(id) => current.event_id == id,
            TurnKey::Request(id) => current.correlation_id.as_deref() == Some(id),
        });
        done.is_some_and(|turn| {
            if let Some(received) = received {
                turn.local.end_with(received);
            }
            turn.done.send(result).is_ok()
        })
    }

    /// Sends `shutdown`, once, if the queue has room for it.
    pub(super) fn announce_shutdown(&self, until: Instant) {
        if self.shutdown_sent.swap(true, Relaxed) {
            return;
        }
        let grace = until.saturating_duration_since(Instant::now());
        let body = IpcBody::Shutdown(json!({"graceMs": millis(grace)}));
        let message = wire::message(wire::ORCHESTRATOR, self.agent(), body);
        if self.out.try_send(&message).is_err() {
            tracing::warn!(
                target: "toolhost::agents", instance = %self.instance(), pid = self.pid,
                "a process does not read its input: `shutdown` was not sent"
            );
        }
    }

    /// Notes that the worker has ended, and drops its turn.
    pub(super) fn set_ended(&self, end: WorkerEnd) {
        self.end.send_replace(Some(end));
        self.drop_turn();
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.borrow().is_some()
    }

    pub(super) async fn ended(&self) {
        let mut end = self.end.subscribe();
        // It cannot fail: the sender is a field of `self`.
        let _ = end.wait_for(Option::is_some).await;
    }

    pub(super) fn loss(&self) -> Loss {
        let pid = self.pid;
        match *self.end.borrow() {
            Some(WorkerEnd::Exited(status)) => Loss::Exited { pid, status },
            Some(WorkerEnd::Closed) | None => Loss::Closed { pid },
        }
    }

    fn drop_turn(&self) {
        // The turn is dropped after the lock.
        let turn = lock(&self.current).take();
        drop(turn);
    }
}

impl Drop for CurrentTurnGuard<'_> {
    fn drop(&mut self) {
        self.0.drop_turn();
    }
}
