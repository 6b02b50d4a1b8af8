//! A component that is ready to be called.

mod replay;

use std::collections::BTreeMap;
use std::env::consts::ARCH;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde_json::Value;
use toolhost_contract::{
    HandlerSpec, Operation, RECORDING_VERSION, RecordedComponent, RecordedEngine, RecordedOutcome,
    Recording, RecordingEnd, Redactor, ToolContext,
};
use toolhost_runtime::{ComponentId, debug_fields};

use crate::accounting::output::{LogSink, Stream};
use crate::call::code::ComponentCode;
use crate::call::instantiated::Request;
use crate::call::invocation::{CallReport, CancelLog, Invocation};
use crate::call::response::Response;
use crate::call::task::CallTask;
use crate::call::trap::out_of_memory;
use crate::component::cache::ComponentRecord;
use crate::component::digest::ComponentDigest;
use crate::component::facts::ComponentFacts;
use crate::host::tools::port::OuterCall;
use crate::operation::Outcome;
use crate::recording::call_imports::CallImports;
use crate::recording::dynamic::DynamicCode;
use crate::recording::forward::ForwarderCode;
use crate::recording::options::{RecordOptions, ReplayError, ReplayOptions, ReplayReport};
use crate::recording::outcome::{
    self, policy_sha256, recorded_context, recorded_limits, recorded_operation,
};
use crate::recording::player::Player;
use crate::recording::tape::Tape;
use crate::sandbox::SandboxInner;
use crate::store::meters::CallMeters;
use crate::tool::replay::Replay;
use crate::{Grants, Limits, SandboxError};

/// A component that can be called. Cheap to clone; calls share nothing but compiled code.
///
/// ```no_run
/// # async fn example(
/// #     sandbox: toolhost_sandbox::Sandbox,
/// #     tool: toolhost_sandbox::PreparedTool,
/// #     context: toolhost_contract::ToolContext,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use std::sync::{Arc, OnceLock};
///
/// use toolhost_contract::ExportName;
/// use toolhost_sandbox::{Grants, Invocation, Limits, Operation, WorkdirRules, WriteProtected};
///
/// let workdir = sandbox.open_workdir("/srv/project".as_ref(), &WorkdirRules::default())?;
/// let report = tool
///     .call(Invocation {
///         operation: Arc::new(Operation::Handler {
///             name: ExportName::parse("upper")?,
///             input: r#"{"text": "hi"}"#.to_owned(),
///         }),
///         context,
///         workdir: Some(workdir),
///         protected: WriteProtected::default(),
///         grants: Grants::none(),
///         agents: None,
///         tools: None,
///         effects: None,
///         outer: None,
///         log: None,
///         limits: Limits::default(),
///         record: None,
///     })
///     .await;
/// println!("{:?}, {:?}", report.outcome?, report.usage.wall);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PreparedTool(Arc<Prepared>);

struct Prepared {
    sandbox: Arc<SandboxInner>,
    component: ComponentId,
    code: Arc<ComponentCode>,
    /// The same component with imports that are recorded or replayed; made when it is first needed.
    dynamic: OnceLock<Result<Arc<DynamicCode>, String>>,
    digest: ComponentDigest,
    handlers: Vec<HandlerSpec>,
    facts: ComponentFacts,
}

impl Prepared {
    /// Returns the component with imports that are recorded or replayed. It is linked the first time.
    ///
    /// # Errors
    /// Why its calls cannot be recorded.
    fn dynamic(&self) -> Result<Arc<DynamicCode>, String> {
        let pre = &self.code.pre;
        let link = || DynamicCode::link(pre.engine(), pre.component()).map(Arc::new);
        self.dynamic.get_or_init(link).clone()
    }
}

debug_fields!(PreparedTool, this => sha256: this.0.facts.sha256);

impl PreparedTool {
    pub(crate) fn new(
        sandbox: &Arc<SandboxInner>,
        code: Arc<ComponentCode>,
        digest: ComponentDigest,
        record: ComponentRecord,
    ) -> Self {
        Self(Arc::new(Prepared {
            sandbox: Arc::clone(sandbox),
            component: digest.id(),
            code,
            dynamic: OnceLock::new(),
            digest,
            handlers: record.handlers,
            facts: record.facts,
        }))
    }

