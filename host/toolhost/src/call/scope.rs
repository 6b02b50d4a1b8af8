//! What calls need of their instance, their turn and their step.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use toolhost_agents::AgentsClient;
use toolhost_contract::{
    AssistantMessage, AuthorizationRequired, ErrorCode, ErrorMessageLimit, HandlerError,
    HeldSecret, Locale, ResourceName, ToolCall, ToolError, ToolErrorCode, ToolResult, ToolStatus,
    limit_error, normalise_error,
};
use toolhost_files::{NotPrivate, PrivateDir};
use toolhost_manifest::policy::{CredentialResponse, Credentials};
use toolhost_runtime::lock;
use toolhost_sandbox::{LogSink, Workdir, WriteProtected};
use tracing::{Instrument, Span};

use super::exit::exit;
use super::live_log::LogListener;
use super::outer::OuterCalls;
use crate::agent::{Agent, AgentInner, ToolPermit};
use crate::budgets::Caller;
use crate::catalog::ToolCatalog;
use crate::catalog::exposure::ToolExposure;
use crate::events::{Activity, Emitter, TraceContext};
use crate::live_bundle::LiveBundle;
use crate::loaded_bundle::LoadedBundle;
use crate::middleware::pipeline::Pipeline;
use crate::middleware::{
    CallIdentity, CallOrigin, Extensions, MiddlewareContext, SuspendedPipeline, ToolCallContext,
    sanitize_error_code,
};
use crate::pending::PendingCalls;
use crate::pending::record::{self as pending, Handle, Hold, Owner, PendingCall};
use crate::recording::recorder::CallRecorder;
use crate::registry::loaded_tools::RunningCall;
use crate::registry::overlay::Overlay;
use crate::registry::{RegisteredTool, ToolRegistry};
use crate::workdir_provider::{CallWorkdir, WorkdirRequest};

/// What calls need of their instance.
#[derive(Debug, Clone)]
pub(crate) struct InstanceScope {
    pub(crate) agent: Agent,
    pub(crate) key: Arc<str>,
    pub(crate) workdir: Workdir,
    pub(crate) emitter: Emitter,
    /// The instance's directory beneath the state root.
    pub(crate) directory: Option<Arc<Path>>,
    /// The client for other agents of its latest turn that had one. Calls that run after their turn use it.
    pub(crate) agents: Arc<Mutex<Option<AgentsClient>>>,
}

impl InstanceScope {
    /// Makes what calls need of an instance of this key. Its events are logged in its directory beneath the state root.
    pub(crate) fn open(agent: &Agent, key: String, workdir: Workdir) -> Arc<Self> {
        let host = &agent.0.host;
        let directory = host.state_root.as_ref().and_then(|root| {
            let directory = agent.0.bundle.instance(root, &key);
            match PrivateDir::make_beneath(root, &directory) {
                Err(error) if NotPrivate::of(&error).is_some() => {
                    tracing::warn!(%error, "the events of an instance are not logged");
                    None
                }
                // The event log reports a directory that is missing.
                Ok(_) | Err(_) => Some(directory),
            }
        });
        Arc::new(Self {
            agent: agent.clone(),
            emitter: host.events.emitter(directory.as_deref()),
            directory: directory.map(Into::into),
            key: key.into(),
            workdir,
            agents: Arc::default(),
        })
    }

    pub(crate) fn pending(&self) -> &Arc<PendingCalls> {
        &self.agent.0.host.pending
    }

    pub(crate) fn owner(&self) -> Owner {
        Owner {
            bundle: self.agent.0.bundle.text().into_owned(),
            agent: self.agent.0.name.clone(),
            instance_key: self.key.to_string(),
        }
    }

    /// Returns the client for other agents of a call that runs after its turn.
    pub(crate) fn agents(&self) -> Option<AgentsClient> {
        let own = lock(&self.agents).clone();
        own.or_else(|| self.pending().waiting.agents(&self.owner()))
    }

    /// Returns whose calls budgets count.
    pub(crate) fn caller(&self) -> Caller {
        Caller {
            bundle: self.agent.0.bundle.text().into(),
            instance: Arc::clone(&self.key),
        }
    }

