//! A tool that runs in the host's own process.

mod logger;

use std::future::Future;
use std::time::Duration;

use serde_json::Value;
use toolhost_contract::{HandlerError, JsonObject, ToolContext, ToolErrorCode};
use toolhost_sandbox::Workdir;

use crate::middleware::BoxFuture;
pub use logger::Logger;
use toolhost_agents::AgentsClient;

/// What a native handler is told of its call.
///
/// Spec: tool-spec-v2 §7.3.
#[derive(Debug, Clone)]
pub struct HandlerContext {
    /// The context that a component would get. Its `workdir` is `/`, the handler's is
    /// [`HandlerContext::workdir`].
    pub context: ToolContext,
    pub(crate) workdir: Workdir,
    pub(crate) logger: Logger,
    pub(crate) agents: Option<AgentsClient>,
}

impl HandlerContext {
    /// The instance's workspace, by handle: `cap_std::fs::Dir::from(workdir.as_fd().try_clone_to_owned()?)`
    /// opens files beneath it and nothing else.
    #[must_use]
    pub fn workdir(&self) -> &Workdir {
        &self.workdir
    }

    /// The other agents, where the turn has a way to them.
    #[must_use]
    pub fn agents(&self) -> Option<&AgentsClient> {
        self.agents.as_ref()
    }

    /// Where the handler logs.
    #[must_use]
    pub fn logger(&self) -> &Logger {
        &self.logger
    }
}

/// What a handler raised: its own failure, whose code is checked like a guest's, or the host's.
#[derive(Debug, Clone)]
pub struct HandlerFailure(pub(crate) FailureSource);

#[derive(Debug, Clone)]
pub(crate) enum FailureSource {
    /// An extension.
    Handler(HandlerError),
    /// A handler of this library, with a code that only the host can make.
    Host(ToolErrorCode, String),
}

impl HandlerFailure {
    pub(crate) fn host(code: ToolErrorCode, message: impl Into<String>) -> Self {
        Self(FailureSource::Host(code, message.into()))
    }
}

impl From<HandlerError> for HandlerFailure {
    fn from(error: HandlerError) -> Self {
        Self(FailureSource::Handler(error))
    }
}

/// Handles the calls of one tool in this process. A closure
/// `Fn(HandlerContext, JsonObject) -> impl Future<Output = Result<Value, HandlerError>>` is one.
///
/// It is stopped, by being dropped, at the tool's deadline; its answer meets the same limits as a
/// component's; a panic is `E_TOOL_TRAP`. What it does with the host's resources is not limited: an
/// extension is the runtime's own code.
///
/// Spec: tool-spec-v2 §7.1, §12.
pub trait ToolHandler: Send + Sync + 'static {
    /// Handles one call, with arguments that fit the tool's parameters.
    fn call(
        &self,
        context: HandlerContext,
        input: JsonObject,
    ) -> BoxFuture<'_, Result<Value, HandlerFailure>>;

    /// How long a call with this input may take. Default: none of its own, so the policy's.
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
