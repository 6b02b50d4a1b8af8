//! An instance of an agent: one conversation, one workspace.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{ErrorMessageLimit, ToolError, ToolResult};
use toolhost_sandbox::Workdir;

use crate::agent::Agent;
use crate::call::executor;
use crate::events::Emitter;
use crate::turn::Turn;
use crate::workspace::instance_directory;
use toolhost_agents::AgentsClient;
use toolhost_store::make_private;

/// An instance of an agent: its key and its workspace. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Instance(pub(crate) Arc<InstanceInner>);

#[derive(Debug)]
pub(crate) struct InstanceInner {
    pub(crate) agent: Agent,
    pub(crate) key: String,
    pub(crate) workdir: Workdir,
    pub(crate) emitter: Emitter,
}

/// What a turn starts with. A text is a turn's id, and nothing else is known of it.
#[derive(Debug, Clone)]
pub struct TurnStart {
    pub(crate) id: String,
    pub(crate) trace_id: Option<String>,
    pub(crate) input: Value,
    pub(crate) agents: Option<AgentsClient>,
}

impl TurnStart {
    /// Starts a turn of this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            trace_id: None,
            input: Value::Null,
            agents: None,
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

    /// Adds the way to other agents, for which the turn's calls then speak: the `agents` tool, and
    /// components to which the policy grants it. Default: none.
    #[must_use]
    pub fn with_agents(mut self, agents: AgentsClient) -> Self {
        self.agents = Some(agents);
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
        let host = &agent.0.host;
        let directory = host.state_root.as_ref().map(|root| {
            let directory = instance_directory(root, &agent.0.bundle, &key);
            // Without it there is no log, which the log itself says.
            let _said_later = make_private(&directory).is_err();
            directory
        });
        let emitter = host
            .events
            .emitter(agent.name(), &key, directory.as_deref());
        Self(Arc::new(InstanceInner {
            agent,
            key,
            workdir,
            emitter,
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

    /// Asks for the result that a handle stands for: it, or `pending` again.
    ///
    /// A component is asked in the workdir of this instance: give it the one that the call had.
    ///
    /// `E_TOOL_UNKNOWN_HANDLE`, of no call and no tool, for one that is not this instance's, has expired or never was;
    /// `E_TOOL_INTERRUPTED` for a call that ran when its host died; it is never run again by itself.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn poll(&self, handle: &str) -> ToolResult {
        let host = &self.0.agent.0.host;
        self.exit(match host.pending(self.0.agent.0.locale).await {
            Ok(pending) => pending.poll(self, handle).await,
            Err(error) => ToolResult::error("", "", error),
        })
    }

    /// Ends a pending call that nobody wants any more; where it runs in the background of this process
    /// it is stopped, of another process only its result is dropped. The answer is what its handle stands for from
    /// now on: `E_TOOL_CANCELLED`, or the result it already had.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn cancel(&self, handle: &str) -> ToolResult {
        let host = &self.0.agent.0.host;
        self.exit(match host.pending(self.0.agent.0.locale).await {
            Ok(pending) => pending.cancel(self, handle).await,
            Err(error) => ToolResult::error("", "", error),
        })
    }

    /// What leaves the host of a call in the background, as [`executor::exit`] has it. A secret may
    /// have become one since the result was stored.
    pub(crate) fn exit(&self, result: ToolResult) -> ToolResult {
        let agent = &self.0.agent.0;
        let tool = agent.registry.get(result.tool_name());
        let limit = tool.map_or(ErrorMessageLimit::DEFAULT, |tool| tool.error_message_limit);
        executor::exit(&agent.host.redactor, result, limit)
    }

    /// Opens a turn: runs the first halves of the agent's `turn` middleware.
    ///
    /// # Errors
    /// `E_MIDDLEWARE` where a middleware ends the turn before it begins.
    pub async fn open_turn(&self, start: impl Into<TurnStart>) -> Result<Turn, ToolError> {
        Turn::open(self.clone(), start.into()).await
    }
}