    /// Returns this instance with another workdir.
    pub(crate) fn in_workdir(&self, workdir: Workdir) -> Arc<Self> {
        Arc::new(Self {
            workdir,
            ..self.clone()
        })
    }

    /// Prepares the result of a pending call to leave the host. The policy may have got new secrets
    /// since it was stored.
    pub(crate) fn exit(&self, result: ToolResult) -> ToolResult {
        let agent = &self.agent.0;
        let registry = agent.tools.registry();
        let tool = registry
            .as_ref()
            .and_then(|registry| registry.get(result.tool_name()));
        let limit = tool.map_or(ErrorMessageLimit::DEFAULT, |tool| tool.error_message_limit);
        exit(&agent.host.redactor, result, limit)
    }
}

/// What a runtime gives to the calls of a turn.
#[derive(Debug, Clone, Default)]
pub(crate) struct TurnOptions {
    pub(crate) agents: Option<AgentsClient>,
    /// Receives what the calls log while they run.
    pub(crate) log: Option<LogListener>,
    /// Stops the calls.
    pub(crate) cancellation: Option<CancellationToken>,
    pub(crate) extensions: Option<Extensions>,
    /// The user whose grants the calls use.
    pub(crate) subject: Option<Arc<str>>,
    /// The bundle whose current load each step uses.
    pub(crate) bundle: Option<LiveBundle>,
    /// Receives the recordings of the calls.
    pub(crate) recorder: Option<CallRecorder>,
    /// What a model sees of the tools.
    pub(crate) exposure: ToolExposure,
}

/// What calls need of their turn. Its steps and calls share it.
#[derive(Debug, Clone)]
pub(crate) struct TurnScope {
    pub(crate) origin: Arc<CallOrigin>,
    pub(crate) instance: Arc<InstanceScope>,
    pub(crate) options: TurnOptions,
    /// Values that the layers of the turn share with those of its steps and calls.
    pub(crate) extensions: Extensions,
    required_succeeded: Arc<AtomicBool>,
}

impl TurnScope {
    pub(crate) fn new(
        instance: &Arc<InstanceScope>,
        turn_id: &str,
        trace_id: Arc<str>,
        mut options: TurnOptions,
    ) -> Self {
        // What the layers of this turn insert is not seen by another turn with the same options.
        let extensions = options.extensions.take();
        let extensions =
            extensions.map_or_else(Extensions::default, |outer| Extensions::within(&outer));
        Self {
            origin: Arc::new(CallOrigin {
                agent_name: instance.agent.0.name.as_str().into(),
                instance_key: Arc::clone(&instance.key),
                turn_id: turn_id.into(),
                trace_id,
                locale: instance.agent.0.host.policy.locale(),
            }),
            instance: Arc::clone(instance),
            options,
            extensions,
            required_succeeded: Arc::default(),
        }
    }

    /// Returns the scope of a step that begins now: with the agent of the current bundle, if the turn has a
    /// [live bundle](crate::TurnStart::with_live_bundle).
    ///
    /// # Errors
    /// `E_TOOL_UNLOADED` if the current bundle has no such agent, or the bundle was unloaded.
    pub(crate) fn of_next_step(self: &Arc<Self>) -> Result<Arc<Self>, ToolError> {
        let scope = match &self.options.bundle {
            Some(bundle) => self.within(&bundle.current())?,
            None => Arc::clone(self),
        };
        if scope.agent().tools.is_unloading() {
            Err(unloaded(scope.locale()))
        } else {
            Ok(scope)
        }
    }

    fn within(self: &Arc<Self>, bundle: &LoadedBundle) -> Result<Arc<Self>, ToolError> {
        let agent = bundle.agent(&self.origin.agent_name).map_err(|error| {
            let message = format!("The bundle was loaded again, and {error}.");
            ToolError::host(ToolErrorCode::Unloaded, message, self.locale())
        })?;
        if Arc::ptr_eq(&agent.0, &self.instance.agent.0) {
            return Ok(Arc::clone(self));
        }
        Ok(Arc::new(Self {
            instance: Arc::new(InstanceScope {
                agent,
                ..InstanceScope::clone(&self.instance)
            }),
            ..Self::clone(self)
        }))
    }

