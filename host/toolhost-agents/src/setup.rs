//! How instances of an agent are started.

use std::fmt;
use std::sync::Arc;

use super::{AgentRuntime, InstanceId, ProcessSetup, WorkerTransport};

/// What the orchestrator knows of an agent: its description, and how an instance is started.
#[derive(Debug, Clone)]
pub struct AgentSetup {
    pub(super) description: Option<String>,
    pub(super) start: Start,
}

type StartRuntime = dyn Fn(&InstanceId) -> Arc<dyn AgentRuntime> + Send + Sync;

/// Where instances run.
#[derive(Clone)]
pub(super) enum Start {
    InProcess(Arc<StartRuntime>),
    Worker(Arc<dyn WorkerTransport>),
}

impl AgentSetup {
    /// An agent in this process: `start` makes the runtime of each instance, and makes it again after
    /// a panic.
    pub fn in_process(
        start: impl Fn(&InstanceId) -> Arc<dyn AgentRuntime> + Send + Sync + 'static,
    ) -> Self {
        Self {
            description: None,
            start: Start::InProcess(Arc::new(start)),
        }
    }

    /// An agent whose instances are child processes.
    pub fn process(process: ProcessSetup) -> Self {
        Self::worker(process)
    }

    /// An agent whose instances are started by a transport.
    pub fn worker(transport: impl WorkerTransport) -> Self {
        Self {
            description: None,
            start: Start::Worker(Arc::new(transport)),
        }
    }

    /// Sets the description that other agents see in their catalog.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProcess(_) => f.write_str("InProcess"),
            Self::Worker(transport) => transport.fmt(f),
        }
    }
}
