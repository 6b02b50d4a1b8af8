//! A step: what a model is shown, and what it may call.

use std::sync::Arc;

use serde_json::Value;
use toolhost_contract::{
    AgentEvent, AssistantMessage, ErrorMessageLimit, HandlerError, ToolCall, ToolError, ToolResult,
};
use toolhost_sandbox::WriteProtected;
use tracing::Instrument;

use crate::agent::{Permit, RegistryCalls};
use crate::call::executor;
use crate::catalog::ToolCatalog;
use crate::events::{StepSpan, TurnSpan};
use crate::middleware::{Opened, SuspendedPipeline, pipeline::Pipeline};
use crate::middleware::{StepContext, ToolCallContext};
use crate::pending::Handle;
use crate::registry::RegisteredTool;
use crate::registry::overlay::Overlay;
use crate::turn::{TurnInner, unopened};
use toolhost_contract::normalise_error;

/// A step that is open. Share it by reference or in an [`Arc`]: its calls may run at the same time.
///
/// [`Step::close`] ends it well, [`Step::fail`] does not; dropped, it has failed, and the second halves
/// of its middleware do not run.
#[derive(Debug)]
#[must_use = "a step is closed, so that its middleware is told"]
pub struct Step {
    scope: Scope,
    held: SuspendedPipeline<StepContext>,
    span: StepSpan,
    responses: Vec<AgentEvent>,
}

/// What a call is executed in: a snapshot. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Scope {
    pub(crate) catalog: ToolCatalog,
    pub(crate) step_id: Arc<str>,
    pub(crate) turn: Arc<TurnInner>,
    /// The handle of the background call that this is the scope of.
    pub(crate) background: Option<Handle>,
    overlay: Arc<Overlay>,
    protected: WriteProtected,
}

impl std::fmt::Debug for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scope")
            .field("step_id", &self.step_id)
            .field("turn", &self.turn)
            .finish_non_exhaustive()
    }
}

impl Scope {
    pub(crate) fn allows_registry_calls(&self) -> bool {
        self.turn.agent().registry_calls == RegistryCalls::Allowed
    }

    /// A tool of the registry: the bundle's, and what this agent's extensions had registered when
    /// the step was opened.
    ///
    /// Spec: tool-spec-v2 §2.1(4), §3.
    pub(crate) fn registered(&self, name: &str) -> Option<&RegisteredTool> {
        let declared = self.turn.agent().registry.get(name);
        declared.or_else(|| self.overlay.get(name))
    }

    pub(crate) fn layers(&self) -> &Pipeline<ToolCallContext> {
        &self.overlay.tool_call
    }

    pub(crate) fn protected(&self) -> &WriteProtected {
        &self.protected
    }

    pub(crate) fn permit(&self, tool: &RegisteredTool) -> Permit {
        self.turn.agent().permit(tool.item.name.resource())
    }
}

/// What other agents have answered meanwhile. Those that cannot be read now come before a later step.
async fn responses(turn: &TurnInner) -> Vec<AgentEvent> {
    let Some(agents) = &turn.agents else {
        return Vec::new();
    };
    agents.take_responses().await.unwrap_or_else(|error| {
        tracing::warn!(%error, "responses of other agents cannot be read now");
        Vec::new()
    })
}

impl Step {
    pub(crate) async fn open(
        turn: &Arc<TurnInner>,
        of_turn: &TurnSpan,
        number: u32,
    ) -> Result<Self, ToolError> {
        let agent = turn.agent();
        let overlay = agent.overlay.snapshot();
        let step_id: Arc<str> = format!("step-{number}").into();
        let span = of_turn.step(&step_id);
        let shown = agent.shown(&overlay);
        let (catalog, held) = if overlay.step.is_empty() {
            (shown, SuspendedPipeline::closed())
        } else {
            let context = StepContext::new(shown.items().to_vec(), &step_id, turn);
            let opened =
                SuspendedPipeline::open(&overlay.step, context).instrument(span.span().clone());
            match opened.await {
                Ok(Opened { context, held }) => (context.tool_catalog.into_iter().collect(), held),
                Err(ended) => {
                    let error = turn.told(unopened(ended, "step", agent.locale), None);
                    span.end(Some(&error));
                    return Err(error);
                }
            }
        };
        let scope = Scope {
            catalog,
            step_id,
            background: None,
            overlay,
            protected: agent.host.protected(),
            turn: Arc::clone(turn),
        };
        Ok(Self {
            scope,
            held,
            span,
            responses: responses(turn).await,
        })
    }

