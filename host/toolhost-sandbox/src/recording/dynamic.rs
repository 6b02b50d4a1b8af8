//! Links a component with imports that are made for its own import types.

use std::sync::{Arc, OnceLock};

use toolhost_runtime::ComponentId;
use wasmtime::component::{Component, InstancePre, Linker, ResourceAny, ResourceType, Val};
use wasmtime::{Engine, StoreContextMut};

use crate::engine::memory::IdleMemory;
use crate::recording::forward::ForwarderCode;
use crate::recording::guest::{Answers, GuestState};
use crate::recording::imports::{ImportedFunction, Imports};
use crate::recording::values::{passed_bytes, replace_handles};
use crate::store::data::CallState;
use crate::store::state::{HOSTCALL_FUEL, StoreState};

/// A component whose imports are answered by [`Answers`].
pub(crate) struct DynamicCode {
    pub(crate) pre: InstancePre<GuestState>,
    imports: Arc<Imports>,
    forwarder: OnceLock<Result<Arc<ForwarderCode>, String>>,
}

impl DynamicCode {
    /// Links a component.
    ///
    /// # Errors
    /// Why its calls cannot be recorded.
    pub(crate) fn link(engine: &Engine, component: &Component) -> Result<Self, String> {
        let imports = Arc::new(Imports::of(engine, component)?);
        let pre = link(engine, component, &imports).map_err(|error| format!("{error:#}"))?;
        Ok(Self {
            pre,
            imports,
            forwarder: OnceLock::new(),
        })
    }

    /// Returns the component through which the host's functions are called. Compiles it the first time.
    ///
    /// # Errors
    /// Why its calls cannot be recorded.
    pub(crate) fn forwarder(
        &self,
        linker: &Linker<CallState>,
        component: ComponentId,
        idle: &Arc<IdleMemory>,
    ) -> Result<Arc<ForwarderCode>, String> {
        let engine = linker.engine();
        let compile =
            || ForwarderCode::compile(engine, linker, &self.imports, component, idle).map(Arc::new);
        self.forwarder.get_or_init(compile).clone()
    }
}

fn link(
    engine: &Engine,
    component: &Component,
    imports: &Arc<Imports>,
) -> wasmtime::Result<InstancePre<GuestState>> {
    let mut linker = Linker::<GuestState>::new(engine);
    for instance in &imports.instances {
        let mut linked = linker.instance(&instance.name)?;
        for (name, at) in &instance.resources {
            let (at, imports) = (*at, Arc::clone(imports));
            let ty = ResourceType::host_dynamic(u32::try_from(at)?);
            linked.resource_async(name, ty, move |store, number| {
                let imports = Arc::clone(&imports);
                Box::new(async move { drop_handle(store, &imports, at, number).await })
            })?;
        }
        for function in &instance.functions {
            let (function, imports) = (Arc::clone(function), Arc::clone(imports));
            let name = function.local.clone();
            linked.func_new_async(&name, move |store, _, params, results| {
                let (function, imports) = (Arc::clone(&function), Arc::clone(&imports));
                Box::new(async move { call(store, &imports, &function, params, results).await })
            })?;
        }
    }
    linker.instantiate_pre(component)
}

async fn call(
    mut store: StoreContextMut<'_, GuestState>,
    imports: &Imports,
    function: &ImportedFunction,
    params: &[Val],
    results: &mut [Val],
) -> wasmtime::Result<()> {
    let passed: usize = params.iter().map(passed_bytes).sum();
    if passed > store.data().limits().hostcall_bytes {
        return Err(wasmtime::Error::msg(HOSTCALL_FUEL));
    }
    let mut answers = take_answers(&mut store)?;
    let mut handles = Vec::new();
    let mut params = params.to_vec();
    for param in &mut params {
        replace_handles(param, &mut |handle: ResourceAny| {
            let owned = handle.owned();
            let number = handle.try_into_resource_dynamic(&mut store)?.rep();
            handles.push((number, owned));
            Ok(handle)
        })?;
    }
    let called = match &mut answers {
        Answers::Host(forward) => {
            let store = wasmtime::AsContextMut::as_context_mut(&mut store);
            forward
                .call(store, imports, function, (params, handles), results)
                .await
        }
        Answers::Recording(player) => {
            let numbers = handles.iter().map(|(number, _)| *number).collect();
            let store = wasmtime::AsContextMut::as_context_mut(&mut store);
            player.call(store, imports, function, (&params, numbers), results)
        }
    };
    store.data_mut().answers = Some(answers);
    called
}

async fn drop_handle(
    mut store: StoreContextMut<'_, GuestState>,
    imports: &Imports,
    resource: usize,
    number: u32,
) -> wasmtime::Result<()> {
    let mut answers = take_answers(&mut store)?;
    let function = imports
        .resources
        .get(resource)
        .map_or("", |resource| &resource.drop);
    let dropped = match &mut answers {
        Answers::Host(forward) => forward.drop_handle(function, number).await,
        Answers::Recording(player) => player.drop_handle(function, number),
    };
    store.data_mut().answers = Some(answers);
    dropped
}

fn take_answers(store: &mut StoreContextMut<'_, GuestState>) -> wasmtime::Result<Answers> {
    let answers = store.data_mut().answers.take();
    answers.ok_or_else(|| wasmtime::Error::msg("nothing answers the host calls of this call"))
}