    /// Returns the scope of a call that was stored earlier, perhaps by another process.
    pub(crate) fn resumed(instance: &Arc<InstanceScope>, call: &PendingCall) -> Arc<Self> {
        Arc::new(Self::new(
            instance,
            &call.turn_id,
            call.trace_id.as_deref().unwrap_or_default().into(),
            TurnOptions {
                subject: call.subject.as_deref().map(Arc::from),
                agents: instance.agents(),
                ..TurnOptions::default()
            },
        ))
    }

    /// Begins a call of a tool, or a poll or a cancellation of one.
    ///
    /// # Errors
    /// `E_TOOL_UNLOADED` if the bundle is being unloaded.
    pub(crate) fn begin_call(&self) -> Result<RunningCall, ToolError> {
        let call = self.agent().tools.begin_call();
        call.ok_or_else(|| unloaded(self.locale()))
    }

    pub(crate) fn agent(&self) -> &AgentInner {
        &self.instance.agent.0
    }

    pub(crate) fn pending(&self) -> &Arc<PendingCalls> {
        self.instance.pending()
    }

    pub(crate) fn locale(&self) -> Locale {
        self.origin.locale
    }

    /// Returns the sink of what a call logs while it runs; none if nobody listens.
    pub(crate) fn log_sink(&self, call: &CallIdentity) -> Option<LogSink> {
        let redactor = &self.agent().host.redactor;
        let sink = |log: &LogListener| log.sink(redactor, call);
        self.options.log.as_ref().map(sink)
    }

    /// Returns what receives the recordings of the calls: that of the turn, or else that of the host.
    pub(crate) fn recorder(&self) -> Option<&CallRecorder> {
        let of_host = self.agent().host.recorder.as_ref();
        self.options.recorder.as_ref().or(of_host)
    }

    /// Returns the identity of a call that was stored earlier.
    pub(crate) fn stored_identity(&self, call: &PendingCall) -> CallIdentity {
        CallIdentity {
            origin: Arc::clone(&self.origin),
            step_id: Arc::default(),
            call_id: call.call_id.as_str().into(),
            tool_name: call.tool_name.as_str().into(),
        }
    }

    /// Returns the record of a call that is to be stored.
    pub(crate) fn pending_call(
        &self,
        call: &CallIdentity,
        message: &AssistantMessage,
    ) -> PendingCall {
        PendingCall {
            call_id: call.call_id.to_string(),
            tool_name: call.tool_name.to_string(),
            turn_id: self.origin.turn_id.to_string(),
            trace_id: Some(self.origin.trace_id.to_string()),
            message: message.clone(),
            workdir: pending::CallWorkdir::of(&self.instance.workdir),
            subject: self.options.subject.as_deref().map(str::to_owned),
        }
    }

    /// Gets the credentials of one run of a tool. The host redacts those of a provider until a day after the
    /// last call with them, and those of the policy always.
    pub(crate) async fn credentials(
        &self,
        tool: &ResourceName,
    ) -> Result<(Credentials, Vec<HeldSecret>), ToolError> {
        let host = &self.agent().host;
        let credentials = match host
            .credential_provider()
            .credentials(&self.origin.agent_name, tool)
        {
            CredentialResponse::Ready(credentials) => credentials,
            CredentialResponse::Later(credentials) => credentials.await.map_err(|error| {
                let error = error.to_string();
                let error = host.redactor.text(&error);
                let message = format!("The credentials of tool '{tool}' could not be obtained.");
                tracing::error!(%error, "{message}");
                ToolError::host(ToolErrorCode::Host, message, self.locale())
            })?,
        };
        let mut redacted = Vec::new();
        if host.has_credential_provider() {
            let secrets = credentials.secrets();
            redacted.extend(secrets.map(|(name, it)| host.redactor.hold(name, it, None)));
        }
        Ok((credentials, redacted))
    }

