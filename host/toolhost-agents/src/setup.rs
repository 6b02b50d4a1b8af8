//! How instances of an agent are started.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::{AgentRuntime, InstanceId};

/// What the orchestrator knows of an agent: what it is for, and how an instance is started.
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
    Process(ProcessSetup),
}

/// A program that speaks [`IpcMessage`](super::IpcMessage)s over its standard input and output, one
/// process for each instance. See [`child::serve`](super::child::serve).
#[derive(Debug, Clone)]
pub struct ProcessSetup {
    /// The program; an absolute path, since no `PATH` is searched on its behalf.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Its whole environment: nothing of the host's is passed on.
    pub env: BTreeMap<OsString, OsString>,
    /// Its working directory. Default: `/`.
    pub dir: PathBuf,
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

    /// An agent whose instances are processes.
    #[must_use]
    pub fn process(process: ProcessSetup) -> Self {
        Self {
            description: None,
            start: Start::Process(process),
        }
    }

    /// Says what the agent is for; other agents see it in their catalog.
    #[must_use]
    pub fn described(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }
}

impl ProcessSetup {
    /// A program without arguments, with an empty environment, in `/`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            env: BTreeMap::new(),
            dir: PathBuf::from("/"),
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Sets a variable of its environment.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.insert(name.into(), value.into());
        self
    }
}

impl fmt::Debug for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProcess(_) => f.write_str("InProcess"),
            Self::Process(process) => process.fmt(f),
        }
    }
}
