//! Answers the host calls of a recorded call: the host's functions run in a store of their own.

use std::collections::HashMap;
use std::sync::Arc;

use toolhost_runtime::ComponentId;
use wasmtime::component::{
    Component, ComponentExportIndex, Instance, InstancePre, Linker, ResourceAny, ResourceDynamic,
    ResourceType, Val,
};
use wasmtime::{Engine, Store, StoreContextMut};

use crate::engine::memory::IdleMemory;
use crate::engine::memory::creator::with_memories;
use crate::engine::memory::source::MemorySource;
use crate::recording::forwarder::{encode, export_name};
use crate::recording::imports::{ImportedFunction, Imports};
use crate::recording::tape::Tape;
use crate::recording::values::{handle_types, replace_handles};
use crate::store::data::CallState;
use crate::store::state::StoreState;

/// A compiled forwarder.
pub(crate) struct ForwarderCode {
    pre: InstancePre<CallState>,
    functions: Vec<ComponentExportIndex>,
    memory: Arc<MemorySource>,
}

impl ForwarderCode {
    /// Makes and compiles the forwarder of a component.
    ///
    /// # Errors
    /// Its imports cannot be forwarded.
    pub(super) fn compile(
        engine: &Engine,
        linker: &Linker<CallState>,
        imports: &Imports,
        component: ComponentId,
        idle: &Arc<IdleMemory>,
    ) -> Result<Self, String> {
        let text = |error: wasmtime::Error| format!("{error:#}");
        let forwarder = Component::new(engine, encode(imports)?).map_err(text)?;
        let count = imports
            .instances
            .iter()
            .map(|instance| instance.functions.len());
        let index = |at| {
            let index = forwarder.get_export_index(None, export_name(at));
            index.ok_or_else(|| "the forwarder lacks a function".to_owned())
        };
        Ok(Self {
            functions: (0..count.sum()).map(index).collect::<Result<_, _>>()?,
            pre: linker.instantiate_pre(&forwarder).map_err(text)?,
            memory: MemorySource::new(component, None, idle),
        })
    }
}

/// The host's side of one recorded call.
pub(crate) struct Forward {
    store: Store<CallState>,
    instance: Instance,
    code: Arc<ForwarderCode>,
    tape: Arc<Tape>,
    /// The host's handles, by the numbers that the guest has.
    handles: HashMap<u32, ResourceAny>,
    last_handle: u32,
}

impl Forward {
    pub(crate) async fn new(
        mut store: Store<CallState>,
        code: &Arc<ForwarderCode>,
        tape: &Arc<Tape>,
    ) -> wasmtime::Result<Self> {
        let instantiate = code.pre.instantiate_async(&mut store);
        let instance = with_memories(&code.memory, instantiate).await?;
        Ok(Self {
            store,
            instance,
            code: Arc::clone(code),
            tape: Arc::clone(tape),
            handles: HashMap::new(),
            last_handle: 0,
        })
    }

    /// Calls a function of the host.
    pub(super) async fn call<T: StoreState>(
        &mut self,
        mut guest: StoreContextMut<'_, T>,
        imports: &Imports,
        function: &ImportedFunction,
        params: (Vec<Val>, Vec<(u32, bool)>),
        results: &mut [Val],
    ) -> wasmtime::Result<()> {
        let (mut params, handles) = params;
        let numbers = handles.iter().map(|(number, _)| *number).collect();
        self.tape.begin(&function.name, &params, numbers);
        let mut handles = handles.into_iter();
        for param in &mut params {
            replace_handles(param, &mut |_| {
                let found = handles.next().and_then(|(number, owned)| {
                    if owned {
                        self.handles.remove(&number)
                    } else {
                        self.handles.get(&number).copied()
                    }
                });
                found.ok_or_else(unknown_handle)
            })?;
        }
        let index = self.code.functions.get(function.index);
        let called = index.and_then(|index| self.instance.get_func(&mut self.store, index));
        let called =
            called.ok_or_else(|| wasmtime::Error::msg("the forwarder lacks a function"))?;
        let mut returned = vec![Val::Bool(false); results.len()];
        let done = called
            .call_async(&mut self.store, &params, &mut returned)
            .await;
        done.inspect_err(|error| self.tape.ended(error))?;
        // The handles of the host count where the guest's memory counts.
        let held = self.store.data().memory.handle_bytes();
        if !guest.data_mut().limiter().set_handle_bytes(held) {
            let error = wasmtime::Error::msg("the guest's HTTP handles hold too much memory");
            self.tape.ended(&error);
            return Err(error);
        }
        let mut types = Vec::new();
        if let (Some(value), Some(ty)) = (returned.first(), &function.result) {
            handle_types(value, ty, &mut types);
        }
        let (mut types, mut numbers) = (types.into_iter(), Vec::new());
        for value in &mut returned {
            replace_handles(value, &mut |handle| {
                let ty: Option<ResourceType> = types.next();
                let payload = ty
                    .and_then(|ty| imports.resource(&ty))
                    .ok_or_else(unknown_handle)?;
                self.last_handle += 1;
                self.handles.insert(self.last_handle, handle);
                numbers.push(self.last_handle);
                let handle = ResourceDynamic::new_own(self.last_handle, u32::try_from(payload)?);
                handle.try_into_resource_any(&mut guest)
            })?;
        }
        self.tape.returned(&returned, numbers);
        results
            .iter_mut()
            .zip(returned)
            .for_each(|(result, value)| *result = value);
        Ok(())
    }

    /// Drops a handle of the host.
    pub(super) async fn drop_handle(
        &mut self,
        function: &str,
        number: u32,
    ) -> wasmtime::Result<()> {
        self.tape.begin_drop(function, number);
        let handle = self.handles.remove(&number).ok_or_else(unknown_handle)?;
        let dropped = handle.resource_drop_async(&mut self.store).await;
        dropped.inspect_err(|error| self.tape.ended(error))?;
        self.tape.returned(&[], Vec::new());
        Ok(())
    }
}

fn unknown_handle() -> wasmtime::Error {
    wasmtime::Error::msg("a recorded handle is unknown")
}
