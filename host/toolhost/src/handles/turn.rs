//! A turn: the steps of an agent for one input.

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolhost_agents::AgentsClient;
use toolhost_contract::{HandlerError, ToolError, ToolName, ToolResult};
use toolhost_runtime::lock;

use crate::call::live_log::{CallLogRecord, LogListener};
use crate::call::scope::{TurnOptions, TurnScope, unloaded};
use crate::catalog::exposure::ToolExposure;
use crate::events::Activity;
use crate::handles::instance::Instance;
use crate::live_bundle::LiveBundle;
use crate::middleware::{Extensions, SuspendedPipeline, TurnContext};
use crate::recording::recorder::CallRecorder;

/// What a turn starts with. A string converts to the id of a turn without anything else.
#[derive(Debug, Clone)]
pub struct TurnStart {
    id: String,
    trace_id: Option<String>,
    input: Value,
    options: TurnOptions,
}

/// Longest id of a trace, in bytes.
const TRACE_ID_BYTES_MAX: usize = 256;

impl TurnStart {
    /// Starts a turn of this id.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            trace_id: None,
            input: Value::Null,
            options: TurnOptions::default(),
        }
    }

    /// Sets the id shared by everything that happens for one request, such as a `traceparent` of W3C Trace
    /// Context. One of more than 256 bytes is ignored. Default: a new one.
    #[must_use]
    pub fn with_trace_id(mut self, trace_id: impl Into<String>) -> Self {
        self.trace_id = Some(trace_id.into());
        self
    }

    /// Sets the turn's input, for `turn` middleware. Default: `null`.
    #[must_use]
    pub fn with_input(mut self, input: impl Into<Value>) -> Self {
        self.input = input.into();
        self
    }

    /// Adds a value that the middleware and the native handlers of the turn read by its type, such as the user
    /// of the turn: `context.extensions.get::<T>()`. Default: none.
    ///
    /// ```
    /// use toolhost::extension::HandlerContext;
    /// use toolhost::{HandlerError, JsonObject, TurnStart};
    ///
    /// struct User(String);
    ///
    /// async fn greet(context: HandlerContext, _: JsonObject) -> Result<serde_json::Value, HandlerError> {
    ///     let user = context.extensions().get::<User>();
    ///     let user = user.ok_or_else(|| HandlerError::new("the turn has no user"))?;
    ///     Ok(format!("Hello {}", user.0).into())
    /// }
    ///
    /// let start = TurnStart::new("turn-1").with_extension(User("ada".to_owned()));
    /// # let _ = (start, greet);
    /// ```
    #[must_use]
    pub fn with_extension<T: Send + Sync + 'static>(mut self, value: T) -> Self {
        // A clone of this start keeps the values that it has.
        let earlier = self.options.extensions.take();
        let extensions =
            earlier.map_or_else(Extensions::default, |outer| Extensions::within(&outer));
        extensions.insert(value);
        self.options.extensions = Some(extensions);
        self
    }

    /// Sets the user for whom the turn runs: calls use the grants of this subject for OAuthApps with
    /// `subjectMode: user`. The runtime must have authenticated the user. Default: none; then such calls are
    /// `E_TOOL_AUTH_SUBJECT`.
    ///
    /// Spec: requirements-v1 §12.6.1(1).
    #[must_use]
    pub fn with_subject(mut self, subject: impl Into<String>) -> Self {
        self.options.subject = Some(subject.into().into());
        self
    }

    /// Sets the client through which the turn's calls use other agents: the `agents` tool, and
    /// components to which the policy grants it. Default: none. What is [approved](crate::approvals) after the turn uses
    /// the client of the instance's latest turn that had one.
    #[must_use]
    pub fn with_agents(mut self, agents: AgentsClient) -> Self {
        self.options.agents = Some(agents);
        self
    }

    /// Opens each step of the turn with the agent of the current bundle: a bundle that is loaded again
    /// within the turn takes effect at the next step, and never within one. Default: all steps use the load
    /// that the instance was made from.
    ///
    /// The agent is found by its name. If the current bundle does not have it, no further step opens
    /// (`E_TOOL_UNLOADED`). [`Turn::required_tools`] stay those that the turn began with.
    ///
    /// Spec: requirements-v1 §12.4.
    #[must_use]
    pub fn with_live_bundle(mut self, bundle: &LiveBundle) -> Self {
        self.options.bundle = Some(bundle.clone());
        self
    }

    /// Stops the calls of the turn when `token` is cancelled. Default: nothing stops them together; then
    /// calls do no work for it.
    ///
    /// - A call that runs ends at once as `E_TOOL_CANCELLED`, as if its future was dropped: the guest is
    ///   stopped, and its resources are released. So are a native handler and the middleware of the call.
    ///   A result that is ready at that moment is returned.
    /// - A call that begins later is `E_TOOL_CANCELLED` and does not run, also one that is submitted.
    /// - A call that was submitted before goes on in the background, because it may outlive its turn:
    ///   [`Instance::cancel`] ends it. So do polls.
    /// - The turn and its steps stay open; the runtime closes or drops them.
    ///
    /// ```
    /// use toolhost::{CancellationToken, Instance, ToolCall, ToolError, ToolResult, TurnStart};
    ///
    /// /// Executes a call for as long as the user waits.
    /// async fn run(
    ///     instance: &Instance,
    ///     call: ToolCall,
    ///     stop: CancellationToken, // `stop.cancel()` in the handler of the button
    /// ) -> Result<ToolResult, ToolError> {
    ///     let start = TurnStart::new("turn-1").with_cancellation(stop);
    ///     let turn = instance.open_turn(start).await?;
    ///     let step = turn.open_step().await?;
    ///     let result = step.execute_without_message(call).await; // E_TOOL_CANCELLED once it is stopped
    ///     step.close(()).await?;
    ///     turn.close(()).await?;
    ///     Ok(result)
    /// }
    /// # let _ = run;
    /// ```
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.options.cancellation = Some(token);
        self
    }

    /// Calls `receive` with what the calls of the turn log, while they run: the records of a component's
    /// `wasi:logging`, each line that it prints, and what a native handler logs. Default: nothing; then
    /// calls do no work for it. What a component logs also goes to `tracing` after each call, with or
    /// without this.
    ///
    /// - `receive` runs on the thread that runs the guest, which waits meanwhile and cannot be stopped at
    ///   its deadline: it must not block. Send to a channel that never waits, such as with `try_send`.
    /// - A call has the limits `logRecords` and `logRecordBytes` of the policy (default 1,000 records of
    ///   4 KiB), and 512 KiB for all its records. Its printed lines together have the same limits again.
    ///   What exceeds them is not received.
    /// - Secrets are redacted in each record, and in lines that are printed at once.
    /// - If `receive` panics, it gets no more records of that call. The call goes on.
    /// - No record comes after the future of the call has ended or was dropped. A call that is submitted
    ///   logs until it ends in the background; one that is polled logs only to `tracing`.
    ///
    /// ```
    /// use toolhost::TurnStart;
    ///
    /// let (send, _receive) = std::sync::mpsc::sync_channel(100);
    /// let start = TurnStart::new("turn-1").with_log(move |record| {
    ///     let line = format!("{} {:?} {}", record.tool_name, record.level, record.message);
    ///     // If the receiver is too slow, the record is lost.
    ///     let _is_sent = send.try_send(line).is_ok();
    /// });
    /// # let _ = start;
    /// ```
    #[must_use]
    pub fn with_log(
        mut self,
        receive: impl Fn(&CallLogRecord<'_>) + Send + Sync + 'static,
    ) -> Self {
        self.options.log = Some(LogListener::new(receive));
        self
    }
}

