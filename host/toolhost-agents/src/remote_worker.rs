//! A worker outside this process, which takes the turns of one instance.

mod connection;
mod inbound;
mod outbound;
mod streams;

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolhost_contract::{AgentEvent, HandlerError, IpcMessage};

use super::ipc_lines::LineWriter;
use super::local_port::LocalPort;
use super::transport::{WorkerStreams, WorkerTransport};
use super::{Loss, Undelivered, wire};

use self::connection::WorkerConnection;

/// The connection to a worker, and the tasks that read and write it. Dropping it ends the worker.
#[derive(Debug)]
pub(super) struct RemoteWorker {
    connection: Arc<WorkerConnection>,
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
        let mut tasks = JoinSet::new();
        let out = LineWriter::start(stdin, &mut tasks);
        let connection = Arc::new(WorkerConnection::new(pid, out, local));
        tasks.spawn(outbound::forward_results(Arc::clone(&connection), results));
        tasks.spawn(streams::log(stderr, Arc::clone(&connection)));
        tasks.spawn(streams::read(stdout, process, Arc::clone(&connection)));
        Ok(Self {
            connection,
            _tasks: tasks,
        })
    }

    /// Sends an event to the worker, and waits for the end of its turn.
    pub(super) async fn take_turn(
        &self,
        event: AgentEvent,
        local: &Arc<LocalPort>,
    ) -> Result<Result<Value, HandlerError>, Loss> {
        let connection = &self.connection;
        let (_turn, done) = connection.begin(&event, local)?;
        let from = match event.source.kind.as_str() {
            "agent" => event.source.name.clone(),
            _ => wire::ORCHESTRATOR.to_owned(),
        };
        let message = IpcMessage::event(from, connection.agent(), event);
        // If the worker has ended, `done` fails soon and the loss tells how.
        if let Err(error @ Undelivered::Malformed(_)) = connection.out.send(&message).await {
            return Ok(Err(HandlerError::new(error.to_string())));
        }
        done.await.map_err(|_| connection.loss())
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.connection.has_ended()
    }

    /// Sends `shutdown` to the worker, once.
    pub(super) fn announce_shutdown(&self, until: Instant) {
        self.connection.announce_shutdown(until);
    }

    /// Asks the worker to end, and ends it at once if it has not by then.
    pub(super) async fn end(self, until: Instant) {
        let connection = &self.connection;
        connection.announce_shutdown(until);
        let end = tokio::time::timeout_at(until, connection.ended()).await;
        if end.is_err() {
            tracing::warn!(
                target: "toolhost::agents",
                instance = %connection.instance(), pid = connection.pid,
                "a process did not end after `shutdown`, and is killed"
            );
        }
    }
}