    /// Id of the step: `step-1` is the turn's first.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.scope.step_id
    }

    /// Answers of other agents to asynchronous requests that have come since the last step: events
    /// of type `agent.response`, for the model to be told. `metadata.inReplyTo` is the correlation id
    /// that `agents__request` gave.
    ///
    /// Spec: tool-spec-v2 §2.6(2).
    #[must_use]
    pub fn responses(&self) -> &[AgentEvent] {
        &self.responses
    }

    /// What the model is shown in this step.
    #[must_use]
    pub fn catalog(&self) -> &ToolCatalog {
        &self.scope.catalog
    }

    /// Executes a call that `message` holds. Whatever happens, the answer is a [`ToolResult`].
    ///
    /// Runs where it is awaited, on any executor. Calls of one step may run at the same time.
    /// Dropping the future stops the guest and gives back what it held.
    ///
    /// Spec: tool-spec-v2 §8, §9, §10.
    pub async fn execute(&self, call: ToolCall, message: &AssistantMessage) -> ToolResult {
        let span = self.span.call(&call.id, &executor::shown(&call.name));
        let executed = executor::execute(&self.scope, call, message);
        let result = executed.instrument(span.span().clone()).await;
        span.end(&result);
        result
    }

    /// Executes a call that came without a message, such as one from a command line.
    pub async fn execute_without_message(&self, call: ToolCall) -> ToolResult {
        let message = AssistantMessage::for_call(&call);
        self.execute(call, &message).await
    }

    /// Executes a call in the background; the answer is `pending` with a handle at once, and
    /// [`Instance::poll`](crate::Instance::poll) gives the result, a refusal too, in this process or
    /// a later one. A call that runs when its process dies, or the runtime it was submitted from ends,
    /// is `E_TOOL_INTERRUPTED`. Until it has ended it keeps what it needs of the host: cancel what is
    /// no longer wanted.
    ///
    /// Needs a tokio runtime only where the tool is an extension's and needs one itself: then call it
    /// from there.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn submit(&self, call: ToolCall, message: &AssistantMessage) -> ToolResult {
        let span = self.span.call(&call.id, &executor::shown(&call.name));
        let turn = &self.scope.turn;
        let pending = turn.agent().host.pending(turn.locale());
        let stored = match executor::check_submitted(&self.scope, &call, message) {
            Ok(()) => pending.await,
            Err(refusal) => Err(refusal),
        };
        let result = match stored {
            Ok(pending) => {
                let (scope, work, held) = (self.scope.clone(), call.clone(), message.clone());
                let within = span.span().clone();
                let work = move |handle| {
                    let scope = Scope {
                        background: Some(handle),
                        ..scope
                    };
                    let executed = async move { executor::execute(&scope, work, &held).await };
                    executed.instrument(within)
                };
                pending.submit(turn, &call, message, work).await
            }
            Err(error) => ToolResult::error(&call.id, &executor::shown(&call.name), error),
        };
        let result = turn.instance.exit(result);
        span.end(&result);
        result
    }

    /// Ends the step with what came of it: runs the second halves of the middleware, and gives what
    /// they make of it.
    ///
    /// # Errors
    /// Where a middleware makes a failure of it.
    pub async fn close(self, answer: impl Into<Value>) -> Result<Value, ToolError> {
        self.end(Ok(answer.into())).await
    }

    /// Ends the step as failed; a middleware may still make an answer of it.
    ///
    /// # Errors
    /// The failure, as the middleware left it.
    pub async fn fail(self, error: HandlerError) -> Result<Value, ToolError> {
        let locale = self.scope.turn.locale();
        let error = normalise_error(error, ErrorMessageLimit::DEFAULT, locale);
        self.end(Err(error)).await
    }

    async fn end(self, answer: Result<Value, ToolError>) -> Result<Value, ToolError> {
        let before = answer.as_ref().err().map(|error| error.code.clone());
        let closed = self.held.close(answer);
        let answer = closed.instrument(self.span.span().clone()).await;
        let answer = answer.map_err(|error| self.scope.turn.told(error, before.as_ref()));
        self.span.end(answer.as_ref().err());
        answer
    }
}
