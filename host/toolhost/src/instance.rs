//! An instance of an agent: one conversation, one workspace.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::ToolError;
use toolhost_sandbox::Workdir;

use crate::agent::Agent;
use crate::turn::Turn;

/// An instance of an agent: its key and its workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Instance(pub(crate) Arc<InstanceInner>);

#[derive(Debug)]
pub(crate) struct InstanceInner {
    pub(crate) agent: Agent,
    pub(crate) key: String,
    pub(crate) workdir: Workdir,
}

/// What a turn starts with. A text is a turn's id, and nothing else is known of it.
#[derive(Debug, Clone)]
pub struct TurnStart {
    pub(crate) id: String,
    pub(crate) trace_id: Option<String>,
    pub(crate) input: Value,
}

impl TurnStart {
    /// Starts a turn of this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            trace_id: None,
            input: Value::Null,
        }
    }

    /// Adds the id that ties together everything that happens for one request. Default: a new one.
    #[must_use]
    pub fn with_trace_id(mut self, trace_id: impl Into<String>) -> Self {
        self.trace_id = Some(trace_id.into());
        self
    }

    /// Adds what the turn is about, for `turn` middleware. Default: `null`.
    #[must_use]
    pub fn with_input(mut self, input: impl Into<Value>) -> Self {
        self.input = input.into();
        self
    }
}

impl From<&str> for TurnStart {
    fn from(id: &str) -> Self {
        Self::new(id)
    }
}

impl From<String> for TurnStart {
    fn from(id: String) -> Self {
        Self::new(id)
    }
}

impl Instance {
    pub(crate) fn new(agent: Agent, key: String, workdir: Workdir) -> Self {
        Self(Arc::new(InstanceInner {
            agent,
            key,
            workdir,
        }))
    }

    /// The agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// Key of the instance.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// Its workspace: the guests' `/`.
    #[must_use]
    pub fn workdir(&self) -> &Workdir {
        &self.0.workdir
    }

    /// Opens a turn: runs the first halves of the agent's `turn` middleware.
    ///
    /// # Errors
    /// `E_MIDDLEWARE` where a middleware ends the turn before it begins.
    pub async fn open_turn(&self, start: impl Into<TurnStart>) -> Result<Turn, ToolError> {
        Turn::open(self.clone(), start.into()).await
    }
}