    /// Opens the directory of one run of a tool.
    pub(crate) async fn open_workdir(&self, call: &CallIdentity) -> Result<CallWorkdir, ToolError> {
        let opening = self.agent().host.workdirs.open(&WorkdirRequest {
            call,
            instance: &self.instance.workdir,
        });
        CallWorkdir::opened(opening, self.locale()).await
    }

    /// Runs the first halves of the layers around the turn, or around one of its steps.
    ///
    /// # Errors
    /// `E_MIDDLEWARE` if a layer did not run the rest.
    pub(crate) async fn open_layers<C>(
        &self,
        layers: &Pipeline<C>,
        context: C,
        span: &Span,
    ) -> Result<(C, SuspendedPipeline<C>), ToolError>
    where
        C: MiddlewareContext<Answer = Result<Value, ToolError>>,
    {
        let sandbox = &self.agent().host.sandbox;
        let pipeline =
            SuspendedPipeline::open(layers, context, |task| sandbox.threads().spawn(task));
        let pipeline = pipeline.instrument(span.clone());
        pipeline.await.map_err(|answer| {
            let error = answer.err().unwrap_or_else(|| {
                let kind = C::KIND;
                let message =
                    format!("A {kind} middleware returned a result without running the {kind}.");
                ToolError::host(ToolErrorCode::Middleware, message, self.locale())
            });
            self.exit_error(error, None)
        })
    }

    /// Runs the second halves of these layers, and returns what they make of the answer.
    pub(crate) async fn close_layers<C>(
        &self,
        layers: SuspendedPipeline<C>,
        answer: Result<Value, ToolError>,
        span: &Span,
    ) -> Result<Value, ToolError>
    where
        C: MiddlewareContext<Answer = Result<Value, ToolError>>,
    {
        let before = answer.as_ref().err().map(|error| error.code.clone());
        let closed = layers.close(answer).instrument(span.clone());
        closed
            .await
            .map_err(|error| self.exit_error(error, before.as_ref()))
    }

    /// Returns the error of a turn or a step that the runtime ends with `error`.
    pub(crate) fn failure(&self, error: HandlerError) -> ToolError {
        normalise_error(error, ErrorMessageLimit::DEFAULT, self.locale())
    }

    /// Prepares the error of a turn or a step to leave the host. `before` is the code that its
    /// middleware got.
    fn exit_error(&self, error: ToolError, before: Option<&ErrorCode>) -> ToolError {
        let error = sanitize_error_code(error, before, self.locale());
        let redactor = &self.agent().host.redactor;
        limit_error(redactor.error(error), ErrorMessageLimit::DEFAULT)
    }

    /// Records whether a required tool has succeeded.
    pub(crate) fn record_result(&self, result: &ToolResult) {
        let mut required = self.agent().required.iter();
        if result.status() == ToolStatus::Ok
            && required.any(|name| name.as_str() == result.tool_name())
        {
            self.required_succeeded.store(true, Relaxed);
        }
    }

    /// Returns whether the agent requires no tool, or a required tool has succeeded in this turn.
    pub(crate) fn required_tools_satisfied(&self) -> bool {
        self.agent().required.is_empty() || self.required_succeeded.load(Relaxed)
    }
}

/// What users have to do before calls of a step can run. Cheap to clone: every clone is the same list.
///
/// Spec: requirements-v1 §12.6.6.
#[derive(Clone, Default)]
pub(crate) struct Notices(Arc<Mutex<Vec<AuthorizationRequired>>>);

impl Notices {
    /// Adds the authorization that a call needs, unless it is there.
    fn add(&self, needed: &AuthorizationRequired) {
        let mut list = lock(&self.0);
        let id = &needed.auth_session_id;
        if list.iter().all(|other| other.auth_session_id != *id) {
            list.push(needed.clone());
        }
    }

    pub(crate) fn list(&self) -> Vec<AuthorizationRequired> {
        let list = lock(&self.0);
        list.clone()
    }
}

