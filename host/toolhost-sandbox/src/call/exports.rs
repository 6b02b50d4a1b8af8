//! The exports of a linked component.

use wasmtime::component::InstancePre;

use crate::call::store_data::CallState;
use crate::host::bindings::{handlers, polling};

/// The export that a component may do without.
const POLLING: &str = "goondan:tool/polling@2.0.0";

/// A component whose imports are linked and whose exports were found by name. The types of the exports
/// are checked when they are called.
#[derive(Clone)]
pub(crate) struct Exports {
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) handlers: handlers::GuestIndices,
    pub(crate) polling: Option<polling::GuestIndices>,
}

impl Exports {
    pub(crate) fn find(pre: InstancePre<CallState>) -> wasmtime::Result<Self> {
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
