//! Makes a component that exports a function for each imported one, which calls it and returns its result.
//!
//! The engine calls the host's functions for components alone. A recorded guest calls dynamic functions of
//! the recording, and these call the host through an instance of this component.

mod shim;
mod types;

use wasm_encoder::{
    CanonicalOption, ComponentBuilder, ComponentExportKind, ComponentTypeRef, ComponentValType,
    ExportKind, ModuleArg,
};

use self::shim::{CoreSignature, memory_module, shim_module};
use self::types::{ComponentScope, InstanceScope, val_type};
use super::imports::Imports;

/// Returns the export that calls an imported function.
pub(super) fn export_name(index: usize) -> String {
    format!("function-{index}")
}

/// Encodes the component.
///
/// # Errors
/// The name of a function that cannot be forwarded.
pub(super) fn encode(imports: &Imports) -> Result<Vec<u8>, String> {
    let mut builder = ComponentBuilder::default();
    // Of each resource, its type in the component.
    let mut resources: Vec<Option<u32>> = vec![None; imports.resources.len()];
    // The imported functions, with the types of the functions that are exported.
    let mut functions = Vec::new();
    for instance in &imports.instances {
        let mut scope = InstanceScope::new(imports, &resources);
        for (name, at) in &instance.resources {
            scope.export_resource(name, *at);
        }
        for function in &instance.functions {
            scope.export_function(function)?;
        }
        if scope.is_empty() {
            continue;
        }
        let (ty, named) = scope.finish();
        let ty = builder.type_instance(None, &ty);
        let imported = builder.import(instance.name.as_str(), ComponentTypeRef::Instance(ty));
        for (name, at) in &instance.resources {
            if resources.get(*at).is_some_and(Option::is_none) {
                let aliased = builder.alias_export(imported, name, ComponentExportKind::Type);
                if let Some(resource) = resources.get_mut(*at) {
                    *resource = Some(aliased);
                }
            }
        }
        let alias = |(name, ty): (String, _)| {
            let aliased = builder.alias_export(imported, &name, ComponentExportKind::Type);
            (ty, aliased)
        };
        let named = named.into_iter().map(alias).collect();
        let mut scope = ComponentScope {
            imports,
            resources: &resources,
            named,
            builder: &mut builder,
        };
        for function in &instance.functions {
            let mut params: Vec<(&str, ComponentValType)> = Vec::new();
            for (name, ty) in &function.params {
                params.push((name, val_type(&mut scope, ty)?));
            }
            let result = function.result.as_ref();
            let result = result.map(|ty| val_type(&mut scope, ty)).transpose()?;
            let (ty, mut encoder) = scope.builder.type_function(None);
            encoder.params(params).result(result);
            let kind = ComponentExportKind::Func;
            let host = scope.builder.alias_export(imported, &function.local, kind);
            functions.push((function, CoreSignature::of(imports, function)?, ty, host));
        }
    }
    let memory = builder.core_module(None, &memory_module());
    let memory = builder.core_instantiate(None, memory, []);
    let options = [
        CanonicalOption::UTF8,
        CanonicalOption::Memory(builder.core_alias_export(
            None,
            memory,
            "memory",
            ExportKind::Memory,
        )),
        CanonicalOption::Realloc(builder.core_alias_export(
            None,
            memory,
            "realloc",
            ExportKind::Func,
        )),
    ];
    let mut given = Vec::new();
    for (function, _, _, host) in &functions {
        let lowered = builder.lower_func(None, *host, options);
        given.push((format!("f{}", function.index), ExportKind::Func, lowered));
    }
    for (at, resource) in resources.iter().enumerate() {
        let Some(resource) = resource else { continue };
        let drop = builder.resource_drop(*resource);
        given.push((format!("d{at}"), ExportKind::Func, drop));
    }
    let given: Vec<_> = given
        .iter()
        .map(|(name, kind, at)| (name.as_str(), *kind, *at))
        .collect();
    let host = builder.core_instantiate_exports(None, given);
    let signatures: Vec<_> = functions
        .iter()
        .map(|(function, core, ..)| (function.index, core))
        .collect();
    let shim = builder.core_module(None, &shim_module(&signatures));
    let arguments = [
        ("memory", ModuleArg::Instance(memory)),
        ("host", ModuleArg::Instance(host)),
    ];
    let shim = builder.core_instantiate(None, shim, arguments);
    for (function, _, ty, _) in &functions {
        let name = format!("f{}", function.index);
        let core = builder.core_alias_export(None, shim, &name, ExportKind::Func);
        let name = format!("p{}", function.index);
        let post = builder.core_alias_export(None, shim, &name, ExportKind::Func);
        let [utf8, memory, realloc] = options;
        let options = [utf8, memory, realloc, CanonicalOption::PostReturn(post)];
        let lifted = builder.lift_func(None, core, *ty, options);
        let name = export_name(function.index);
        builder.export(name.as_str(), ComponentExportKind::Func, lifted, None);
    }
    Ok(builder.finish())
}
