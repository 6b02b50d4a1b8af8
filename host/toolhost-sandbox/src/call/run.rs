//! Runs one call in a fresh store and returns its response.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use toolhost_contract::ToolContext;
use wasmtime::{Engine, Store, UpdateDeadline};

use crate::accounting::meter::Meter;
use crate::call::call_hook::HostCallHook;
use crate::call::invocation::Operation;
use crate::call::resource_limiter::MemoryLimiter;
use crate::call::response::{RawResponse, Response};
use crate::call::store_data::CallState;
use crate::call::trap::{GuestCallContext, classify_trap};
use crate::component::code::ComponentCode;
use crate::component_id::ComponentId;
use crate::engine::memory::creator::with_memories;
use crate::host::agents::port::AgentsPort;
use crate::host::agents::{Agents, GrantedAgents};
use crate::host::bindings::handlers;
use crate::host::filesystem::Filesystem;
use crate::host::http::Http;
use crate::sandbox::SandboxInner;
use crate::scheduler::admission::MAX_HANGING;
use crate::scheduler::call_slot::CallSlot;
use crate::scheduler::migrating_call::run_migrating;
use crate::scheduler::own_thread::run_on_own_thread;
use crate::workdir::{FileIo, Workdir, WriteProtected};
use crate::{Grants, SandboxError};

/// The export to call.
pub(crate) enum Request {
    Describe,
    Run(Operation, ToolContext),
}

