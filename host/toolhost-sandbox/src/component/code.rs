//! The compiled code of one component, in the pools that its calls run in.

use std::sync::Arc;

use tokio::sync::OnceCell;
use tracing::warn;
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::SandboxError;
use crate::component_id::ComponentId;
use crate::engine::pools::{InstancePool, InstancePools, MemorySlots};
use crate::host::bindings::Linked;
use crate::sandbox::Sandbox;

/// A component that is compiled and linked.
pub(crate) struct ComponentCode {
    home: Arc<InstancePool>,
    component: Component,
    linked: Linked,
    /// Memories of one instance.
    memories: u64,
    /// The same code in the pool that has slots for every call; loaded when it is first needed.
    elsewhere: OnceCell<Linked>,
}

impl ComponentCode {
    /// Links a component that was compiled for, or mapped into, the engine of a pool.
    ///
    /// # Errors
    /// Its imports or exports are not what the host serves and expects.
    pub(crate) fn link(home: &Arc<InstancePool>, component: Component) -> wasmtime::Result<Self> {
        let needs = component.resources_required();
        Ok(Self {
            linked: Linked::new(home.linker.instantiate_pre(&component)?)?,
            home: Arc::clone(home),
            memories: needs.map_or(1, |needs| needs.num_memories.max(1).into()),
            component,
            elsewhere: OnceCell::new(),
        })
    }

    pub(crate) fn component(&self) -> &Component {
        &self.component
    }

    /// Whether it exports `goondan:tool/polling`.
    pub(crate) fn polls(&self) -> bool {
        self.linked.polling.is_some()
    }

    /// Takes slots for one instance, and gives the code that runs in them. None where its home has no
    /// slot free, and the code was not [mapped elsewhere](Self::map_elsewhere) yet.
    pub(crate) fn take_slots(
        &self,
        pools: &InstancePools,
        id: ComponentId,
    ) -> Option<(&Linked, MemorySlots)> {
        if let Some(slots) = self.home.take(id, self.memories) {
            return Some((&self.linked, slots));
        }
        let linked = self.elsewhere.get()?;
        Some((linked, pools.rest().take(id, self.memories)?))
    }

    /// Loads a second copy of the code for the pool that has slots for every call, once.
    ///
    /// # Errors
    /// [`SandboxError::Busy`] where there is no memory or no thread for it.
    pub(crate) async fn map_elsewhere(&self, sandbox: &Sandbox) -> Result<(), SandboxError> {
        let map = || async {
            let rest = Arc::clone(sandbox.0.pools.rest());
            let component = self.component.clone();
            let work = move || {
                let again = load(&rest.engine, &component.serialize()?)?;
                Linked::new(rest.linker.instantiate_pre(&again)?)
            };
            sandbox.compute(work).await?.map_err(|error| {
                warn!(
                    error = format!("{error:#}"),
                    "cannot load a component's code once more"
                );
                SandboxError::Busy {
                    reason: "its code could not be loaded once more",
                }
            })
        };
        self.elsewhere.get_or_try_init(map).await.map(drop)
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
