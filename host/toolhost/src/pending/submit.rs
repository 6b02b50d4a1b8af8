//! Runs a call in the background.

use std::future::Future;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use toolhost_contract::{AssistantMessage, ToolCall, ToolResult};

use super::Pending;
use super::record::{Handle, NewSource};
use crate::executor;
use crate::turn::TurnInner;

/// How long a component that answers `pending` in the background is left alone at first, and at most.
const ASK_AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

impl Pending {
    /// Runs a call in the background; the answer is a handle at once. A component that answers
    /// `pending` there is asked again until it has its result.
    pub(crate) async fn submit(
        self: &Arc<Self>,
        turn: &Arc<TurnInner>,
        call: &ToolCall,
        message: &AssistantMessage,
        work: impl Future<Output = ToolResult> + Send + 'static,
    ) -> ToolResult {
        let name = executor::shown(&call.name);
        let named = (call.id.as_str(), name.as_str());
        let accepted = self
            .accept(turn, named, message, NewSource::Background)
            .await;
        let handle = match accepted {
            Ok(handle) => handle,
            Err(error) => return ToolResult::error(&call.id, &name, error),
        };
        let answer = ToolResult::pending(&call.id, &name, handle.as_str().to_owned());
        let task = Arc::clone(self).run(Arc::clone(turn), handle.clone(), work);
        // The task removes itself, for which it waits until it is there.
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let sandbox = &turn.agent().host.sandbox;
        running.insert(handle, sandbox.spawn(task));
        answer
    }

    async fn run(
        self: Arc<Self>,
        turn: Arc<TurnInner>,
        handle: Handle,
        work: impl Future<Output = ToolResult> + Send + 'static,
    ) {
        let _over = Over {
            pending: &self,
            handle: &handle,
        };
        let mut result = work.await;
        let (mut wait, longest) = ASK_AGAIN;
        while let Some(guests) = result.handle() {
            let sandbox = &turn.agent().host.sandbox;
            let _waited = sandbox.within(wait, std::future::pending::<()>()).await;
            wait = (wait * 2).min(longest);
            result = self.poll(&turn.instance, guests).await;
        }
        self.settle(&turn, &handle, &result).await;
    }

    /// Stops a call that runs in the background of this process.
    pub(super) fn stop(&self, handle: &Handle) {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = running.get(handle) {
            task.abort();
        }
    }
}

/// A background call that has ended, or was stopped.
struct Over<'a> {
    pending: &'a Pending,
    handle: &'a Handle,
}

impl Drop for Over<'_> {
    fn drop(&mut self) {
        let running = self.pending.running.lock();
        let mut running = running.unwrap_or_else(PoisonError::into_inner);
        running.remove(self.handle);
    }
}