/// What a call needs of its step: a snapshot. Cheap to clone.
#[derive(Clone)]
pub(crate) struct CallScope {
    pub(crate) catalog: ToolCatalog,
    pub(crate) step_id: Arc<str>,
    pub(crate) turn: Arc<TurnScope>,
    /// Values that the layers of the step share; none if it has no layers.
    pub(crate) extensions: Option<Extensions>,
    /// What users have to do before calls of the step can run.
    pub(crate) notices: Notices,
    /// The handle, if the call runs in the background.
    pub(crate) background: Option<Handle>,
    pub(crate) overlay: Arc<Overlay>,
    pub(crate) protected: WriteProtected,
    /// The trace of the step.
    pub(crate) trace: TraceContext,
    /// The calls around an inner call.
    pub(crate) outer: Option<Arc<OuterCalls>>,
    /// What somebody has consented to, if the call waited for that.
    pub(crate) release: Option<Arc<Hold>>,
}

impl CallScope {
    /// Returns the scope of a call that was stored earlier and runs now: with the tools that a step has now.
    pub(crate) fn resumed(turn: Arc<TurnScope>, handle: Handle, release: Arc<Hold>) -> Self {
        let agent = turn.agent();
        let overlay = agent.overlay.snapshot();
        Self {
            catalog: agent.step_catalog(&overlay),
            step_id: Arc::default(),
            extensions: None,
            notices: Notices::default(),
            background: Some(handle),
            overlay,
            protected: agent.host.protection.snapshot(),
            trace: turn.instance.emitter.trace(None),
            outer: None,
            release: Some(release),
            turn,
        }
    }

    /// Starts an inner call: within the span that runs now, which is that of the calling one.
    pub(crate) fn inner_activity<'c>(
        &'c self,
        identity: &'c CallIdentity,
        call: &ToolCall,
    ) -> Activity<'c> {
        let emitter = &self.turn.instance.emitter;
        emitter.inner_call(identity, call, &self.trace)
    }

    /// Finds a tool: one of the bundle's `registry`, or one that an extension had registered with this
    /// agent when the step was opened.
    ///
    /// Spec: tool-spec-v2 §2.1(4), §3.
    pub(crate) fn registered<'a>(
        &'a self,
        registry: &'a ToolRegistry,
        name: &str,
    ) -> Option<&'a RegisteredTool> {
        let declared = registry.get(name);
        declared.or_else(|| self.overlay.get(name))
    }

    /// Adds what the user has to do to the notices of the step, if the call failed for it.
    pub(crate) fn note(&self, result: &ToolResult) {
        if let Some(needed) = result
            .tool_error()
            .and_then(|error| error.details.as_deref())
        {
            self.notices.add(needed);
        }
    }

    /// The handle that the call has already: that of the background, which no call within it has.
    pub(crate) fn handle(&self) -> Option<&Handle> {
        self.background.as_ref().filter(|_| self.outer.is_none())
    }

    /// Whether the call, one within another, has begun to change files of their transaction.
    pub(crate) fn has_staged(&self) -> bool {
        let transaction = self
            .outer
            .as_ref()
            .and_then(|outer| outer.transaction.as_ref());
        transaction.is_some_and(|transaction| transaction.workdir.has_staged())
    }

    /// The token that cancels the call. A call in the background has none.
    pub(crate) fn cancellation(&self) -> Option<&CancellationToken> {
        let token = self.turn.options.cancellation.as_ref();
        token.filter(|_| self.background.is_none())
    }

    /// The values that the layers of the call see.
    pub(crate) fn extensions(&self) -> &Extensions {
        let of_turn = &self.turn.extensions;
        self.extensions.as_ref().unwrap_or(of_turn)
    }

    pub(crate) fn layers(&self) -> &Pipeline<ToolCallContext> {
        &self.overlay.added.tool_call
    }

    pub(crate) fn identity(&self, call: &ToolCall) -> CallIdentity {
        CallIdentity::new(&self.turn.origin, &self.step_id, call)
    }

    pub(crate) fn permit(&self, tool: &RegisteredTool) -> Arc<ToolPermit> {
        self.turn.agent().permit(tool.item.name.resource())
    }
}

/// Returns the error of turns, steps and calls of a bundle that is being unloaded.
pub(crate) fn unloaded(locale: Locale) -> ToolError {
    let message = "The bundle was unloaded.";
    ToolError::host(ToolErrorCode::Unloaded, message, locale)
}
