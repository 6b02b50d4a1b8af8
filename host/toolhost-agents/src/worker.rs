//! What takes the turns of an instance: code in this process, or another process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::Instant;
use toolhost_contract::{AgentEvent, HandlerError};

use super::dispatch::Dispatch;
use super::local::Local;
use super::process::Process;
use super::setup::Start;
use super::{AgentRuntime, AgentSetup, AgentsClient, InstanceId, Loss, TurnPort, wire};

/// A turn that is being taken; dropped, it is given up.
pub(super) type Turn =
    Pin<Box<dyn Future<Output = Result<Result<Value, HandlerError>, Loss>> + Send>>;

/// What takes the turns of one instance.
pub(super) enum Worker {
    InProcess(Arc<dyn AgentRuntime>),
    Process(Process),
}

impl Worker {
    /// Starts an instance. A process is told results of its delegations, each time there are some.
    pub(super) fn start(
        dispatch: &Arc<Dispatch>,
        setup: &AgentSetup,
        id: &InstanceId,
        results: &Arc<Notify>,
    ) -> Result<Self, Loss> {
        match &setup.start {
            Start::InProcess(start) => {
                let started = catch_unwind(AssertUnwindSafe(|| start(id)));
                started.map(Self::InProcess).map_err(|_| Loss::Panicked)
            }
            Start::Process(setup) => {
                let local = Local::new(dispatch, id.clone(), dispatch.config.reach, None);
                let process =
                    Process::start(setup, local, Arc::clone(results)).map_err(Loss::NotStarted)?;
                Ok(Self::Process(process))
            }
        }
    }

    /// Begins a turn.
    pub(super) fn turn(&self, event: AgentEvent, local: Arc<Local>) -> Turn {
        match self {
            Self::InProcess(runtime) => Box::pin(in_process(Arc::clone(runtime), event, local)),
            Self::Process(process) => process.turn(event, local),
        }
    }

    /// Whether another turn can be taken.
    pub(super) fn is_alive(&self) -> bool {
        match self {
            Self::InProcess(_) => true,
            Self::Process(process) => process.is_alive(),
        }
    }

    /// Tells the instance that it is to end.
    pub(super) fn announce_shutdown(&self, until: Instant) {
        match self {
            Self::InProcess(_) => {}
            Self::Process(process) => process.announce_shutdown(until),
        }
    }

    /// Ends the instance: a process is asked first, and killed after the grace.
    pub(super) async fn end(self, until: Instant) {
        match self {
            Self::InProcess(_) => {}
            Self::Process(process) => process.end(until).await,
        }
    }
}

/// Takes a turn in a task of its own: a panic is an instance that was lost.
async fn in_process(
    runtime: Arc<dyn AgentRuntime>,
    event: AgentEvent,
    local: Arc<Local>,
) -> Result<Result<Value, HandlerError>, Loss> {
    let port = TurnPort::new(AgentsClient::new(local), wire::attempt(&event));
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { runtime.on_event(event, &port).await });
    match tasks.join_next().await {
        Some(Ok(end)) => Ok(end),
        Some(Err(_)) | None => Err(Loss::Panicked),
    }
}
