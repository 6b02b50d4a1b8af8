//! A step: the tools that a model sees, and their calls.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use futures_util::{StreamExt, stream};
use serde_json::Value;
use toolhost_contract::{
    AgentEvent, AssistantMessage, AuthorizationRequired, HandlerError, ToolCall, ToolError,
    ToolResult,
};
use toolhost_runtime::debug_fields;
use tracing::Instrument;

use crate::background::{held, submit};
use crate::call::cancellation::{cancelled_result, run_until};
use crate::call::executor;
use crate::call::scope::{CallScope, Notices, TurnScope};
use crate::catalog::ToolCatalog;
use crate::catalog::search::hits::ToolHit;
use crate::events::Activity;
use crate::handles::turn::Turn;
use crate::middleware::{Extensions, StepContext, SuspendedPipeline};
use crate::workdir_provider::provider_error;

/// How many calls of one message run at the same time.
const CALLS_AT_ONCE: usize = 64;

/// Why a call ends whose `stop` has ended.
const STOPPED: &str = "the runtime stopped it";

/// An open step. Its calls may run at the same time: share it by reference, such as with
/// [`execute_all`](Self::execute_all) or `join!`, or in an [`Arc`]; [`Arc::into_inner`] returns it to be closed
/// once the other tasks have ended.
///
/// It holds all that it needs: it stays usable while the host, the bundle or the turn is dropped.
///
/// [`Step::close`] ends it well, [`Step::fail`] with an error. Dropping it counts as a failure, and the
/// second halves of its middleware do not run.
///
/// ```no_run
/// # async fn example(turn: toolhost::Turn, message: serde_json::Value) -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost::AssistantMessage;
///
/// let step = turn.open_step().await?;
/// let message = AssistantMessage::parse(message)?;
/// for call in message.tool_calls() {
///     let result = step.execute(call.clone(), &message).await;
///     println!("{} is {:?}", call.name, result.status());
/// }
/// step.close(()).await?;
/// # Ok(())
/// # }
/// ```
#[must_use = "close the step, so that the second halves of its middleware run"]
pub struct Step {
    scope: CallScope,
    workdirs: StepWorkdirs,
    pipeline: SuspendedPipeline<StepContext>,
    span: Activity<'static>,
    responses: Vec<AgentEvent>,
}

debug_fields!(Step, this => id: this.id(), turn: this.scope.turn);

/// Commits or discards, once, what the calls of the step changed.
#[derive(Debug)]
struct StepWorkdirs {
    turn: Arc<TurnScope>,
    step_id: Arc<str>,
    is_committed: bool,
}

