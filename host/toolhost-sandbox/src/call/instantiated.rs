//! An instance in a store of its own.

use std::sync::Arc;

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use crate::call::store_data::CallState;
use crate::engine::memory::creator::with_memories;
use crate::engine::memory::source::MemorySource;
use crate::host::bindings::handlers;

/// An instance in a store of its own.
pub(crate) struct Instantiated {
    pub(crate) store: Store<CallState>,
    pub(crate) instance: Instance,
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
        Ok(Self { store, instance })
    }

    /// Returns the exports of `goondan:tool/handlers`.
    ///
    /// # Errors
    /// They have other types.
    pub(crate) fn load_handlers(
        &mut self,
        indices: &handlers::GuestIndices,
    ) -> wasmtime::Result<handlers::Guest> {
        indices.load(&mut self.store, &self.instance)
    }
}
