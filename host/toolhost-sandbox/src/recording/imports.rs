//! What a component imports: its functions and resources, by the types that the component declares.

use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::types::{ComponentFunc, ComponentItem};
use wasmtime::component::{Component, ResourceType, Type};

/// A function that a component imports.
pub(crate) struct ImportedFunction {
    /// Its interface and name, such as `wasi:io/poll@0.2.6#poll`.
    pub(crate) name: String,
    /// Its name in the interface.
    pub(super) local: String,
    pub(crate) params: Vec<(String, Type)>,
    pub(crate) result: Option<Type>,
    /// Its place among all functions.
    pub(super) index: usize,
}

/// A resource that a component imports.
pub(crate) struct ImportedResource {
    /// What dropping a handle is recorded as, such as `wasi:io/poll@0.2.6#[resource-drop]pollable`.
    pub(crate) drop: String,
    ty: ResourceType,
}

/// An interface that a component imports.
pub(super) struct ImportedInstance {
    pub(super) name: String,
    /// Names of resources, with their place among all resources. One that another interface uses is in
    /// both.
    pub(super) resources: Vec<(String, usize)>,
    pub(super) functions: Vec<Arc<ImportedFunction>>,
}

/// All that a component imports.
pub(crate) struct Imports {
    pub(super) instances: Vec<ImportedInstance>,
    pub(crate) resources: Vec<ImportedResource>,
}

impl Imports {
    /// Reads the imports of a component.
    ///
    /// # Errors
    /// The name of an import whose calls cannot be recorded.
    pub(super) fn of(engine: &Engine, component: &Component) -> Result<Self, String> {
        let mut imports = Self {
            instances: Vec::new(),
            resources: Vec::new(),
        };
        let mut functions = 0;
        for (name, item) in component.component_type().imports(engine) {
            let ComponentItem::ComponentInstance(instance) = item.ty else {
                return Err(format!("the import {name} is not an interface"));
            };
            let mut imported = ImportedInstance {
                name: name.to_owned(),
                resources: Vec::new(),
                functions: Vec::new(),
            };
            for (local, item) in instance.exports(engine) {
                match item.ty {
                    ComponentItem::Resource(ty) => {
                        let at = imports.add_resource(name, local, ty);
                        imported.resources.push((local.to_owned(), at));
                    }
                    ComponentItem::ComponentFunc(ty) => {
                        let function = function(name, local, &ty, functions)?;
                        functions += 1;
                        imported.functions.push(Arc::new(function));
                    }
                    // Types have no values of their own.
                    ComponentItem::Type(_) => {}
                    ComponentItem::CoreFunc(_)
                    | ComponentItem::Module(_)
                    | ComponentItem::Component(_)
                    | ComponentItem::ComponentInstance(_) => {
                        return Err(format!("the import {name}#{local} is not a function"));
                    }
                }
            }
            imports.instances.push(imported);
        }
        Ok(imports)
    }

    fn add_resource(&mut self, instance: &str, local: &str, ty: ResourceType) -> usize {
        self.resource(&ty).unwrap_or_else(|| {
            self.resources.push(ImportedResource {
                drop: format!("{instance}#[resource-drop]{local}"),
                ty,
            });
            self.resources.len() - 1
        })
    }

    /// Returns the place of a resource.
    pub(crate) fn resource(&self, ty: &ResourceType) -> Option<usize> {
        self.resources.iter().position(|known| known.ty == *ty)
    }
}

fn function(
    instance: &str,
    local: &str,
    ty: &ComponentFunc,
    index: usize,
) -> Result<ImportedFunction, String> {
    let name = format!("{instance}#{local}");
    let params: Vec<_> = ty
        .params()
        .map(|(name, ty)| (name.to_owned(), ty))
        .collect();
    let mut results = ty.results();
    let result = results.next();
    let types = params.iter().map(|(_, ty)| ty).chain(&result);
    let known = !ty.async_() && results.next().is_none() && types.into_iter().all(is_known);
    if !known {
        return Err(format!(
            "the import {name} has a type that is not known here"
        ));
    }
    Ok(ImportedFunction {
        name,
        local: local.to_owned(),
        params,
        result,
        index,
    })
}

/// Whether values of a type can be recorded.
fn is_known(ty: &Type) -> bool {
    let all = |types: Vec<Type>| types.iter().all(is_known);
    match ty {
        Type::Map(_)
        | Type::Future(_)
        | Type::Stream(_)
        | Type::ErrorContext
        | Type::FixedLengthList(_) => false,
        Type::List(list) => is_known(&list.ty()),
        Type::Option(option) => is_known(&option.ty()),
        Type::Record(record) => all(record.fields().map(|field| field.ty).collect()),
        Type::Tuple(tuple) => all(tuple.types().collect()),
        Type::Variant(variant) => all(variant.cases().filter_map(|case| case.ty).collect()),
        Type::Result(result) => all([result.ok(), result.err()].into_iter().flatten().collect()),
        Type::Bool
        | Type::S8
        | Type::U8
        | Type::S16
        | Type::U16
        | Type::S32
        | Type::U32
        | Type::S64
        | Type::U64
        | Type::Float32
        | Type::Float64
        | Type::Char
        | Type::String
        | Type::Enum(_)
        | Type::Flags(_)
        | Type::Own(_)
        | Type::Borrow(_) => true,
    }
}