impl StepWorkdirs {
    async fn commit(mut self) -> Result<(), ToolError> {
        let turn = &self.turn;
        let workdirs = &turn.agent().host.workdirs;
        let committed = workdirs.commit_step(&turn.origin, &self.step_id).await;
        committed.map_err(|error| {
            let message = "The changes of the step could not be committed.";
            provider_error(&error, message, turn.locale())
        })?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for StepWorkdirs {
    fn drop(&mut self) {
        if !self.is_committed {
            let workdirs = &self.turn.agent().host.workdirs;
            workdirs.discard_step(&self.turn.origin, &self.step_id);
        }
    }
}

/// Takes the responses of other agents. A later step takes those that cannot be read now.
async fn responses(turn: &TurnScope) -> Vec<AgentEvent> {
    let Some(agents) = &turn.options.agents else {
        return Vec::new();
    };
    agents.take_responses().await.unwrap_or_else(|error| {
        tracing::warn!(%error, "responses of other agents could not be read");
        Vec::new()
    })
}

impl Turn {
    /// Opens a step: runs the first halves of the agent's `step` middleware on the catalog. The
    /// catalog that results is fixed for the step; calls are admitted against it. The files of every
    /// loaded bundle are looked up again, to be write-protected. The tools are those of the instance's load of
    /// the bundle, or of the current one: see [`TurnStart::with_live_bundle`](crate::TurnStart::with_live_bundle).
    ///
    /// # Errors
    /// `E_MIDDLEWARE` if a middleware ends the step before it begins; `E_TOOL_UNLOADED` if the
    /// [bundle was unloaded](crate::LoadedBundle::unload), or its current load has no such agent.
    ///
    /// Spec: tool-spec-v2 §2.1.
    pub async fn open_step(&self) -> Result<Step, ToolError> {
        let turn = &self.scope.of_next_step()?;
        let number = self.steps.fetch_add(1, Relaxed) + 1;
        let agent = turn.agent();
        let overlay = agent.overlay.snapshot();
        let step_id: Arc<str> = format!("step-{number}").into();
        let span = self.span.step(&step_id);
        let catalog = agent.step_catalog(&overlay);
        let mut extensions = None;
        let (catalog, pipeline) = if overlay.added.step.is_empty() {
            (catalog, SuspendedPipeline::empty())
        } else {
            let values = Extensions::within(&turn.extensions);
            extensions = Some(values.clone());
            let items = catalog.items().to_vec();
            let context = StepContext::new(items, values, &step_id, &turn.origin);
            let layers = turn.open_layers(&overlay.added.step, context, span.span());
            match layers.await {
                Ok((context, pipeline)) => (context.tool_catalog.into_iter().collect(), pipeline),
                Err(error) => {
                    span.end(Some(&error));
                    return Err(error);
                }
            }
        };
        let workdirs = StepWorkdirs {
            turn: Arc::clone(turn),
            step_id: Arc::clone(&step_id),
            is_committed: false,
        };
        let scope = CallScope {
            catalog,
            step_id,
            extensions,
            notices: Notices::default(),
            background: None,
            overlay,
            protected: agent.host.protection.snapshot(),
            turn: Arc::clone(turn),
            trace: span.trace().clone(),
            outer: None,
            release: None,
        };
        Ok(Step {
            scope,
            workdirs,
            pipeline,
            span,
            responses: responses(turn).await,
        })
    }
}

impl Step {
    /// Id of the step: `step-1` is the turn's first.
    pub fn id(&self) -> &str {
        &self.scope.step_id
    }

    /// Responses of other agents to asynchronous requests that arrived since the last step: events of
    /// type `agent.response`, to be given to the model. `metadata.inReplyTo` is the correlation id that
    /// `agents__request` returned.
    ///
    /// Spec: tool-spec-v2 §2.6(2).
    pub fn responses(&self) -> &[AgentEvent] {
        &self.responses
    }

    /// What users have to do before calls of this step can run, each once: a call of a tool whose user has not
    /// granted access to an OAuthApp yet is `E_TOOL_AUTH_REQUIRED`. For the user, beside what the model answers.
    ///
    /// Spec: requirements-v1 §12.6.6.
    pub fn notices(&self) -> Vec<AuthorizationRequired> {
        self.scope.notices.list()
    }

    /// The tools that the model sees in this step.
    pub fn catalog(&self) -> &ToolCatalog {
        &self.scope.catalog
    }

    /// The tools that the model is shown: all, unless the turn [says otherwise](crate::TurnStart::with_exposure).
    pub fn exposed(&self) -> ToolCatalog {
        let turn = &self.scope.turn;
        turn.agent().exposed(self.catalog(), turn.options.exposure)
    }

    /// Returns the tools of this step that fit a query, the best first: at most `limit`, and at most 50. As
    /// [`ToolCatalog::search`], or by the [ranker](crate::HostBuilder::tool_ranker) of the host; the search is an
    /// [event](crate::events). The tools of [`catalog_tools`](crate::catalog_tools) themselves are left out; with
    /// [`ToolExposure::Script`](crate::search::ToolExposure::Script), so is what no program may call.
    pub async fn search(&self, query: &str, limit: usize) -> Vec<ToolHit<'_>> {
        let admits = self.scope.search_filter();
        self.scope.search(query, limit, None, admits).await
    }

    /// Executes a call that `message` contains. Every failure is a [`ToolResult`] too.
    ///
    /// The message must contain a call with this id. Name and arguments are those of `call`, so that a
    /// runtime may have repaired them; take it from [`AssistantMessage::tool_calls`] otherwise.
    ///
    /// Runs where it is awaited, on any executor. Calls of one step may run at the same time. Dropping
    /// the future stops the guest and releases its resources.
    ///
    /// Spec: tool-spec-v2 §8, §9, §10.
    pub async fn execute(&self, call: ToolCall, message: &AssistantMessage) -> ToolResult {
        let identity = self.scope.identity(&call);
        let activity = self.span.call(&identity, &call);
        let executed = pin!(executor::execute(&self.scope, call, &identity, message));
        let result = executed.instrument(activity.span().clone()).await;
        activity.end_call(&result);
        if result.awaits_approval().is_some() {
            held::watch(&self.scope.turn.instance);
        }
        result
    }

    /// Executes a call until `stop` ends; then the call ends as [`Self::execute`] does when its future is
    /// dropped, and the result is `E_TOOL_CANCELLED`. A call that commits its changes by then
    /// (`workdir: transactional`) is not stopped any more.
    ///
    /// ```
    /// # use toolhost::{AssistantMessage, Step, ToolCall, ToolResult};
    /// # async fn example(step: &Step, call: ToolCall, message: &AssistantMessage) -> ToolResult {
    /// use std::time::Duration;
    ///
    /// // A shorter deadline than the policy's; `token.cancelled()` of a `CancellationToken` stops it too.
    /// let stop = tokio::time::sleep(Duration::from_secs(5));
    /// step.execute_until(call, message, stop).await
    /// # }
    /// ```
    pub async fn execute_until(
        &self,
        call: ToolCall,
        message: &AssistantMessage,
        stop: impl Future<Output = ()>,
    ) -> ToolResult {
        let identity = self.scope.identity(&call);
        let activity = self.span.call(&identity, &call);
        let executed = executor::execute(&self.scope, call, &identity, message);
        let executed = Box::pin(executed.instrument(activity.span().clone()));
        let stopped = || cancelled_result(&identity, STOPPED);
        let result = run_until(stop, executed).await.unwrap_or_else(stopped);
        activity.end_call(&result);
        result
    }

    /// Executes a call that came without an assistant message, such as one from a command line.
    pub async fn execute_without_message(&self, call: ToolCall) -> ToolResult {
        let message = AssistantMessage::for_call(&call);
        pin!(self.execute(call, &message)).await
    }

    /// Executes the calls of a message, at most 64 at the same time, and returns their results in the order
    /// of the calls. Each is what [`Self::execute`] returns for it.
    ///
    /// ```
    /// # async fn example(step: &toolhost::Step, message: serde_json::Value) -> Result<(), toolhost::MessageError> {
    /// use toolhost::{AssistantMessage, ToolResult};
    ///
    /// let message = AssistantMessage::parse(message)?; // what the model answered
    /// let results = step.execute_all(&message).await;
    /// let answers = results.iter().map(ToolResult::to_openai); // also: to_anthropic, to_ai_sdk, to_mcp
    /// # drop(answers);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn execute_all(&self, message: &AssistantMessage) -> Vec<ToolResult> {
        let calls = message.tool_calls().iter().cloned();
        // Boxed: the future of a call is large.
        let executed = calls.map(|call| Box::pin(self.execute(call, message)));
        let executed = stream::iter(executed).buffered(CALLS_AT_ONCE);
        executed.collect().await
    }

