//! A worker outside this process, which takes the turns of one instance.

mod connection;
mod inbound;
mod outbound;
mod streams;

use std::io;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolhost_contract::{AgentEvent, IpcBody, IpcMessage};

use super::local_port::LocalPort;
use super::transport::{WorkerStreams, WorkerTransport};
use super::{Loss, Undelivered, wire};

use self::connection::{Connection, CurrentTurn, TurnEnd};

/// Lines that wait for the worker to read them.
const LINES: usize = 64;

/// The connection to a worker, and the tasks that read and write it. Dropping it ends the worker.
#[derive(Debug)]
pub(super) struct RemoteWorker {
    connection: Arc<Connection>,
    _tasks: JoinSet<()>,
}

impl RemoteWorker {
    /// Starts the worker of the instance of `local`. Results of its delegations are sent to it whenever
    /// `results` is notified.
    pub(super) fn start(
        transport: &dyn WorkerTransport,
        local: Arc<LocalPort>,
        results: Arc<Notify>,
    ) -> io::Result<Self> {
        let WorkerStreams {
            pid,
            stdin,
            stdout,
            stderr,
            process,
        } = transport.start(local.from())?;
        let (out, lines) = mpsc::channel(LINES);
        let connection = Arc::new(Connection::new(pid, out, local));
        let mut tasks = JoinSet::new();
        tasks.spawn(streams::write(stdin, lines));
        tasks.spawn(outbound::forward_results(Arc::clone(&connection), results));
        tasks.spawn(streams::log(stderr, Arc::clone(&connection)));
        tasks.spawn(streams::read(stdout, process, Arc::clone(&connection)));
        Ok(Self {
            connection,
            _tasks: tasks,
        })
    }

    /// Sends an event to the worker, and waits for the end of its turn.
    pub(super) fn turn(
        &self,
        event: AgentEvent,
        local: Arc<LocalPort>,
    ) -> impl Future<Output = Result<TurnEnd, Loss>> + Send + use<> {
        let connection = Arc::clone(&self.connection);
        async move {
            let (current, done) = CurrentTurn::of(&event, local);
            let from = match event.source.kind.as_str() {
                "agent" => event.source.name.clone(),
                _ => wire::ORCHESTRATOR.to_owned(),
            };
            let message = IpcMessage::event(from, connection.agent(), event);
            let _turn = connection.begin(current)?;
            // If the worker has ended, `done` fails soon and the loss tells how.
            if let Err(error @ Undelivered::Malformed(_)) = connection.send(&message).await {
                return Ok(Err(wire::host_ended_turn(error.to_string())));
            }
            done.await.map_err(|_| connection.loss())
        }
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.connection.has_ended()
    }

    /// Sends `shutdown` to the worker, once.
    pub(super) fn announce_shutdown(&self, until: Instant) {
        let grace = until.saturating_duration_since(Instant::now());
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.connection.announce_shutdown(&IpcMessage {
            from: wire::ORCHESTRATOR.to_owned(),
            to: self.connection.agent().to_owned(),
            body: IpcBody::Shutdown(json!({"graceMs": grace_ms})),
        });
    }

    /// Asks the worker to end, and ends it at once if it has not by then.
    pub(super) async fn end(self, until: Instant) {
        self.announce_shutdown(until);
        let ended = tokio::time::timeout_at(until, self.connection.ended()).await;
        if ended.is_err() {
            tracing::warn!(
                target: "toolhost::agents",
                instance = %self.connection.instance(), pid = self.connection.pid(),
                "a process did not end after `shutdown`, and is killed"
            );
        }
    }
}
