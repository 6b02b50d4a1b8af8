//! The compiled code of one component, in the pools that its calls run in.

use std::sync::Arc;

use tokio::sync::OnceCell;
use tracing::warn;
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre};

use crate::SandboxError;
use crate::call::store_data::CallState;
use crate::component_id::ComponentId;
use crate::engine::pools::{InstancePool, InstancePools, MemorySlots};
use crate::host::bindings::{handlers, polling};
use crate::scheduler::executor::Executor;

/// The export that a component may do without.
const POLLING: &str = "goondan:tool/polling@2.0.0";

/// A component that is compiled and linked.
pub(crate) struct ComponentCode {
    pool: Arc<InstancePool<CallState>>,
    pub(crate) component: Component,
    exports: Exports,
    /// Memories of one instance.
    memories: u64,
    /// The same code in the transient pool, loaded on first use.
    transient: OnceCell<Exports>,
}

impl ComponentCode {
    /// Links a component that was compiled for, or mapped into, the engine of a pool.
    ///
    /// # Errors
    /// Its imports or exports have other types than the host's.
    pub(crate) fn link(
        pool: &Arc<InstancePool<CallState>>,
        component: Component,
    ) -> wasmtime::Result<Self> {
        let needs = component.resources_required();
        Ok(Self {
            exports: Exports::find(pool.linker.instantiate_pre(&component)?)?,
            pool: Arc::clone(pool),
            memories: needs.map_or(1, |needs| needs.num_memories.max(1).into()),
            component,
            transient: OnceCell::new(),
        })
    }

    /// Whether it exports `goondan:tool/polling`.
    pub(crate) fn polls(&self) -> bool {
        self.exports.polling.is_some()
    }

    /// Takes slots for one instance, and returns the code that runs in them. None where its pool has no
    /// free slots and [`load_transient`](Self::load_transient) was not called yet.
    pub(crate) fn take_slots(
        &self,
        pools: &InstancePools<CallState>,
        id: ComponentId,
    ) -> Option<(&Exports, MemorySlots)> {
        if let Some(slots) = self.pool.take(id, self.memories) {
            return Some((&self.exports, slots));
        }
        let exports = self.transient.get()?;
        Some((exports, pools.transient.take(id, self.memories)?))
    }

    /// Loads the code into the transient pool, once.
    ///
    /// # Errors
    /// [`SandboxError::Busy`] if memory or a thread for it is not available.
    pub(crate) async fn load_transient(
        &self,
        pools: &InstancePools<CallState>,
        executor: &Executor,
    ) -> Result<(), SandboxError> {
        let load_copy = || async {
            let pool = Arc::clone(&pools.transient);
            let component = self.component.clone();
            let work = move || {
                let copy = load(&pool.engine, &component.serialize()?)?;
                Exports::find(pool.linker.instantiate_pre(&copy)?)
            };
            executor.compute(work).await?.map_err(|error| {
                let error = format!("{error:#}");
                warn!(error, "cannot load a second copy of a component's code");
                SandboxError::Busy {
                    reason: "a second copy of its code could not be loaded",
                }
            })
        };
        self.transient.get_or_try_init(load_copy).await.map(drop)
    }
}

/// A component whose imports are linked and whose exports were found by name. The types of the exports
/// are checked when they are called.
#[derive(Clone)]
pub(crate) struct Exports {
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) handlers: handlers::GuestIndices,
    pub(crate) polling: Option<polling::GuestIndices>,
}

impl Exports {
    fn find(pre: InstancePre<CallState>) -> wasmtime::Result<Self> {
        let found = pre.component().get_export_index(None, POLLING);
        let polling = found
            .map(|_| polling::GuestIndices::new(&pre))
            .transpose()?;
        Ok(Self {
            handlers: handlers::GuestIndices::new(&pre)?,
            polling,
            pre,
        })
    }
}

/// Loads compiled code.
///
/// # Errors
/// The engine refuses it.
#[expect(
    unsafe_code,
    reason = "an engine of ours compiled these bytes, here or in a process of its own, and nobody else held them"
)]
pub(crate) fn load(engine: &Engine, artifact: &[u8]) -> wasmtime::Result<Component> {
    unsafe { Component::deserialize(engine, artifact) }
}
