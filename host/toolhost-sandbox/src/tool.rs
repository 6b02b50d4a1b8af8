//! A component that is ready to be called.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolhost_contract::{HandlerSpec, Recording};

use crate::SandboxError;
use crate::accounting::meter::Meter;
use crate::call::invocation::{CallReport, CancelLog, Invocation, Operation, Outcome};
use crate::call::response::Response;
use crate::call::run::Request;
use crate::call::spare::maker::make_after_call;
use crate::call::task::CallTask;
use crate::call::trap::out_of_memory;
use crate::component::cache::ComponentRecord;
use crate::component::code::ComponentCode;
use crate::component::digest::ComponentDigest;
use crate::component::facts::ComponentFacts;
use crate::component_id::ComponentId;
use crate::recording::options::{ReplayError, ReplayOptions, ReplayReport};
use crate::sandbox::SandboxInner;
use crate::sync::lock;

/// A component that can be called. Cheap to clone; calls share nothing but compiled code.
///
/// ```no_run
/// # async fn example(
/// #     sandbox: toolhost_sandbox::Sandbox,
/// #     tool: toolhost_sandbox::PreparedTool,
/// #     context: toolhost_contract::ToolContext,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// use toolhost_contract::ExportName;
/// use toolhost_sandbox::{Grants, Invocation, Limits, Operation, WorkdirRules, WriteProtected};
///
/// let workdir = sandbox.open_workdir("/srv/project".as_ref(), &WorkdirRules::default())?;
/// let report = tool
///     .call(Invocation {
///         operation: Operation::Handler {
///             name: ExportName::parse("upper")?,
///             input: r#"{"text": "hi"}"#.to_owned(),
///         },
///         context,
///         workdir: Some(workdir),
///         protected: WriteProtected::default(),
///         grants: Grants::none(),
///         agents: None,
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
    digest: ComponentDigest,
    handlers: Vec<HandlerSpec>,
    facts: ComponentFacts,
}

impl fmt::Debug for PreparedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedTool")
            .field("sha256", &self.0.facts.sha256)
            .finish_non_exhaustive()
    }
}

impl PreparedTool {
    pub(crate) fn new(
        sandbox: &Arc<SandboxInner>,
        code: Arc<ComponentCode>,
        digest: ComponentDigest,
        record: ComponentRecord,
    ) -> Self {
        Self(Arc::new(Prepared {
            sandbox: Arc::clone(sandbox),
            component: ComponentId::of(&record.facts.sha256),
            code,
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
    #[must_use]
    pub fn handlers(&self) -> &[HandlerSpec] {
        &self.0.handlers
    }

    /// What it is.
    #[must_use]
    pub fn facts(&self) -> &ComponentFacts {
        &self.0.facts
    }

    /// Whether it exports `goondan:tool/polling`, so that its handles can be polled.
    #[must_use]
    pub fn polls(&self) -> bool {
        self.0.code.polls()
    }

    /// Runs one operation in a fresh instance, which is gone when this returns.
    ///
    /// The call runs where it is awaited, on any executor. If the guest keeps computing, it moves to the
    /// sandbox's own threads. Dropping the future stops the guest and frees its call slot.
    pub async fn call(&self, invocation: Invocation) -> CallReport {
        let Prepared {
            sandbox,
            component,
            code,
            ..
        } = &*self.0;
        let open_files = Arc::clone(&sandbox.open_files);
        let meter = Meter::new(invocation.limits, *component, open_files);
        let meter = Arc::new(meter.with_log_sink(invocation.log));
        let cancel_log = CancelLog::new(&meter, &invocation.operation);
        let task = CallTask {
            sandbox: Arc::clone(sandbox),
            component: *component,
            code: Arc::clone(code),
            workdir: invocation.workdir,
            protected: invocation.protected,
            grants: invocation.grants,
            agents: invocation.agents,
            meter: Arc::clone(&meter),
        };
        let needs_polling = !matches!(invocation.operation, Operation::Handler { .. });
        let (response, queued, wall) = if needs_polling && !self.polls() {
            (Err(SandboxError::NoPolling), Duration::ZERO, Duration::ZERO)
        } else {
            let request = Request::Run(invocation.operation, invocation.context);
            task.run(request).await
        };
        cancel_log.disarm();
        make_after_call(sandbox, *component, code);
        if let Some(live) = &meter.live_log {
            live.finish();
        }
        let outcome = response.and_then(|response| match response {
            Response::Outcome(outcome) => Ok(outcome),
            Response::Exports(_) => Err(SandboxError::HostPanic),
        });
        let memory_refused = match &outcome {
            Ok(Outcome::Failed(error)) => out_of_memory(error, &meter),
            Ok(Outcome::Output(_) | Outcome::Pending(_)) | Err(_) => None,
        };
        CallReport {
            outcome,
            usage: meter.usage(queued, wall),
            disk_limit: meter.disk_limit(),
            just_denied: meter.was_just_denied(),
            memory_refused,
            just_failed: meter.just_failed(),
            log: lock(&meter.log).take(),
            stdout: lock(&meter.stdout).text(),
            stderr: lock(&meter.stderr).text(),
            host_calls: Vec::new(),
            recording: None,
        }
    }

    /// Runs a recorded call again. The guest gets the recorded answers: no file, network, clock or random
    /// number is within reach. The first host call or outcome that differs ends the replay.
    ///
    /// The component may be another one than the recorded one.
    ///
    /// # Errors
    /// [`ReplayError`] where the recording cannot be replayed here.
    #[expect(clippy::unused_async, reason = "the signature comes before the code")]
    pub async fn replay(
        &self,
        recording: &Recording,
        options: ReplayOptions,
    ) -> Result<ReplayReport, ReplayError> {
        let _ = (recording, options);
        Err(ReplayError::Unsupported("not yet".to_owned()))
    }
}