    /// Executes a call in the background. The result is `pending` with a handle, at once;
    /// [`Instance::poll`](crate::Instance::poll) returns the final result, in this process or a later
    /// one. If the process, or the runtime that the call was submitted from, ends while the call runs,
    /// that result is `E_TOOL_INTERRUPTED`. The call keeps its resources of the host until it ends:
    /// cancel it if the result is not needed.
    ///
    /// A call that the catalog or the schema refuses is an error at once, without a handle: its
    /// `toolCall` middleware runs before this returns. If a middleware repairs such a call, the call
    /// runs before this returns, too. What a middleware itself denies is polled.
    ///
    /// Call this from a tokio runtime if the tool is an extension's and needs one.
    ///
    /// Spec: tool-spec-v2 §9.2, §10.2.
    pub async fn submit(&self, call: ToolCall, message: &AssistantMessage) -> ToolResult {
        let identity = self.scope.identity(&call);
        let activity = self.span.call(&identity, &call);
        let result = submit(&self.scope, call, message, activity.span().clone()).await;
        activity.end_call(&result);
        result
    }

    /// Ends the step with its answer: runs the second halves of the middleware, and returns the answer
    /// that they make of it.
    ///
    /// # Errors
    /// If a middleware replaces the answer with an error.
    pub async fn close(self, answer: impl Into<Value>) -> Result<Value, ToolError> {
        self.end(Ok(answer.into())).await
    }

    /// Ends the step with an error. A middleware may still make an answer of it.
    ///
    /// # Errors
    /// The error, as middleware left it.
    pub async fn fail(self, error: HandlerError) -> Result<Value, ToolError> {
        let error = self.scope.turn.failure(error);
        self.end(Err(error)).await
    }

    async fn end(self, answer: Result<Value, ToolError>) -> Result<Value, ToolError> {
        let turn = &self.scope.turn;
        let closed = turn.close_layers(self.pipeline, answer, self.span.span());
        let mut answer = closed.await;
        if answer.is_ok()
            && let Err(error) = self.workdirs.commit().await
        {
            answer = Err(error);
        }
        self.span.end(answer.as_ref().err());
        answer
    }
}
