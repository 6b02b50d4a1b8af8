//! A turn: what one input makes an agent do, in steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use serde_json::Value;
use toolhost_contract::{
    AssistantMessage, ErrorCode, ErrorMessageLimit, HandlerError, Locale, ToolContext, ToolError,
    ToolName, ToolResult, ToolStatus,
};
use toolhost_sandbox::{Invocation, Operation, WriteProtected};
use tracing::Instrument;

use crate::agent::{AgentInner, Permit};
use crate::agents_port;
use crate::events::TurnSpan;
use crate::instance::{Instance, TurnStart};
use crate::middleware::{Opened, SuspendedPipeline};
use crate::middleware::{TurnContext, sanitize_error_code};
use crate::pending::PendingCall;
use crate::step::Step;
use toolhost_agents::AgentsClient;
use toolhost_contract::{limit_error, normalise_error};

/// A turn that is open. [`Turn::close`] ends it well, [`Turn::fail`] does not; dropped, it has failed,
/// and the second halves of its middleware do not run.
///
/// Its id is the runtime's; that no two turns have the same is the runtime's to see to. A step does not
/// hold its turn open, nor does closing the turn close its steps: close them first.
#[derive(Debug)]
#[must_use = "a turn is closed, so that its middleware is told"]
pub struct Turn {
    inner: Arc<TurnInner>,
    input: Value,
    held: SuspendedPipeline<TurnContext>,
    span: TurnSpan,
}

/// Whose turn it is. Shared by its steps and calls.
#[derive(Debug)]
pub(crate) struct TurnInner {
    pub(crate) id: String,
    pub(crate) instance: Instance,
    pub(crate) trace_id: String,
    pub(crate) agents: Option<AgentsClient>,
    required_succeeded: AtomicBool,
    steps: AtomicU32,
}

impl TurnInner {
    pub(crate) fn agent(&self) -> &Arc<AgentInner> {
        &self.instance.0.agent.0
    }

    pub(crate) fn agent_name(&self) -> &str {
        &self.agent().name
    }

    pub(crate) fn instance_key(&self) -> &str {
        self.instance.key()
    }

    pub(crate) fn trace_id(&self) -> &str {
        &self.trace_id
    }

    pub(crate) fn locale(&self) -> Locale {
        self.agent().locale
    }

    /// The turn of a call that was made earlier, perhaps by another process.
    pub(crate) fn resumed(instance: &Instance, call: &PendingCall) -> Self {
        Self {
            id: call.turn_id.clone(),
            trace_id: call.trace_id.clone().unwrap_or_default(),
            instance: instance.clone(),
            agents: None,
            required_succeeded: AtomicBool::new(false),
            steps: AtomicU32::new(0),
        }
    }

    /// What a handler is told of a call. The host's own paths are no part of it.
    ///
    /// Spec: tool-spec-v2 §2.5, §7.3.
    pub(crate) fn tool_context(&self, call_id: &str, message: &AssistantMessage) -> ToolContext {
        ToolContext {
            agent_name: self.agent_name().to_owned(),
            instance_key: self.instance_key().to_owned(),
            turn_id: self.id.clone(),
            tool_call_id: call_id.to_owned(),
            trace_id: Some(self.trace_id.clone()),
            message: message.clone(),
            workdir: "/".to_owned(),
        }
    }

    /// An error as it leaves the layers and the host; `before` is the code they were given.
    pub(crate) fn told(&self, error: ToolError, before: Option<&ErrorCode>) -> ToolError {
        let error = sanitize_error_code(error, before, self.locale());
        let redactor = &self.agent().host.redactor;
        limit_error(redactor.error(error), ErrorMessageLimit::DEFAULT)
    }

    /// What a component of this turn's agent is asked, under what the policy gives to its tool.
    pub(crate) fn invocation(
        &self,
        permit: Permit,
        protected: WriteProtected,
        context: ToolContext,
        operation: Operation,
    ) -> Invocation {
        let agents = permit.agents.then(|| {
            let redactor = &self.agent().host.redactor;
            agents_port::port(self.agents.as_ref(), redactor)
        });
        Invocation {
            operation,
            context,
            workdir: Some(self.instance.workdir().clone()),
            protected,
            grants: permit.grants,
            agents,
            limits: permit.limits,
        }
    }

    /// Remembers that a required tool has succeeded.
    pub(crate) fn saw(&self, result: &ToolResult) {
        let required = &self.agent().required;
        if required.is_empty() || result.status() != ToolStatus::Ok {
            return;
        }
        if required
            .iter()
            .any(|name| name.as_str() == result.tool_name())
        {
            self.required_succeeded.store(true, Relaxed);
        }
    }
}

