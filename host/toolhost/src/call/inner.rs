//! The calls that a call makes of other tools, through `goondan:tool/tools`.
//!
//! Each goes the way of every call: through the [executor](super::executor), with an id beneath that of the calling one.
//! They run where the calling one is awaited, beside its component: [`InnerCalls::drive`] polls all of them, so that they
//! end when it ends, and a call of microseconds needs no other thread.

mod budget;
mod port;
mod run;

use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::{BoxFuture, poll_fn};
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::task::AtomicWaker;
use toolhost_contract::{ResourceName, ToolCallsUsage, ToolError, ToolErrorCode, ToolPattern};
use toolhost_runtime::lock;
use toolhost_sandbox::{OuterCall, ToolsPort, Workdir};

use self::budget::Budget;
use self::port::InnerCallsPort;
use super::scope::CallScope;
use crate::agent::ToolPermit;
use crate::middleware::CallIdentity;

/// How long calls may follow each other before the thread gets to other tasks.
const TIME_SLICE: Duration = Duration::from_millis(1);

/// Most calls within each other, the outermost included.
const DEPTH_MAX: usize = 3;

/// What an inner call has of the calls around it.
#[derive(Clone)]
pub(crate) struct OuterCalls {
    /// The called Tools, the outermost first.
    chain: Vec<ResourceName>,
    budget: Arc<Budget>,
    /// The call that made this one.
    pub(super) caller: OuterCall,
    /// The transaction of an outer call, of which this call's changes are a part.
    pub(super) transaction: Option<Arc<JoinedTransaction>>,
}

/// The transaction of a call that inner calls are a part of.
pub(super) struct JoinedTransaction {
    pub(super) workdir: Workdir,
    /// The inner call whose changes would have to be undone, and cannot be without the others.
    not_undone: OnceLock<String>,
}

impl JoinedTransaction {
    pub(super) fn new(workdir: Workdir) -> Arc<Self> {
        Arc::new(Self {
            workdir,
            not_undone: OnceLock::new(),
        })
    }

    /// Notes that the changes of a call, which are part of the transaction, would have to be undone.
    pub(super) fn note_not_undone(&self, call: &CallIdentity) {
        // The first one is named.
        let _ = self
            .not_undone
            .set(format!("'{}' of tool '{}'", call.call_id, call.tool_name));
    }

    /// Returns the error of the outer call, if an inner one keeps it from being committed.
    pub(super) fn check(&self, call: &CallIdentity) -> Result<(), ToolError> {
        let Some(inner) = self.not_undone.get() else {
            return Ok(());
        };
        let message = format!(
            "Tool '{}' failed: its call {inner} failed after it had changed files, and the changes of one call cannot be undone alone.",
            call.tool_name
        );
        let locale = call.origin.locale;
        Err(ToolError::host(
            ToolErrorCode::CallNotUndone,
            message,
            locale,
        ))
    }
}

/// The inner calls of one call.
pub(crate) struct InnerCalls {
    port: Arc<InnerCallsPort>,
}

/// What the port of a call and what drives its calls share.
struct Calls {
    /// The scope of the inner calls, but for its transaction.
    scope: CallScope,
    /// The Tools around an inner call: the calling one is the last.
    chain: Vec<ResourceName>,
    budget: Arc<Budget>,
    grant: Arc<[ToolPattern]>,
    caller: CallIdentity,
    transaction: OnceLock<Arc<JoinedTransaction>>,
    /// Calls that were started and are not polled yet.
    started: Mutex<Vec<BoxFuture<'static, ()>>>,
    waker: AtomicWaker,
    /// How many run.
    running: AtomicUsize,
    usage: Mutex<ToolCallsUsage>,
}

impl InnerCalls {
    /// Prepares the calls of a call, if its tool may call tools.
    pub(super) fn of(
        scope: &CallScope,
        caller: &CallIdentity,
        tool: &ResourceName,
        permit: &ToolPermit,
    ) -> Option<Self> {
        let grant = Arc::clone(permit.tools.as_ref()?);
        let outer = scope.outer.as_deref();
        let mut chain = outer.map(|outer| outer.chain.clone()).unwrap_or_default();
        chain.push(tool.clone());
        let budget = outer.map(|outer| Arc::clone(&outer.budget));
        let calls = Calls {
            scope: scope.clone(),
            chain,
            budget: budget.unwrap_or_else(|| Budget::of(&permit.limits)),
            grant,
            caller: caller.clone(),
            transaction: outer
                .and_then(|outer| outer.transaction.clone())
                .map_or_else(OnceLock::new, OnceLock::from),
            started: Mutex::default(),
            waker: AtomicWaker::new(),
            running: AtomicUsize::new(0),
            usage: Mutex::default(),
        };
        Some(Self {
            port: Arc::new(InnerCallsPort(Arc::new(calls))),
        })
    }

    /// The port for the component of the calling one.
    pub(super) fn port(&self) -> Arc<dyn ToolsPort> {
        Arc::clone(&self.port) as Arc<dyn ToolsPort>
    }

    /// Makes the changes of the inner calls a part of the caller's transaction.
    pub(super) fn join(&self, transaction: &Arc<JoinedTransaction>) {
        // There is one transaction.
        let _ = self.port.0.transaction.set(Arc::clone(transaction));
    }

    /// Returns the calls that were made; none if there are none.
    pub(super) fn usage(&self) -> Option<Box<ToolCallsUsage>> {
        let usage = lock(&self.port.0.usage).clone();
        (usage.count > 0).then(|| Box::new(usage))
    }

    /// Runs the component of the calling one, and the inner calls beside it. Those that run when it ends are stopped.
    pub(super) async fn drive<T>(&self, component: impl Future<Output = T>) -> T {
        let calls = &self.port.0;
        let mut component = pin!(component);
        let mut running = FuturesUnordered::new();
        poll_fn(|cx| {
            calls.waker.register(cx.waker());
            let started = Instant::now();
            loop {
                if let Poll::Ready(answer) = component.as_mut().poll(cx) {
                    return Poll::Ready(answer);
                }
                let mut has_ended = false;
                loop {
                    running.extend(lock(&calls.started).drain(..));
                    match running.poll_next_unpin(cx) {
                        Poll::Ready(Some(())) => has_ended = true,
                        Poll::Ready(None) | Poll::Pending => break,
                    }
                }
                if !has_ended {
                    return Poll::Pending;
                }
                // The caller's thread has other tasks, too.
                if started.elapsed() >= TIME_SLICE {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        })
        .await
    }
}
