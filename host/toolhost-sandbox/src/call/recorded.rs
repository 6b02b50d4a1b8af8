//! Makes the instance of a call that is recorded or replayed.

use std::sync::Arc;

use toolhost_contract::Limits;

use crate::call::instantiated::Instantiated;
use crate::call::task::{CallTask, Ports};
use crate::recording::call_imports::CallImports;
use crate::recording::forward::Forward;
use crate::recording::guest::{Answers, GuestState};
use crate::store::meters::CallMeters;
use crate::store::resource_limiter::MemoryLimiter;
use crate::store::{RunTime, new_store};

/// How many bytes of the host a byte of the guest takes while it is a value of its own.
const VALUE_BYTES: usize = 64;

/// Most bytes of the host that the values of one host call take: lists of some 6 million bytes. Guests pass
/// at most a megabyte at once, as streams accept no more.
const VALUES_MAX: usize = 256 << 20;

/// Handles that the host holds of its own for each handle of the guest.
const HANDLES_PER_HANDLE: usize = 4;

/// Most bytes of memory for the values of one host call: more than one host call may return.
const FORWARDER_MEMORY: u64 = 1 << 30;

/// Makes the instance.
///
/// # Errors
/// The instance exceeds a limit of the store, or code that runs when it is made traps.
pub(crate) async fn instantiate(
    mut task: CallTask,
    memory: MemoryLimiter,
    ports: Ports,
    time: RunTime,
) -> wasmtime::Result<Instantiated<GuestState>> {
    let code = Arc::clone(&task.code);
    let meters = Arc::clone(&task.meters);
    let engine = code.pre.engine();
    let imports = std::mem::replace(&mut task.imports, CallImports::Host);
    let (answers, dynamic) = match imports {
        CallImports::Host => return Err(wasmtime::Error::msg("the call is not recorded")),
        CallImports::Replayed { player, dynamic } => (Answers::Recording(player), dynamic),
        CallImports::Recorded {
            tape,
            dynamic,
            forwarder,
        } => {
            let forwarder_memory = forwarder_memory(&task);
            let mut state = task.into_state(MemoryLimiter::new(&meters), ports, time);
            state.forwarder_memory = Some(Box::new(forwarder_memory));
            let mut store = new_store(engine, state, time);
            store.set_hostcall_fuel(usize::MAX);
            let handles = meters.limits.handles.saturating_mul(HANDLES_PER_HANDLE);
            store.set_max_component_handles(handles);
            let forward = Forward::new(store, &forwarder, &tape).await?;
            (Answers::Host(Box::new(forward)), dynamic)
        }
    };
    let values = meters.limits.hostcall_bytes.saturating_mul(VALUE_BYTES);
    let state = GuestState {
        meters,
        memory,
        answers: Some(answers),
    };
    let mut store = new_store(engine, state, time);
    store.set_hostcall_fuel(values.min(VALUES_MAX));
    Instantiated::new(store, &dynamic.pre, &code.memory).await
}

/// Returns what bounds the memory of a forwarder. It counts as memory of all calls, and not of this one.
fn forwarder_memory(task: &CallTask) -> MemoryLimiter {
    let limits = Limits {
        memory_bytes: FORWARDER_MEMORY,
        table_elements: u64::MAX,
        instances: usize::MAX,
        ..Limits::default()
    };
    let (memory, open_files) = (&task.sandbox.memory, &task.sandbox.open_files);
    let meters = CallMeters::new(task.component, limits, memory, open_files, None, None);
    MemoryLimiter::new(&Arc::new(meters))
}