impl Turn {
    pub(crate) async fn open(instance: Instance, start: TurnStart) -> Result<Self, ToolError> {
        let pipeline = instance.0.agent.0.overlay.snapshot().turn.clone();
        let trace_id = start.trace_id.as_deref().filter(|text| !text.is_empty());
        let span = instance.0.emitter.turn(&start.id, trace_id);
        let inner = Arc::new(TurnInner {
            id: start.id,
            trace_id: match trace_id {
                Some(own) => own.to_owned(),
                None => span.trace().trace_id().to_string(),
            },
            instance,
            agents: start.agents,
            required_succeeded: AtomicBool::new(false),
            steps: AtomicU32::new(0),
        });
        let context = TurnContext::new(start.input, &inner);
        let opened = SuspendedPipeline::open(&pipeline, context).instrument(span.span().clone());
        match opened.await {
            Ok(Opened { context, held }) => Ok(Self {
                input: context.input,
                inner,
                held,
                span,
            }),
            Err(ended) => {
                let error = inner.told(unopened(ended, "turn", inner.locale()), None);
                span.end(Some(&error));
                Err(error)
            }
        }
    }

    /// Id of the turn.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.inner.id
    }

    /// Id that ties together everything that happens for one request.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        self.inner.trace_id()
    }

    /// What the turn is about, as middleware left it.
    #[must_use]
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// Opens a step: runs the first halves of the agent's `step` middleware on the catalog, which
    /// then becomes the snapshot that the step's calls are admitted against. What is write-protected
    /// is looked up anew: the files of every bundle the host has loaded.
    ///
    /// # Errors
    /// `E_MIDDLEWARE` where a middleware ends the step before it begins.
    ///
    /// Spec: tool-spec-v2 §2.1.
    pub async fn open_step(&self) -> Result<Step, ToolError> {
        let number = self.inner.steps.fetch_add(1, Relaxed) + 1;
        Step::open(&self.inner, &self.span, number).await
    }

    /// Whether the turn may end: none of the agent's tools is required, or one that is has
    /// succeeded in this turn. A runtime that asks takes another step where it may not.
    ///
    /// See [`Agent::required_tools`](crate::Agent::required_tools).
    #[must_use]
    pub fn required_tools_satisfied(&self) -> bool {
        self.inner.agent().required.is_empty() || self.inner.required_succeeded.load(Relaxed)
    }

    /// Asks for the result of a pending call, as [`Instance::poll`] does: a required tool that
    /// succeeds so counts for this turn.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn poll(&self, handle: &str) -> ToolResult {
        let result = self.inner.instance.poll(handle).await;
        self.inner.saw(&result);
        result
    }

    /// The tools of which one must succeed before the turn may end.
    #[must_use]
    pub fn required_tools(&self) -> &[ToolName] {
        &self.inner.agent().required
    }

    /// Ends the turn with its answer: runs the second halves of the middleware, and gives what they
    /// make of it. Responses of other agents that its steps were given are acknowledged.
    ///
    /// # Errors
    /// Where a middleware makes a failure of it.
    pub async fn close(self, answer: impl Into<Value>) -> Result<Value, ToolError> {
        self.end(Ok(answer.into())).await
    }

    /// Ends the turn as failed; a middleware may still make an answer of it.
    ///
    /// # Errors
    /// The failure, as the middleware left it.
    pub async fn fail(self, error: HandlerError) -> Result<Value, ToolError> {
        let error = normalise_error(error, ErrorMessageLimit::DEFAULT, self.inner.locale());
        self.end(Err(error)).await
    }

    async fn end(self, answer: Result<Value, ToolError>) -> Result<Value, ToolError> {
        let before = answer.as_ref().err().map(|error| error.code.clone());
        let closed = self.held.close(answer);
        let answer = closed.instrument(self.span.span().clone()).await;
        let answer = answer.map_err(|error| self.inner.told(error, before.as_ref()));
        self.span.end(answer.as_ref().err());
        if let (Ok(_), Some(agents)) = (&answer, &self.inner.agents) {
            // Those that cannot be acknowledged now are given out again.
            if let Err(error) = agents.acknowledge_responses().await {
                tracing::warn!(%error, "responses of other agents are not acknowledged");
            }
        }
        answer
    }
}

/// The error of a turn or step that a middleware answered itself.
pub(crate) fn unopened(ended: Result<Value, ToolError>, kind: &str, locale: Locale) -> ToolError {
    ended.err().unwrap_or_else(|| {
        let message = format!("A {kind} middleware answered in the place of the {kind}.");
        ToolError::host(
            toolhost_contract::ToolErrorCode::Middleware,
            message,
            locale,
        )
    })
}
