//! A worker takes the turns of an instance: a runtime in this process, or a remote worker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolhost_contract::{AgentEvent, HandlerError};

use super::delivery::bounded;
use super::local_port::LocalPort;
use super::phase::{Phase, drained, draining};
use super::remote_worker::RemoteWorker;
use super::setup::Start;
use super::{AgentRuntime, AgentsClient, Loss, TurnPort, wire};

pub(super) enum Worker {
    InProcess(Arc<dyn AgentRuntime>),
    Remote(RemoteWorker),
}

/// How a turn ended.
#[derive(Debug)]
pub(super) enum TurnEnd {
    /// The agent ended it.
    Done(Result<Value, HandlerError>),
    /// The instance was lost.
    Lost(Loss),
    /// It exceeded the deadline.
    TooLong(HandlerError),
    /// The orchestrator stopped.
    Stopped,
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
                let worker = catch_unwind(AssertUnwindSafe(|| start(local.from())));
                worker.map(Self::InProcess).map_err(|_| Loss::Panicked)
            }
            Start::Worker(transport) => {
                let worker = RemoteWorker::start(&**transport, local, results);
                worker.map(Self::Remote).map_err(Loss::NotStarted)
            }
        }
    }

    /// Takes a turn, until it ends, takes too long, or the orchestrator stops. Dropping the future aborts
    /// the turn.
    pub(super) async fn take_turn(
        &self,
        event: AgentEvent,
        local: &Arc<LocalPort>,
        deadline: Duration,
        phase: watch::Receiver<Phase>,
    ) -> TurnEnd {
        let turn = async {
            match self {
                Self::InProcess(runtime) => in_process(runtime, event, local).await,
                Self::Remote(worker) => worker.take_turn(event, local).await,
            }
        };
        tokio::select! {
            biased;
            end = turn => match end {
                Ok(end) => TurnEnd::Done(end.and_then(bounded)),
                Err(loss) => TurnEnd::Lost(loss),
            },
            () = self.stopped(phase) => TurnEnd::Stopped,
            () = tokio::time::sleep(deadline) => {
                let message = format!("the turn took longer than {} s", deadline.as_secs_f32());
                TurnEnd::TooLong(HandlerError::new(message))
            }
        }
    }

    /// Waits until the orchestrator has stopped and the grace period is over; announces the end at once.
    async fn stopped(&self, mut phase: watch::Receiver<Phase>) {
        let until = draining(&mut phase).await;
        if let Self::Remote(worker) = self {
            worker.announce_shutdown(until);
        }
        drained(&mut phase).await;
    }

    /// Whether another turn can be taken.
    pub(super) fn is_alive(&self) -> bool {
        match self {
            Self::InProcess(_) => true,
            Self::Remote(worker) => worker.is_alive(),
        }
    }

    /// Ends the instance. A remote worker is asked to end, and killed after the grace period.
    pub(super) async fn end(self, until: Instant) {
        if let Self::Remote(worker) = self {
            worker.end(until).await;
        }
    }
}

/// Takes a turn in a task of its own, which catches a panic.
async fn in_process(
    runtime: &Arc<dyn AgentRuntime>,
    event: AgentEvent,
    local: &Arc<LocalPort>,
) -> Result<Result<Value, HandlerError>, Loss> {
    let client = AgentsClient::new(Arc::<LocalPort>::clone(local));
    let port = TurnPort::new(client, wire::attempt(&event));
    let runtime = Arc::clone(runtime);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { runtime.on_event(event, &port).await });
    match tasks.join_next().await {
        Some(Ok(end)) => Ok(end),
        Some(Err(_)) | None => Err(Loss::Panicked),
    }
}
