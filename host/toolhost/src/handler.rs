//! Tools that run in the host's own process.

use std::future::Future;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::Value;
use toolhost_agents::AgentsClient;
use toolhost_contract::{HandlerError, JsonObject, ToolContext, ToolErrorCode};
use toolhost_sandbox::{LiveLog, LogLevel, Workdir};

use crate::middleware::Extensions;

/// What a native handler gets with a call.
///
/// Spec: tool-spec-v2 §7.3.
#[derive(Debug, Clone)]
pub struct HandlerContext {
    /// The context that a component would get, but for its `workdir`: the path of the workdir on this
    /// machine. A component sees the workdir as `/`.
    ///
    /// A path that a model wrote must not be joined to it: open files beneath
    /// [`HandlerContext::workdir`], which no `..` and no link leads out of.
    pub context: ToolContext,
    pub(crate) workdir: Workdir,
    pub(crate) logger: Logger,
    pub(crate) agents: Option<AgentsClient>,
    pub(crate) extensions: Extensions,
}

impl HandlerContext {
    /// The directory of the call, as a handle. `cap_std::fs::Dir::from(workdir.as_fd().try_clone_to_owned()?)` opens
    /// files beneath it and nothing else.
    pub fn workdir(&self) -> &Workdir {
        &self.workdir
    }

    /// The client for other agents, if the turn has one.
    pub fn agents(&self) -> Option<&AgentsClient> {
        self.agents.as_ref()
    }

    /// The values of the turn ([`TurnStart::with_extension`](crate::TurnStart::with_extension)), and what the
    /// layers around the call have inserted. What the handler inserts is its own.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Logs for the extension.
    pub fn logger(&self) -> &Logger {
        &self.logger
    }
}

/// A handler's failure: an error of its own, whose code is checked as a guest's is, or the host's.
#[derive(Debug, Clone)]
pub struct HandlerFailure {
    pub(crate) error: HandlerError,
    /// The code of an error of this library's own handlers.
    pub(crate) host_code: Option<ToolErrorCode>,
}

impl HandlerFailure {
    pub(crate) fn host(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self {
            error: HandlerError::new(message),
            host_code: Some(code),
        }
    }
}

impl From<HandlerError> for HandlerFailure {
    fn from(error: HandlerError) -> Self {
        Self {
            error,
            host_code: None,
        }
    }
}

/// Handles the calls of one tool in this process. A closure
/// `Fn(HandlerContext, JsonObject) -> impl Future<Output = Result<Value, HandlerError>>` is one.
///
/// It is polled where the call is awaited: a handler that uses timers or sockets of tokio needs a caller in a
/// tokio runtime, also if the call is submitted. Its future is dropped at the tool's deadline; its output has the same limits as a component's; a
/// panic is `E_TOOL_TRAP`. Its memory, CPU time and system calls are not limited: an extension is the
/// runtime's own code.
///
/// Spec: tool-spec-v2 §7.1, §12.
pub trait ToolHandler: Send + Sync + 'static {
    /// Handles one call. The arguments are valid for the tool's parameters.
    fn call(
        &self,
        context: HandlerContext,
        input: JsonObject,
    ) -> BoxFuture<'_, Result<Value, HandlerFailure>>;

    /// Returns the deadline of a call with this input. A deadline in the policy is an upper bound of it.
    /// Default: none, so that the policy's or the default deadline applies.
    fn deadline(&self, input: &JsonObject) -> Option<Duration> {
        let _ = input;
        None
    }
}

impl<F, Fut> ToolHandler for F
where
    F: Fn(HandlerContext, JsonObject) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Value, HandlerError>> + Send + 'static,
{
    fn call(
        &self,
        context: HandlerContext,
        input: JsonObject,
    ) -> BoxFuture<'_, Result<Value, HandlerFailure>> {
        let called = self(context, input);
        Box::pin(async move { called.await.map_err(HandlerFailure::from) })
    }
}

/// Logs for an extension, through `tracing`, target `toolhost::extension`. The logger of a call also logs
/// to the listener of its turn until the call ends: see [`TurnStart::with_log`](crate::TurnStart::with_log).
#[derive(Debug, Clone)]
pub struct Logger {
    extension: Arc<str>,
    call: Weak<LiveLog>,
}

macro_rules! level {
    ($method:ident, $level:ident) => {
        #[doc = concat!("Logs at level `", stringify!($method), "`.")]
        pub fn $method(&self, message: &str) {
            let extension = &*self.extension;
            tracing::$method!(target: "toolhost::extension", extension, "{message}");
            if let Some(call) = self.call.upgrade() {
                call.log(LogLevel::$level, extension, message);
            }
        }
    };
}

impl Logger {
    pub(crate) fn of(extension: &Arc<str>) -> Self {
        Self::of_call(extension, None)
    }

    pub(crate) fn of_call(extension: &Arc<str>, call: Option<&Arc<LiveLog>>) -> Self {
        Self {
            extension: Arc::clone(extension),
            call: call.map(Arc::downgrade).unwrap_or_default(),
        }
    }

    level!(debug, Debug);
    level!(info, Info);
    level!(warn, Warn);
    level!(error, Error);
}