    /// Whether this sandbox prepared it from bytes with this digest.
    pub(crate) fn is_of(&self, sandbox: &Arc<SandboxInner>, digest: ComponentDigest) -> bool {
        Arc::ptr_eq(&self.0.sandbox, sandbox) && self.0.digest == digest
    }

    /// The handlers it serves, as `describe` named them.
    pub fn handlers(&self) -> &[HandlerSpec] {
        &self.0.handlers
    }

    pub(crate) fn code(&self) -> &Arc<ComponentCode> {
        &self.0.code
    }

    /// What it is.
    pub fn facts(&self) -> &ComponentFacts {
        &self.0.facts
    }

    /// Whether it exports `goondan:tool/polling`, so that its handles can be polled.
    pub fn polls(&self) -> bool {
        self.0.code.polls()
    }

    /// Runs one operation in a fresh instance, which is gone when this returns.
    ///
    /// The call runs where it is awaited, on any executor. If the guest keeps computing, it moves to the
    /// sandbox's own threads. Dropping the future stops the guest and frees its call slot.
    pub async fn call(&self, mut invocation: Invocation) -> CallReport {
        let outer = invocation.outer.take();
        let meters = self.meters(&invocation.limits, invocation.log.take(), outer);
        match invocation.record.take() {
            None => self.run(invocation, meters, CallImports::Host).await,
            Some(options) => Box::pin(self.record(invocation, meters, options)).await,
        }
    }

    fn meters(
        &self,
        limits: &Limits,
        log: Option<LogSink>,
        outer: Option<OuterCall>,
    ) -> Arc<CallMeters> {
        let Prepared {
            sandbox, component, ..
        } = &*self.0;
        let (memory, open_files) = (&sandbox.memory, &sandbox.open_files);
        let meters = CallMeters::new(
            *component,
            limits.clone(),
            memory,
            open_files,
            log,
            outer.as_ref(),
        );
        Arc::new(meters)
    }

    /// Runs a call with what answers its host calls.
    async fn run(
        &self,
        invocation: Invocation,
        meters: Arc<CallMeters>,
        imports: CallImports,
    ) -> CallReport {
        let Prepared {
            sandbox,
            component,
            code,
            ..
        } = &*self.0;
        let cancel_log = CancelLog::new(&meters, &invocation.operation);
        let task = CallTask {
            sandbox: Arc::clone(sandbox),
            component: *component,
            code: Arc::clone(code),
            workdir: invocation.workdir,
            protected: invocation.protected,
            grants: invocation.grants,
            agents: invocation.agents,
            tools: invocation.tools,
            effects: invocation.effects,
            meters: Arc::clone(&meters),
            imports,
        };
        let needs_polling = !matches!(*invocation.operation, Operation::Handler { .. });
        let (response, queued, wall) = if needs_polling && !self.polls() {
            (Err(SandboxError::NoPolling), Duration::ZERO, Duration::ZERO)
        } else {
            let request = Request::Run(invocation.operation, invocation.context);
            task.run(request).await
        };
        cancel_log.disarm();
        if let Some(live) = &meters.output.live_log {
            live.finish();
        }
        let outcome = response.and_then(|response| match response {
            Response::Outcome(outcome) => Ok(outcome),
            Response::Exports(..) => Err(SandboxError::HostPanic),
        });
        report(&meters, outcome, queued, wall)
    }

    /// Returns the recording of a call of this component, without what is known only once it has ended: its host
    /// calls, its outcome and its usage.
    pub fn recording_without_calls(
        &self,
        operation: &Operation,
        context: &ToolContext,
        limits: &Limits,
        grants: &Grants,
        redactor: &Redactor,
    ) -> Recording {
        let facts = &self.0.facts;
        Recording {
            version: RECORDING_VERSION,
            component: RecordedComponent {
                sha256: facts.sha256.clone(),
                imports: facts.imports.clone(),
            },
            engine: RecordedEngine {
                toolhost: env!("CARGO_PKG_VERSION").to_owned(),
                architecture: ARCH.to_owned(),
            },
            operation: recorded_operation(operation, redactor),
            context: recorded_context(context, redactor),
            limits: recorded_limits(limits),
            policy_sha256: policy_sha256(limits, grants),
            calls: Vec::new(),
            blobs: BTreeMap::new(),
            outcome: RecordedOutcome::Pending {
                handle: String::new(),
            },
            usage: Value::Null,
            end: RecordingEnd::Complete,
        }
    }