impl TurnStart {
    /// Says what the model sees of the tools of each step: [`Step::exposed`](crate::Step::exposed). Default: all.
    ///
    /// For any other the agent must have [`catalog_tools`](crate::catalog_tools), and for programs the base tool
    /// `javascript` or `python`. Programs are told of the tools that the policy lets them call, and of no other.
    ///
    /// ```no_run
    /// # async fn example(agent: toolhost::Agent, instance: toolhost::Instance) -> Result<(), Box<dyn std::error::Error>> {
    /// use toolhost::{TurnStart, search::ToolExposure};
    ///
    /// agent.extend("tools", toolhost::catalog_tools)?; // once
    /// let start = TurnStart::new("turn-1").with_exposure(ToolExposure::Search);
    /// let turn = instance.open_turn(start).await?;
    /// let step = turn.open_step().await?;
    /// let tools = step.exposed().to_openai(); // tools__search and tools__call
    /// # drop(tools);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_exposure(mut self, exposure: ToolExposure) -> Self {
        self.options.exposure = exposure;
        self
    }

    /// Records the calls of the turn, in the place of [the host's recorder](crate::HostBuilder::recorder).
    /// Polls of calls that were submitted are recorded by the host's. Default: that of the host.
    #[must_use]
    pub fn with_recorder(mut self, recorder: CallRecorder) -> Self {
        self.options.recorder = Some(recorder);
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

/// An open turn. [`Turn::close`] ends it well, [`Turn::fail`] with an error. Dropping it counts as a
/// failure, and the second halves of its middleware do not run.
///
/// The runtime chooses the id, and ensures that it is unique. Close the steps of a turn before the
/// turn: neither closes the other.
///
/// ```no_run
/// # async fn example(instance: toolhost::Instance) -> Result<(), Box<dyn std::error::Error>> {
/// let turn = instance.open_turn("turn-1").await?;
/// loop {
///     let step = turn.open_step().await?;
///     // Ask the model, and execute the calls of its message.
///     step.close(()).await?;
///     if turn.required_tools_satisfied() {
///         break;
///     }
/// }
/// turn.close("the model's answer").await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[must_use = "close the turn, so that the second halves of its middleware run"]
pub struct Turn {
    pub(crate) scope: Arc<TurnScope>,
    pub(crate) span: Activity<'static>,
    /// How many steps were opened.
    pub(crate) steps: AtomicU32,
    input: Value,
    pipeline: SuspendedPipeline<TurnContext>,
}

impl Instance {
    /// Opens a turn: runs the first halves of the agent's `turn` middleware.
    ///
    /// # Errors
    /// `E_MIDDLEWARE` if a middleware ends the turn before it begins; `E_TOOL_UNLOADED` if the
    /// [bundle was unloaded](crate::LoadedBundle::unload).
    pub async fn open_turn(&self, start: impl Into<TurnStart>) -> Result<Turn, ToolError> {
        let start = start.into();
        let instance = &self.0;
        let agent = &instance.agent.0;
        if agent.tools.is_unloading() {
            return Err(unloaded(agent.host.policy.locale()));
        }
        let layers = instance.agent.0.overlay.snapshot().added.turn.clone();
        let trace_id = start.trace_id.as_deref();
        let trace_id = trace_id.filter(|text| (1..=TRACE_ID_BYTES_MAX).contains(&text.len()));
        let trace = instance.emitter.trace(trace_id);
        let trace_id = match trace_id {
            Some(own) => own.into(),
            None => trace.trace_id().to_string().into(),
        };
        if let Some(agents) = &start.options.agents {
            *lock(&instance.agents) = Some(agents.clone());
        }
        let scope = TurnScope::new(instance, &start.id, trace_id, start.options);
        let scope = Arc::new(scope);
        let span = instance.emitter.turn(&scope.origin, trace);
        let context = TurnContext::new(start.input, scope.extensions.clone(), &scope.origin);
        match scope.open_layers(&layers, context, span.span()).await {
            Ok((context, pipeline)) => Ok(Turn {
                scope,
                span,
                steps: AtomicU32::new(0),
                input: context.input,
                pipeline,
            }),
            Err(error) => {
                span.end(Some(&error));
                Err(error)
            }
        }
    }
}

impl Turn {
    /// Id of the turn.
    pub fn id(&self) -> &str {
        &self.scope.origin.turn_id
    }

    /// Id shared by everything that happens for one request.
    pub fn trace_id(&self) -> &str {
        &self.scope.origin.trace_id
    }

    /// The turn's input, as middleware left it.
    pub fn input(&self) -> &Value {
        &self.input
    }

    /// Returns whether the agent requires no tool, or a required tool has succeeded in this turn. If
    /// not, the runtime should take another step instead of closing the turn.
    ///
    /// See [`Agent::required_tools`](crate::Agent::required_tools).
    pub fn required_tools_satisfied(&self) -> bool {
        self.scope.required_tools_satisfied()
    }

    /// Polls the result of a pending call, as [`Instance::poll`] does. A required tool that succeeds
    /// this way counts for this turn.
    ///
    /// Spec: tool-spec-v2 §10.2.
    pub async fn poll(&self, handle: &str) -> ToolResult {
        let instance = &self.scope.instance;
        let result = instance.pending().poll(instance, handle).await.result;
        self.scope.record_result(&result);
        result
    }

    /// The tools of which at least one must succeed before the turn may end.
    pub fn required_tools(&self) -> &[ToolName] {
        &self.scope.agent().required
    }

    /// Ends the turn with its answer: runs the second halves of the middleware, and returns the answer
    /// that they make of it. Responses of other agents that the turn's steps got are acknowledged.
    ///
    /// # Errors
    /// If a middleware replaces the answer with an error.
    pub async fn close(self, answer: impl Into<Value>) -> Result<Value, ToolError> {
        self.end(Ok(answer.into())).await
    }

    /// Ends the turn with an error. A middleware may still make an answer of it.
    ///
    /// # Errors
    /// The error, as middleware left it.
    pub async fn fail(self, error: HandlerError) -> Result<Value, ToolError> {
        let error = self.scope.failure(error);
        self.end(Err(error)).await
    }

    async fn end(self, answer: Result<Value, ToolError>) -> Result<Value, ToolError> {
        let closed = self
            .scope
            .close_layers(self.pipeline, answer, self.span.span());
        let answer = closed.await;
        self.span.end(answer.as_ref().err());
        if let (Ok(_), Some(agents)) = (&answer, &self.scope.options.agents)
            && let Err(error) = agents.acknowledge_responses().await
        {
            // A later turn gets them again.
            tracing::warn!(%error, "responses of other agents could not be acknowledged");
        }
        answer
    }
}