/// One call before it runs.
pub(crate) struct CallTask {
    pub(crate) sandbox: Arc<SandboxInner>,
    pub(crate) component: ComponentId,
    pub(crate) code: Arc<ComponentCode>,
    pub(crate) workdir: Option<Workdir>,
    pub(crate) protected: WriteProtected,
    pub(crate) grants: Grants,
    pub(crate) agents: Option<Arc<dyn AgentsPort>>,
    pub(crate) meter: Arc<Meter>,
}

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
        let deadline = self.meter.limits.deadline;
        let root = self.workdir.as_ref();
        let file_io = root.map_or(FileIo::Inline, |root| root.file_io);
        let executor = &sandbox.executor;
        if file_io == FileIo::Offload && sandbox.admission.hanging() >= MAX_HANGING {
            let reason = "too many file calls hang";
            return (Err(SandboxError::Busy { reason }), queued, Duration::ZERO);
        }
        let component = self.component;
        let slot = Arc::new(slot);
        let weak = Arc::downgrade(&slot);
        // Taken here, as the call may move to another runtime.
        let caller = || Handle::try_current().unwrap_or_else(|_| executor.threads.clone());
        let caller = self.agents.is_some().then(caller);
        let call = self.run_in_slot(request, slot, caller);
        let call = executor.clock.drive(call);
        let response = match file_io {
            FileIo::Inline => run_migrating(call, &executor.run_queue, component).await,
            FileIo::Offload => run_on_own_thread(call, executor, deadline, &weak).await,
        };
        (response, queued, started.elapsed())
    }

    async fn run_in_slot(
        self,
        request: Request,
        slot: Arc<CallSlot>,
        caller: Option<Handle>,
    ) -> Result<Response, SandboxError> {
        let deadline = self.meter.limits.deadline;
        let meter = Arc::clone(&self.meter);
        let clock = self.sandbox.executor.clock.clone();
        let call = self.call_export(request, &slot, caller);
        let response = match clock.within(deadline, call).await {
            Some(Ok(raw)) => raw.check(&meter),
            Some(Err(error)) => Err(classify_trap(error, &meter)),
            None => Err(SandboxError::Timeout { deadline }),
        };
        // Last: the instance is gone by now, and its memories are reset.
        drop(slot);
        response
    }

    /// Calls one export of a fresh instance. The store is dropped when this returns.
    async fn call_export(
        self,
        request: Request,
        slot: &Arc<CallSlot>,
        caller: Option<Handle>,
    ) -> wasmtime::Result<RawResponse> {
        let code = Arc::clone(&self.code);
        let ComponentCode {
            pre,
            handlers,
            polling,
            memory,
        } = &*code;
        let mut store = self.new_store(pre.engine(), slot, caller);
        let store = &mut store;
        let instance = with_memories(memory, pre.instantiate_async(&mut *store)).await?;
        let load_polling = |store: &mut Store<CallState>| match polling {
            Some(polling) => polling.load(store, &instance),
            None => Err(no_polling()),
        };
        let response = match request {
            Request::Describe => {
                let differs = |interface| move |error: wasmtime::Error| error.context(interface);
                let handlers = handlers
                    .load(&mut *store, &instance)
                    .map_err(differs("goondan:tool/handlers"))?;
                if polling.is_some() {
                    load_polling(store).map_err(differs("goondan:tool/polling"))?;
                }
                let described = handlers.call_describe(store).await;
                described.map(RawResponse::Exports)
            }
            Request::Run(Operation::Handler { name, input }, context) => {
                let handlers = handlers.load(&mut *store, &instance)?;
                let context = to_wit(&context);
                let returned = handlers.call_call(store, name.as_str(), context, &input);
                returned.await.map(RawResponse::Outcome)
            }
            Request::Run(Operation::Poll { handle }, context) => {
                let polling = load_polling(store)?;
                let returned = polling.call_poll(store, to_wit(&context), &handle).await;
                returned.map(RawResponse::Outcome)
            }
            Request::Run(Operation::Cancel { handle }, context) => {
                let polling = load_polling(store)?;
                let returned = polling.call_cancel(store, to_wit(&context), &handle).await;
                returned.map(|()| RawResponse::Cancelled)
            }
        };
        response.map_err(|error| error.context(GuestCallContext))
    }

    fn new_store(
        self,
        engine: &Engine,
        slot: &Arc<CallSlot>,
        caller: Option<Handle>,
    ) -> Store<CallState> {
        let started = Instant::now();
        // None where the deadline is beyond the range of the clock.
        let ends = started.checked_add(self.meter.limits.deadline);
        let (sandbox, meter) = (&self.sandbox, self.meter);
        let memory = MemoryLimiter::new(Arc::clone(&sandbox.memory), Arc::clone(&meter));
        let fs = Filesystem::new(
            self.workdir,
            self.grants.workdir,
            self.protected,
            Arc::clone(&meter),
            sandbox.executor.blocking.clone(),
        );
        let agents = Agents {
            granted: self.agents.zip(caller).map(|(port, caller)| GrantedAgents {
                port,
                slot: Arc::clone(slot),
                caller,
            }),
            meter: Arc::clone(&meter),
            ends,
        };
        let http = Http::new(
            self.grants.http,
            Arc::clone(&sandbox.network),
            Arc::clone(&meter),
            ends,
        );
        let env = self.grants.env;
        let state = CallState::new(env, fs, memory, agents, http, Arc::clone(&meter));
        let mut store = Store::new(engine, state);
        store.limiter(|state| &mut state.memory);
        store.set_hostcall_fuel(meter.limits.hostcall_bytes);
        store.set_max_component_handles(meter.limits.handles);
        store.call_hook_async(HostCallHook::new(started, ends));
        store.set_epoch_deadline(1);
        store.epoch_deadline_callback(move |_| {
            if ends.is_some_and(|ends| Instant::now() >= ends) {
                return Ok(UpdateDeadline::Interrupt);
            }
            Ok(UpdateDeadline::Yield(1))
        });
        store
    }
}

/// Converts the context to the guest's types. Its texts are copied into the guest's memory, and nowhere
/// else: a message may have megabytes.
fn to_wit(context: &ToolContext) -> handlers::ToolContext<'_> {
    handlers::ToolContext {
        agent_name: &context.agent_name,
        instance_key: &context.instance_key,
        turn_id: &context.turn_id,
        tool_call_id: &context.tool_call_id,
        trace_id: context.trace_id.as_deref(),
        message: context.message.as_json(),
        workdir: &context.workdir,
    }
}

fn no_polling() -> wasmtime::Error {
    wasmtime::Error::msg("the component does not export goondan:tool/polling")
}
