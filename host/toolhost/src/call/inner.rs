//! The calls that a call makes of other tools, through `goondan:tool/tools`.
//!
//! Each goes the way of every call: through the [executor](super::executor), with an id beneath that of the calling one.
//! They run where the calling one is awaited, beside its component: [`InnerCalls::drive`] polls all of them, so that they
//! end when it ends, and a call of microseconds needs no other thread.

pub(super) mod calls;
mod last_stopped;
mod port;
pub(crate) mod released;
mod run;
mod started;

use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use futures_util::future::poll_fn;
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::task::AtomicWaker;
use toolhost_contract::{ResourceName, ToolCallsUsage};
use toolhost_runtime::lock;
use toolhost_sandbox::ToolsPort;

use self::calls::{Calls, Execute};
use self::port::InnerCallsPort;
use super::consent::gate::Gate;
use super::outer::JoinedTransaction;
use super::outer::budget::Budget;
use super::scope::CallScope;
use crate::agent::ToolPermit;
use crate::budgets::spent::InnerSpent;
use crate::catalog::callable::CallableTools;
use crate::middleware::CallIdentity;

/// How long calls may follow each other before the thread gets to other tasks.
const TIME_SLICE: Duration = Duration::from_millis(1);

/// The inner calls of one call.
pub(crate) struct InnerCalls {
    port: Arc<InnerCallsPort>,
}

impl InnerCalls {
    /// Prepares the calls of a call, if its tool may call tools.
    pub(super) fn of(
        (scope, consent): (&CallScope, Option<&Arc<Gate>>),
        caller: &CallIdentity,
        tool: &ResourceName,
        permit: &ToolPermit,
        spent: Option<Arc<InnerSpent>>,
        execute: Execute,
    ) -> Option<Self> {
        let grant = Arc::clone(permit.tools.as_ref()?);
        let outer = scope.outer.as_deref();
        let around = outer.iter().flat_map(|outer| &*outer.chain);
        let chain = around.chain([tool]).cloned().collect();
        let budget = outer.map(|outer| Arc::clone(&outer.budget));
        let calls = Calls {
            scope: CallScope {
                // Each call waits for consent of its own.
                release: None,
                ..scope.clone()
            },
            gate: consent.cloned(),
            callable: CallableTools::new(grant, chain),
            budget: budget.unwrap_or_else(|| Budget::of(&permit.limits)),
            execute,
            caller: caller.clone(),
            spent,
            transaction: OnceLock::new(),
            started: Mutex::default(),
            waker: AtomicWaker::new(),
            number: AtomicUsize::new(1),
            running: AtomicUsize::new(0),
            usage: Mutex::default(),
            stopped: Mutex::default(),
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

    /// Says which call ran at this time, if the calling one was stopped then.
    pub(super) fn running_at(&self, time: Instant) -> Option<String> {
        let stopped = lock(&self.port.0.stopped);
        let running = stopped.as_ref().filter(|call| call.ran_at(time));
        running.map(ToString::to_string)
    }

    /// Runs the component of the calling one, and the inner calls beside it. Those that run when it ends are stopped.
    pub(super) async fn drive<T>(&self, component: impl Future<Output = T>) -> T {
        let answer = self.drive_all(component).await;
        self.drop_started();
        answer
    }

    /// Stops what was started and never polled.
    fn drop_started(&self) {
        let started = std::mem::take(&mut *lock(&self.port.0.started));
        drop(started);
    }

    async fn drive_all<T>(&self, component: impl Future<Output = T>) -> T {
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

impl Drop for InnerCalls {
    fn drop(&mut self) {
        // Each call has the calls that it is one of.
        self.drop_started();
    }
}
