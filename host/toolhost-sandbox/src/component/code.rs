//! The compiled code of one component, and the memories of its instances.

use std::sync::{Arc, OnceLock};

use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

use crate::call::store_data::CallState;
use crate::engine::memory::source::MemorySource;
use crate::host::bindings::{handlers, polling};
use crate::recording::dynamic::DynamicCode;

/// The export that a component may do without.
const POLLING: &str = "goondan:tool/polling@2.0.0";

/// A component whose imports are linked and whose exports were found by name. The types of the exports
/// are checked when they are called.
pub(crate) struct ComponentCode {
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) handlers: handlers::GuestIndices,
    pub(crate) polling: Option<polling::GuestIndices>,
    /// Where the memories of its instances come from.
    pub(crate) memory: Arc<MemorySource>,
    /// The same component with imports that are recorded or replayed; made when it is first needed.
    dynamic: OnceLock<Result<Arc<DynamicCode>, String>>,
}

impl ComponentCode {
    /// Links a component.
    ///
    /// # Errors
    /// Its imports or exports have other types than the host's.
    pub(crate) fn link(
        linker: &Linker<CallState>,
        component: &Component,
        memory: Arc<MemorySource>,
    ) -> wasmtime::Result<Self> {
        let pre = linker.instantiate_pre(component)?;
        let found = component.get_export_index(None, POLLING);
        let polling = found
            .map(|_| polling::GuestIndices::new(&pre))
            .transpose()?;
        Ok(Self {
            handlers: handlers::GuestIndices::new(&pre)?,
            polling,
            pre,
            memory,
            dynamic: OnceLock::new(),
        })
    }

    /// Returns the component with imports that are recorded or replayed. It is linked the first time.
    ///
    /// # Errors
    /// Why its calls cannot be recorded.
    pub(crate) fn dynamic(&self) -> Result<Arc<DynamicCode>, String> {
        let component = self.pre.component();
        let link = || DynamicCode::link(self.pre.engine(), component).map(Arc::new);
        self.dynamic.get_or_init(link).clone()
    }

    /// Whether it exports `goondan:tool/polling`.
    pub(crate) fn polls(&self) -> bool {
        self.polling.is_some()
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