    /// Runs a call and records its host calls.
    async fn record(
        &self,
        invocation: Invocation,
        meters: Arc<CallMeters>,
        options: RecordOptions,
    ) -> CallReport {
        let Prepared {
            sandbox, component, ..
        } = &*self.0;
        let ready = self.link_recorded().await;
        let (dynamic, forwarder) = match ready {
            Ok(ready) => ready,
            Err(error) => return report(&meters, Err(error), Duration::ZERO, Duration::ZERO),
        };
        let tape = Tape::new(options, &sandbox.memory, *component);
        let redactor = tape.redactor();
        let mut recording = self.recording_without_calls(
            &invocation.operation,
            &invocation.context,
            &invocation.limits,
            &invocation.grants,
            redactor,
        );
        let imports = CallImports::Recorded {
            tape: Arc::clone(&tape),
            dynamic,
            forwarder,
        };
        let mut report = self.run(invocation, meters, imports).await;
        let recorded = tape.take();
        recording.calls = recorded.calls;
        recording.blobs = recorded.blobs;
        recording.outcome = outcome::recorded(&report.outcome, redactor);
        let mut usage = report.usage.clone();
        redactor.denials(&mut usage.denials);
        redactor.changes(&mut usage.changes);
        recording.usage = serde_json::to_value(usage).unwrap_or_default();
        if recorded.is_cut {
            recording.end = RecordingEnd::CutAtLimit {
                limit: tape.limit(),
            };
        }
        report.recording = Some(Box::new(recording));
        report
    }

    /// Makes what a recorded call needs, the first time on a thread of its own.
    async fn link_recorded(&self) -> Result<(Arc<DynamicCode>, Arc<ForwarderCode>), SandboxError> {
        let tool = Arc::clone(&self.0);
        let link = move || {
            let dynamic = tool.dynamic()?;
            let (linker, idle) = (&tool.sandbox.linker, &tool.sandbox.idle_memory);
            let forwarder = dynamic.forwarder(linker, tool.component, idle)?;
            Ok((dynamic, forwarder))
        };
        let linked: Result<_, String> = self.0.sandbox.threads.compute(link).await?;
        linked.map_err(|reason| {
            let reason = format!("calls of this component cannot be recorded: {reason}");
            SandboxError::Host(wasmtime::Error::msg(reason))
        })
    }

    /// Runs a recorded call again. The guest gets the recorded answers: no file, network, clock or random
    /// number is within reach. The first host call or outcome that differs ends the replay.
    ///
    /// The component may be another one than the recorded one.
    ///
    /// # Errors
    /// [`ReplayError`] where the recording cannot be replayed here.
    pub async fn replay(
        &self,
        recording: &Recording,
        options: ReplayOptions,
    ) -> Result<ReplayReport, ReplayError> {
        let Replay {
            recording,
            progress,
            invocation,
        } = Replay::new(recording)?;
        let tool = Arc::clone(&self.0);
        let dynamic = self
            .0
            .sandbox
            .threads
            .compute(move || tool.dynamic())
            .await
            .map_err(SandboxError::from)?;
        let dynamic = dynamic.map_err(ReplayError::Unsupported)?;
        let player = Player::new(&recording, &progress, options.on_call);
        let meters = self.meters(&invocation.limits, None, None);
        let imports = CallImports::Replayed {
            player: Box::new(player),
            dynamic,
        };
        let report = Box::pin(self.run(invocation, meters, imports)).await;
        replay::report(&recording, &progress, report.outcome)
    }
}

/// Returns the report of a call that ended.
fn report(
    meters: &CallMeters,
    outcome: Result<Outcome, SandboxError>,
    queued: Duration,
    wall: Duration,
) -> CallReport {
    let memory_refused = match &outcome {
        Ok(Outcome::Failed(_)) => out_of_memory(meters),
        Ok(Outcome::Output(_) | Outcome::Pending(_)) | Err(_) => None,
    };
    CallReport {
        outcome,
        usage: meters.usage(queued, wall),
        disk_limit: meters.files.disk_limit(),
        just_denied: meters.attempts.was_just_denied(),
        memory_refused,
        was_refused_memory: meters.attempts.was_refused_memory(),
        just_failed: meters.attempts.just_failed(),
        unauthorized: meters.http.take_unauthorized(),
        log: meters.output.take_log(),
        stdout: meters.output.printed(Stream::Stdout),
        stderr: meters.output.printed(Stream::Stderr),
        recording: None,
    }
}
