//! A worker takes the turns of an instance: a runtime in this process, or a remote worker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolhost_contract::{AgentEvent, HandlerError};

use super::local_port::LocalPort;
use super::remote_worker::RemoteWorker;
use super::setup::Start;
use super::{AgentRuntime, AgentsClient, Loss, TurnPort, wire};

/// A running turn. Dropping it aborts the turn.
pub(super) type TurnFuture =
    Pin<Box<dyn Future<Output = Result<Result<Value, HandlerError>, Loss>> + Send>>;

/// Takes the turns of one instance.
pub(super) enum Worker {
    InProcess(Arc<dyn AgentRuntime>),
    Remote(RemoteWorker),
}

impl Worker {
    /// Starts an instance. Results of its delegations are sent to a remote worker whenever `results` is
    /// notified.
    pub(super) fn start(
        start: &Start,
        local: Arc<LocalPort>,
        results: Arc<Notify>,
    ) -> Result<Self, Loss> {
        match start {
            Start::InProcess(start) => {
                let started = catch_unwind(AssertUnwindSafe(|| start(local.from())));
                started.map(Self::InProcess).map_err(|_| Loss::Panicked)
            }
            Start::Worker(transport) => {
                let started = RemoteWorker::start(&**transport, local, results);
                started.map(Self::Remote).map_err(Loss::NotStarted)
            }
        }
    }

    /// Begins a turn.
    pub(super) fn turn(&self, event: AgentEvent, local: Arc<LocalPort>) -> TurnFuture {
        match self {
            Self::InProcess(runtime) => Box::pin(in_process(Arc::clone(runtime), event, local)),
            Self::Remote(worker) => Box::pin(worker.turn(event, local)),
        }
    }

    /// Whether another turn can be taken.
    pub(super) fn is_alive(&self) -> bool {
        match self {
            Self::InProcess(_) => true,
            Self::Remote(worker) => worker.is_alive(),
        }
    }

    /// Tells a remote worker that it is to end.
    pub(super) fn announce_shutdown(&self, until: Instant) {
        match self {
            Self::InProcess(_) => {}
            Self::Remote(worker) => worker.announce_shutdown(until),
        }
    }

    /// Ends the instance. A remote worker is asked to end, and killed after the grace period.
    pub(super) async fn end(self, until: Instant) {
        match self {
            Self::InProcess(_) => {}
            Self::Remote(worker) => worker.end(until).await,
        }
    }
}

/// Takes a turn in a task of its own, which catches a panic.
async fn in_process(
    runtime: Arc<dyn AgentRuntime>,
    event: AgentEvent,
    local: Arc<LocalPort>,
) -> Result<Result<Value, HandlerError>, Loss> {
    let port = TurnPort::new(AgentsClient::new(local), wire::attempt(&event));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { runtime.on_event(event, &port).await });
    match tasks.join_next().await {
        Some(Ok(end)) => Ok(end),
        Some(Err(_)) | None => Err(Loss::Panicked),
    }
}
