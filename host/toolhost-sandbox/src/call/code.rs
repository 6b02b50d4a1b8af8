//! The compiled code of one component, and the memories of its instances.

use std::sync::Arc;

use wasmtime::component::{Component, InstancePre, Linker};

use crate::engine::memory::source::MemorySource;
use crate::host::bindings::{handlers, outputs, polling};
use crate::store::data::CallState;

/// An export that a component may do without.
const POLLING: &str = "goondan:tool/polling@2.0.0";

/// An export that a component may do without.
const OUTPUTS: &str = "goondan:tool/outputs@2.0.0";

/// The import of a component that sets the modes of files itself.
const MODES: &str = "goondan:tool/modes@2.0.0";

/// A component whose imports are linked and whose exports were found by name. The types of the exports
/// are checked when they are called.
pub(crate) struct ComponentCode {
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) handlers: handlers::GuestIndices,
    pub(crate) polling: Option<polling::GuestIndices>,
    pub(crate) outputs: Option<outputs::GuestIndices>,
    /// Whether it imports `goondan:tool/modes`.
    pub(crate) has_modes: bool,
    /// Where the memories of its instances come from.
    pub(crate) memory: Arc<MemorySource>,
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
        let exports = |name| component.get_export_index(None, name).is_some();
        let polling = exports(POLLING).then(|| polling::GuestIndices::new(&pre));
        let outputs = exports(OUTPUTS).then(|| outputs::GuestIndices::new(&pre));
        let ty = component.component_type();
        Ok(Self {
            has_modes: ty.get_import(component.engine(), MODES).is_some(),
            handlers: handlers::GuestIndices::new(&pre)?,
            polling: polling.transpose()?,
            outputs: outputs.transpose()?,
            pre,
            memory,
        })
    }

    /// Whether it exports `goondan:tool/polling`.
    pub(crate) fn polls(&self) -> bool {
        self.polling.is_some()
    }
}
