//! Runs one call in a fresh store and returns its response.

use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use toolhost_files::{FileIo, digest_changes};

use crate::SandboxError;
use crate::call::instantiated::{Instantiated, Request};
use crate::call::recorded;
use crate::call::response::{RawResponse, Response};
use crate::call::task::CallTask;
use crate::call::task::Ports;
use crate::call::trap::classify_trap;
use crate::host::agents::GrantedAgents;
use crate::host::tools::GrantedTools;
use crate::recording::call_imports::CallImports;
use crate::scheduler::call_slot::CallSlot;
use crate::scheduler::migrating_call::run_migrating;
use crate::scheduler::own_thread::OwnThread;
use crate::store::resource_limiter::MemoryLimiter;
use crate::store::{RunTime, new_store};

/// What a call returned, how long it waited to start, and how long it ran.
pub(crate) type Timed = (Result<Response, SandboxError>, Duration, Duration);

impl CallTask {
    /// Waits for a call slot, then runs the call.
    pub(crate) async fn run(self, request: Request) -> Timed {
        let requested = Instant::now();
        let sandbox = Arc::clone(&self.sandbox);
        let slot = match CallSlot::acquire(&sandbox.admission, self.component).await {
            Ok(slot) => slot,
            Err(error) => return (Err(error), requested.elapsed(), Duration::ZERO),
        };
        let started = Instant::now();
        let queued = started - requested;
        let deadline = self.meters.limits.deadline;
        let root = self.workdir.as_ref();
        let file_io = root.map_or(FileIo::Inline, |root| root.file_io());
        let threads = &sandbox.threads;
        let component = self.component;
        if file_io == FileIo::Offload && !sandbox.admission.may_hang(component) {
            let reason = "too many file calls of this tool, or of all tools, hang";
            return (Err(SandboxError::Busy { reason }), queued, Duration::ZERO);
        }
        let slot = Arc::new(slot);
        let weak = Arc::downgrade(&slot);
        // Taken here, as the call may move to another runtime.
        let caller = || Handle::try_current().unwrap_or_else(|_| threads.handle().clone());
        let caller = self.agents.is_some().then(caller);
        let call = Box::pin(self.run_in_slot(request, slot, caller));
        let call = threads.clock().drive(call);
        let response = if file_io == FileIo::Offload {
            let thread = OwnThread {
                component,
                deadline,
                slot: weak,
            };
            thread.run(call, threads).await
        } else {
            let is_parked = move || weak.upgrade().is_some_and(|slot| slot.is_parked());
            run_migrating(call, threads.run_queue(), component, is_parked).await
        };
        (response, queued, started.elapsed())
    }

    async fn run_in_slot(
        self,
        request: Request,
        slot: Arc<CallSlot>,
        caller: Option<Handle>,
    ) -> Result<Response, SandboxError> {
        let deadline = self.meters.limits.deadline;
        let meters = Arc::clone(&self.meters);
        let clock = self.sandbox.threads.clock().clone();
        let workdir = self
            .workdir
            .as_ref()
            .map(|workdir| Arc::clone(workdir.dir()));
        let returned = {
            // Pinned here: a future that is passed by value is copied, and this one has thousands of bytes.
            let call = pin!(self.call_export(request, &slot, caller));
            clock.within(deadline, call).await
        };
        let response = match returned {
            Some(Ok(raw)) => raw.check(&meters),
            Some(Err(error)) => Err(classify_trap(error, &meters)),
            None => Err(SandboxError::Timeout { deadline }),
        };
        if let Some(workdir) = workdir {
            digest_changes(&workdir, &meters.files).await;
        }
        // Last: the instance is gone by now, and its memories are reset.
        drop(slot);
        response
    }

    /// Calls one export of an instance that no call has touched. The store is dropped when this returns.
    async fn call_export(
        mut self,
        request: Request,
        slot: &Arc<CallSlot>,
        caller: Option<Handle>,
    ) -> wasmtime::Result<RawResponse> {
        let code = Arc::clone(&self.code);
        let time = RunTime::of(&self.meters.limits);
        let memory = MemoryLimiter::new(&self.meters);
        let agents = self.agents.take().zip(caller);
        let agents = agents.map(|(port, caller)| GrantedAgents {
            port,
            slot: Arc::clone(slot),
            caller,
        });
        let tools = self.tools.take().map(|port| {
            let slot = Arc::clone(slot);
            Box::new(GrantedTools { port, slot })
        });
        let ports = Ports { agents, tools };
        match self.imports {
            CallImports::Host => {
                let state = self.into_state(memory, ports, time);
                let store = new_store(code.pre.engine(), state, time);
                let fresh = Instantiated::new(store, &code.pre, &code.memory).await?;
                fresh.call(request, &code).await
            }
            // Boxed, so that the futures of ordinary calls are smaller.
            CallImports::Recorded { .. } | CallImports::Replayed { .. } => {
                let instantiate = Box::pin(recorded::instantiate(self, memory, ports, time));
                Box::pin(instantiate.await?.call(request, &code)).await
            }
        }
    }
}
