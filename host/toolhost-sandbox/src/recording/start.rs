//! Makes the instance of a call that is recorded or replayed.

use std::sync::Arc;

use crate::call::instantiated::Instantiated;
use crate::call::resource_limiter::MemoryLimiter;
use crate::call::store::{RunTime, new_store};
use crate::call::task::CallTask;
use crate::host::agents::GrantedAgents;
use crate::recording::call_imports::CallImports;
use crate::recording::dynamic::Answers;
use crate::recording::forward::{Forward, ForwarderMemory};
use crate::recording::player::Player;

/// How many bytes of the host a byte of the guest takes while it is a value of its own.
const VALUE_BYTES: usize = 64;

/// Most bytes of the host that the values of one host call take: lists of some 6 million bytes. Guests pass
/// at most a megabyte at once, as streams accept no more.
const VALUES_MAX: usize = 256 << 20;

/// Handles that the host holds of its own for each handle of the guest.
const HANDLES_PER_HANDLE: usize = 4;

/// Makes the instance.
///
/// # Errors
/// The instance exceeds a limit of the store, or code that runs when it is made traps.
pub(crate) async fn instantiate(
    mut task: CallTask,
    memory: MemoryLimiter,
    agents: Option<GrantedAgents>,
    time: RunTime,
) -> wasmtime::Result<Instantiated> {
    let code = Arc::clone(&task.code);
    let (sandbox, component) = (Arc::clone(&task.sandbox), task.component);
    let meter = Arc::clone(&task.meter);
    let limits = meter.limits.clone();
    let imports = std::mem::replace(&mut task.imports, CallImports::Host);
    let mut guest = CallTask::without_grants(Arc::clone(&sandbox), component, &code, limits);
    guest.meter = Arc::clone(&meter);
    let engine = code.pre.engine();
    let (answers, dynamic) = match imports {
        CallImports::Host => return Err(wasmtime::Error::msg("the call is not recorded")),
        CallImports::Replayed { player, dynamic } => {
            let player: Player = *player;
            (Answers::Recording(player), dynamic)
        }
        CallImports::Recorded {
            tape,
            dynamic,
            forwarder,
        } => {
            let handles = MemoryLimiter::new(Arc::clone(&sandbox.memory), Arc::clone(&meter));
            let mut state = task.into_state(handles, agents, time);
            state.limiter = Some(Box::new(ForwarderMemory {
                all_calls: Arc::clone(&sandbox.memory),
                component,
                held: 0,
            }));
            let mut store = new_store(engine, state, time);
            store.set_hostcall_fuel(usize::MAX);
            let handles = meter.limits.handles.saturating_mul(HANDLES_PER_HANDLE);
            store.set_max_component_handles(handles);
            let forward = Forward::new(store, &forwarder, &tape).await?;
            (Answers::Host(Box::new(forward)), dynamic)
        }
    };
    let mut state = guest.into_state(memory, None, time);
    state.answers = Some(Box::new(answers));
    let mut store = new_store(engine, state, time);
    let values = meter.limits.hostcall_bytes.saturating_mul(VALUE_BYTES);
    store.set_hostcall_fuel(values.min(VALUES_MAX));
    Instantiated::new(store, &dynamic.pre, &code.memory).await
}
