//! Encodes the types of imported functions.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "of the many types of values, a function treats all but a few alike"
)]

use wasm_encoder::{
    Alias, ComponentBuilder, ComponentDefinedTypeEncoder, ComponentOuterAliasKind,
    ComponentTypeRef, ComponentValType, InstanceType, PrimitiveValType, TypeBounds,
};
use wasmtime::component::{ResourceType, Type};

use crate::recording::imports::{ImportedFunction, Imports};

/// Where types are defined.
pub(super) trait Scope {
    /// Adds a type, and returns its index.
    fn add(&mut self) -> (u32, ComponentDefinedTypeEncoder<'_>);
    /// Returns a record, variant, enum or flags that has its name.
    fn named(&self, ty: &Type) -> Option<u32>;
    /// Gives such a type its name, and returns the index of the named type.
    fn name(&mut self, ty: &Type, defined: u32) -> Result<u32, String>;
    fn resource(&mut self, ty: &ResourceType) -> Result<u32, String>;
}

/// Returns the encoding of a type in a scope, where it is defined if need be.
pub(super) fn val_type(scope: &mut dyn Scope, ty: &Type) -> Result<ComponentValType, String> {
    let primitive = |ty| Ok(ComponentValType::Primitive(ty));
    match ty {
        Type::Bool => primitive(PrimitiveValType::Bool),
        Type::S8 => primitive(PrimitiveValType::S8),
        Type::U8 => primitive(PrimitiveValType::U8),
        Type::S16 => primitive(PrimitiveValType::S16),
        Type::U16 => primitive(PrimitiveValType::U16),
        Type::S32 => primitive(PrimitiveValType::S32),
        Type::U32 => primitive(PrimitiveValType::U32),
        Type::S64 => primitive(PrimitiveValType::S64),
        Type::U64 => primitive(PrimitiveValType::U64),
        Type::Float32 => primitive(PrimitiveValType::F32),
        Type::Float64 => primitive(PrimitiveValType::F64),
        Type::Char => primitive(PrimitiveValType::Char),
        Type::String => primitive(PrimitiveValType::String),
        Type::List(list) => {
            let item = val_type(scope, &list.ty())?;
            define(scope, |ty| ty.list(item))
        }
        Type::Option(option) => {
            let item = val_type(scope, &option.ty())?;
            define(scope, |ty| ty.option(item))
        }
        Type::Result(result) => {
            let ok = optional(scope, result.ok())?;
            let err = optional(scope, result.err())?;
            define(scope, |ty| ty.result(ok, err))
        }
        Type::Tuple(tuple) => {
            let items = tuple.types().map(|ty| val_type(scope, &ty));
            let items = items.collect::<Result<Vec<_>, _>>()?;
            define(scope, |ty| ty.tuple(items))
        }
        Type::Own(ty) => {
            let resource = scope.resource(ty)?;
            define(scope, |ty| ty.own(resource))
        }
        Type::Borrow(ty) => {
            let resource = scope.resource(ty)?;
            define(scope, |ty| ty.borrow(resource))
        }
        Type::Record(_) | Type::Variant(_) | Type::Enum(_) | Type::Flags(_) => {
            let named = match scope.named(ty) {
                Some(named) => named,
                None => {
                    let defined = nominal(scope, ty)?;
                    scope.name(ty, defined)?
                }
            };
            Ok(ComponentValType::Type(named))
        }
        Type::Map(_)
        | Type::Future(_)
        | Type::Stream(_)
        | Type::ErrorContext
        | Type::FixedLengthList(_) => Err("a type is not known here".to_owned()),
    }
}

fn optional(scope: &mut dyn Scope, ty: Option<Type>) -> Result<Option<ComponentValType>, String> {
    ty.map(|ty| val_type(scope, &ty)).transpose()
}

fn define(
    scope: &mut dyn Scope,
    encode: impl FnOnce(ComponentDefinedTypeEncoder<'_>),
) -> Result<ComponentValType, String> {
    let (index, encoder) = scope.add();
    encode(encoder);
    Ok(ComponentValType::Type(index))
}

/// Defines a type that needs a name.
fn nominal(scope: &mut dyn Scope, ty: &Type) -> Result<u32, String> {
    match ty {
        Type::Record(record) => {
            let field = |(name, ty): (&str, Type)| Ok((name.to_owned(), val_type(scope, &ty)?));
            let fields = record.fields().map(|it| (it.name, it.ty)).map(field);
            let fields = fields.collect::<Result<Vec<_>, String>>()?;
            let (index, encoder) = scope.add();
            encoder.record(fields.iter().map(|(name, ty)| (name.as_str(), *ty)));
            Ok(index)
        }
        Type::Variant(variant) => {
            let mut cases = Vec::new();
            for case in variant.cases() {
                cases.push((case.name.to_owned(), optional(scope, case.ty)?));
            }
            let (index, encoder) = scope.add();
            encoder.variant(cases.iter().map(|(name, ty)| (name.as_str(), *ty)));
            Ok(index)
        }
        Type::Enum(names) => {
            let (index, encoder) = scope.add();
            encoder.enum_type(names.names());
            Ok(index)
        }
        Type::Flags(names) => {
            let (index, encoder) = scope.add();
            encoder.flags(names.names());
            Ok(index)
        }
        _ => Err("a type has no name".to_owned()),
    }
}

/// The type of an imported interface.
pub(super) struct InstanceScope<'a> {
    imports: &'a Imports,
    /// Of each resource, its type in the component, where an earlier interface exports it.
    known: &'a [Option<u32>],
    ty: InstanceType,
    /// Of each resource, its type here.
    resources: Vec<Option<u32>>,
    named: Vec<(String, Type, u32)>,
}

impl<'a> InstanceScope<'a> {
    pub(super) fn new(imports: &'a Imports, known: &'a [Option<u32>]) -> Self {
        Self {
            imports,
            known,
            ty: InstanceType::new(),
            resources: vec![None; known.len()],
            named: Vec::new(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.ty.is_empty()
    }

    /// Exports a resource, which an earlier interface may have exported. Of several names for one resource,
    /// the first is that of its functions.
    pub(super) fn export_resource(&mut self, name: &str, at: usize) {
        if self.resources.get(at).is_some_and(Option::is_some) {
            return;
        }
        let bounds = match self.known.get(at).copied().flatten() {
            Some(known) => {
                self.ty.alias(Alias::Outer {
                    kind: ComponentOuterAliasKind::Type,
                    count: 1,
                    index: known,
                });
                TypeBounds::Eq(self.ty.type_count() - 1)
            }
            None => TypeBounds::SubResource,
        };
        self.ty.export(name, ComponentTypeRef::Type(bounds));
        if let Some(resource) = self.resources.get_mut(at) {
            *resource = Some(self.ty.type_count() - 1);
        }
    }

    pub(super) fn export_function(&mut self, function: &ImportedFunction) -> Result<(), String> {
        let mut params = Vec::new();
        for (name, ty) in &function.params {
            params.push((name.as_str(), val_type(self, ty)?));
        }
        let result = optional(self, function.result.clone())?;
        let index = self.ty.type_count();
        self.ty.ty().function().params(params).result(result);
        let name = function.local.as_str();
        self.ty.export(name, ComponentTypeRef::Func(index));
        Ok(())
    }

    /// Returns the type, and its types with the names under which it exports them.
    pub(super) fn finish(self) -> (InstanceType, Vec<(String, Type)>) {
        let named = self.named.into_iter().map(|(name, ty, _)| (name, ty));
        (self.ty, named.collect())
    }
}

impl Scope for InstanceScope<'_> {
    fn add(&mut self) -> (u32, ComponentDefinedTypeEncoder<'_>) {
        let index = self.ty.type_count();
        (index, self.ty.ty().defined_type())
    }

    fn named(&self, ty: &Type) -> Option<u32> {
        let named = self.named.iter().find(|(_, known, _)| known == ty);
        named.map(|(.., index)| *index)
    }

    fn name(&mut self, ty: &Type, defined: u32) -> Result<u32, String> {
        // The engine compares types by their structure.
        let name = format!("recorded-type-{}", self.named.len());
        let bounds = TypeBounds::Eq(defined);
        self.ty
            .export(name.as_str(), ComponentTypeRef::Type(bounds));
        let index = self.ty.type_count() - 1;
        self.named.push((name, ty.clone(), index));
        Ok(index)
    }

    fn resource(&mut self, ty: &ResourceType) -> Result<u32, String> {
        let at = self
            .imports
            .resource(ty)
            .ok_or("a resource is not imported")?;
        if let Some(here) = self.resources.get(at).copied().flatten() {
            return Ok(here);
        }
        self.export_resource(&format!("recorded-resource-{at}"), at);
        let here = self.resources.get(at).copied().flatten();
        here.ok_or_else(|| "a resource is not imported".to_owned())
    }
}

/// The component itself, after an interface was imported.
pub(super) struct ComponentScope<'a> {
    pub(super) imports: &'a Imports,
    pub(super) resources: &'a [Option<u32>],
    pub(super) named: Vec<(Type, u32)>,
    pub(super) builder: &'a mut ComponentBuilder,
}

impl Scope for ComponentScope<'_> {
    fn add(&mut self) -> (u32, ComponentDefinedTypeEncoder<'_>) {
        self.builder.type_defined(None)
    }

    fn named(&self, ty: &Type) -> Option<u32> {
        let named = self.named.iter().find(|(known, _)| known == ty);
        named.map(|(_, index)| *index)
    }

    fn name(&mut self, _: &Type, _: u32) -> Result<u32, String> {
        Err("a type is not exported by its interface".to_owned())
    }

    fn resource(&mut self, ty: &ResourceType) -> Result<u32, String> {
        let at = self.imports.resource(ty);
        let known = at.and_then(|at| self.resources.get(at).copied().flatten());
        known.ok_or_else(|| "a resource is not imported".to_owned())
    }
}
