//! An instance in a store of its own.

use std::sync::Arc;

use toolhost_contract::Limits;
use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use crate::call::resource_limiter::MemoryLimiter;
use crate::call::store::{RunTime, set_limits};
use crate::call::store_data::CallState;
use crate::engine::memory::creator::with_memories;
use crate::engine::memory::source::MemorySource;
use crate::host::bindings::handlers;

/// An instance in a store of its own.
pub(crate) struct Instantiated {
    pub(crate) store: Store<CallState>,
    pub(crate) instance: Instance,
    /// The exports of `goondan:tool/handlers`, if they were loaded already.
    handlers: Option<handlers::Guest>,
}

impl Instantiated {
    /// Makes an instance.
    ///
    /// # Errors
    /// The instance exceeds a limit of the store, or code that runs when it is made traps.
    pub(crate) async fn new(
        mut store: Store<CallState>,
        pre: &InstancePre<CallState>,
        memory: &Arc<MemorySource>,
    ) -> wasmtime::Result<Self> {
        let instance = with_memories(memory, pre.instantiate_async(&mut store)).await?;
        Ok(Self {
            store,
            instance,
            handlers: None,
        })
    }

    /// Returns the exports of `goondan:tool/handlers`.
    ///
    /// # Errors
    /// They have other types.
    pub(crate) fn load_handlers(
        &mut self,
        indices: &handlers::GuestIndices,
    ) -> wasmtime::Result<handlers::Guest> {
        match self.handlers.take() {
            Some(loaded) => Ok(loaded),
            None => indices.load(&mut self.store, &self.instance),
        }
    }

    /// Finds the exports now, so that the call need not.
    ///
    /// # Errors
    /// They have other types.
    pub(super) fn with_handlers(
        mut self,
        indices: &handlers::GuestIndices,
    ) -> wasmtime::Result<Self> {
        self.handlers = Some(self.load_handlers(indices)?);
        Ok(self)
    }

    /// The limits under which it was made.
    pub(super) fn limits(&self) -> &Limits {
        &self.store.data().meter.limits
    }

    /// What it holds.
    pub(super) fn memory(&self) -> &MemoryLimiter {
        &self.store.data().memory
    }

    /// Gives an instance that no call has touched to a call. Nothing of the previous state is left: the
    /// guest has made no host call, and so holds no handle.
    pub(crate) fn begin(mut self, state: CallState, time: RunTime) -> Self {
        *self.store.data_mut() = state;
        set_limits(&mut self.store, time);
        self
    }
}
