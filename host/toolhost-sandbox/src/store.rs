//! The store that a guest runs in: its data, its imports and its limits.

pub(crate) mod call_hook;
pub(crate) mod data;
pub(crate) mod linker;
pub(crate) mod meters;
pub(crate) mod resource_limiter;
pub(crate) mod state;

use std::time::Instant;

use toolhost_contract::Limits;
use wasmtime::{Engine, Store, UpdateDeadline};

use crate::store::call_hook::HostCallHook;
use crate::store::state::StoreState;

/// When a guest begins to run, and when it is stopped.
#[derive(Clone, Copy)]
pub(crate) struct RunTime {
    pub(crate) started: Instant,
    /// None where that is beyond the range of the clock.
    pub(crate) ends: Option<Instant>,
}

impl RunTime {
    /// From now until the deadline.
    pub(crate) fn of(limits: &Limits) -> Self {
        let started = Instant::now();
        let ends = started.checked_add(limits.deadline);
        Self { started, ends }
    }
}

/// Returns a store without an instance.
pub(crate) fn new_store<T: StoreState>(engine: &Engine, state: T, time: RunTime) -> Store<T> {
    let mut store = Store::new(engine, state);
    store.limiter(|state| state.limiter());
    let RunTime { started, ends } = time;
    let limits = store.data().limits();
    let (hostcall_bytes, handles) = (limits.hostcall_bytes, limits.handles);
    store.set_hostcall_fuel(hostcall_bytes);
    store.set_max_component_handles(handles);
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
