//! The port through which a guest calls other tools.

use std::fmt;
use std::sync::{Arc, OnceLock};

use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use toolhost_contract::{Denial, HandlerError};
use toolhost_egress::HttpMeter;
use toolhost_files::FileMeter;

/// The tools that one call may call, with the identity and the rights of the caller.
///
/// The port is a grant of the operator. Without one, each function of the interface is denied.
///
/// No method may block: each runs on the thread of the guest, and what it starts runs elsewhere. While a guest waits for
/// a call, it is parked: it keeps its instance and its memory, and gives back its call slot.
pub trait ToolsPort: Send + Sync + fmt::Debug {
    /// Returns the names of the tools.
    fn names(&self) -> Vec<String>;

    /// Returns the tool with this name.
    ///
    /// # Errors
    /// Why the caller cannot have it.
    fn describe(&self, name: &str) -> Result<ToolEntry, CallFailure>;

    /// Returns the tools that fit a query, the best first.
    fn search<'a>(&'a self, query: &'a str, limit: usize) -> BoxFuture<'a, Vec<ToolEntry>>;

    /// Starts a call of a tool. `arguments` is what the guest wrote; it has at most the bytes of an input. What the call
    /// uses counts for `outer`, too.
    ///
    /// # Errors
    /// Why it was not started.
    fn start(
        &self,
        name: &str,
        arguments: &str,
        outer: OuterCall,
    ) -> Result<Arc<StartedCall>, CallFailure>;

    /// Whether any call runs that was started.
    fn is_running(&self) -> bool;
}

/// A tool that a guest may call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEntry {
    /// Its name, such as `file-system__read`.
    pub name: String,
    /// What it does.
    pub description: Option<String>,
    /// JSON Schema of its arguments.
    pub parameters: String,
    /// JSON Schema of its output.
    pub output_schema: Option<String>,
}

/// Why a call has no output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallFailure {
    /// The error. A `code` of the host's reaches the guest as it is.
    pub error: Box<HandlerError>,
    /// JSON Schema of the tool's arguments, where they were the reason.
    pub parameters: Option<String>,
    /// The operation, if the policy denies it.
    pub denied: Option<Denial>,
}

/// The calling call, as its calls see it: what they use counts for it, too.
#[derive(Debug, Clone)]
pub struct OuterCall {
    pub(crate) files: Arc<FileMeter>,
    pub(crate) http: Arc<HttpMeter>,
}

/// A call that a guest started. Its handle in the guest and what runs it share it.
#[derive(Debug)]
pub struct StartedCall {
    id: String,
    answer: OnceLock<Result<String, CallFailure>>,
    ended: Notify,
    /// Has a permit once it is to be stopped.
    cancelled: Notify,
}

impl StartedCall {
    /// Creates a call that runs.
    pub fn new(id: String) -> Self {
        Self {
            id,
            answer: OnceLock::new(),
            ended: Notify::new(),
            cancelled: Notify::new(),
        }
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Its output as JSON, or why it has none. None while it runs.
    pub fn answer(&self) -> Option<&Result<String, CallFailure>> {
        self.answer.get()
    }

    /// Ends it with an answer, unless it has one.
    pub fn end(&self, answer: Result<String, CallFailure>) {
        // The first answer counts.
        let _ = self.answer.set(answer);
        self.ended.notify_waiters();
    }

    /// Asks what runs it to stop it.
    pub fn cancel(&self) {
        self.cancelled.notify_one();
    }

    /// Waits until it is to be stopped. For what runs it alone.
    pub async fn cancelled(&self) {
        self.cancelled.notified().await;
    }

    /// Waits until it has an answer.
    pub(crate) async fn wait(&self) {
        let ended = self.ended.notified();
        if self.answer.get().is_none() {
            ended.await;
        }
    }
}
