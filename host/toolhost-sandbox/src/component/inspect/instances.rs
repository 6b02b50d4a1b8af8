//! Sums up what instantiating a component creates, without doing it.
//!
//! The compiler follows every instantiation inside a component. One that instantiates ten others, each of
//! which instantiates ten, and so on, is a small file but takes very long to compile.

use wasmparser::{
    CanonicalFunction, ComponentAlias, ComponentExternalKind, ComponentInstance,
    ComponentOuterAliasKind, ComponentTypeRef, Encoding, Instance, Payload,
};

use super::check::{elements_in, malformed, within};
use crate::PrepareError;
use crate::component::limits::CompileLimits;

/// Bytes that an instance keeps for an element or a global.
const ELEMENT: u64 = 16;

/// Bytes that an instance keeps for a function, its own or imported.
const FUNCTION: u64 = 32;

/// Sums up each module and component once for each of its instantiations.
#[derive(Default)]
pub(super) struct Instantiations {
    /// The component that is read, and those around it.
    scopes: Vec<Scope>,
    /// The core module that is read. Core modules hold no others.
    module: Option<Weight>,
}

#[derive(Default)]
struct Scope {
    /// For each component that may be instantiated here: none where it is imported.
    components: Vec<Option<Weight>>,
    /// The same for core modules.
    modules: Vec<Option<Weight>>,
    weight: Weight,
}

/// What one instance creates.
#[derive(Debug, Clone, Copy, Default)]
struct Weight {
    definitions: u64,
    adapters: u64,
    instance_bytes: u64,
}

impl Instantiations {
    pub(super) fn add(
        &mut self,
        payload: &Payload<'_>,
        limits: &CompileLimits,
    ) -> Result<(), PrepareError> {
        let mut weight = Weight::default();
        match payload {
            Payload::Version { encoding, .. } => match encoding {
                Encoding::Component => self.scopes.push(Scope::default()),
                Encoding::Module => self.module = Some(weight),
            },
            Payload::End(_) => self.end(),
            Payload::ElementSection(section) => self.keep(ELEMENT, elements_in(section)?),
            Payload::GlobalSection(section) => self.keep(ELEMENT, section.count().into()),
            Payload::FunctionSection(section) => self.keep(FUNCTION, section.count().into()),
            Payload::ImportSection(section) => self.keep(FUNCTION, section.count().into()),
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    let (given, module) = match instance.map_err(malformed)? {
                        Instance::Instantiate { args, module_index } => {
                            (args.len(), known(self.module(0, module_index))?)
                        }
                        Instance::FromExports(exports) => (exports.len(), Weight::default()),
                    };
                    self.instantiate(module, given, limits)?;
                }
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    let (given, component) = match instance.map_err(malformed)? {
                        ComponentInstance::Instantiate {
                            component_index,
                            args,
                        } => (args.len(), known(self.component(0, component_index))?),
                        ComponentInstance::FromExports(exports) => {
                            (exports.len(), Weight::default())
                        }
                    };
                    self.instantiate(component, given, limits)?;
                }
            }
            Payload::ComponentAliasSection(section) => {
                for alias in section.clone() {
                    self.alias(&alias.map_err(malformed)?);
                }
                weight.definitions = section.count().into();
            }
            Payload::ComponentImportSection(section) => {
                for import in section.clone() {
                    match import.map_err(malformed)?.ty {
                        ComponentTypeRef::Component(_) => self.define_component(None),
                        ComponentTypeRef::Module(_) => self.define_module(None),
                        _ => {}
                    }
                }
                weight.definitions = section.count().into();
            }
            Payload::ComponentExportSection(section) => {
                for export in section.clone() {
                    let export = export.map_err(malformed)?;
                    match export.kind {
                        ComponentExternalKind::Component => {
                            self.define_component(self.component(0, export.index));
                        }
                        ComponentExternalKind::Module => {
                            self.define_module(self.module(0, export.index));
                        }
                        _ => {}
                    }
                }
                weight.definitions = section.count().into();
            }
            Payload::ComponentTypeSection(section) => weight.definitions = section.count().into(),
            Payload::ComponentCanonicalSection(section) => {
                weight.definitions = section.count().into();
                for function in section.clone() {
                    match function.map_err(malformed)? {
                        CanonicalFunction::Lift { .. } | CanonicalFunction::Lower { .. } => {
                            weight.adapters += 1;
                        }
                        _ => {}
                    }
                }
            }
            _ => {}
        }
        self.count(weight, limits)
    }

    /// The module or the component that was read ends.
    fn end(&mut self) {
        if let Some(module) = self.module.take() {
            self.define_module(Some(module));
            return;
        }
        let component = self.scopes.pop().unwrap_or_default().weight;
        self.define_component(Some(component));
    }

    fn alias(&mut self, alias: &ComponentAlias<'_>) {
        match alias {
            ComponentAlias::InstanceExport { kind, .. } => match kind {
                ComponentExternalKind::Component => self.define_component(None),
                ComponentExternalKind::Module => self.define_module(None),
                _ => {}
            },
            ComponentAlias::Outer { kind, count, index } => match kind {
                ComponentOuterAliasKind::Component => {
                    self.define_component(self.component(*count, *index));
                }
                ComponentOuterAliasKind::CoreModule => {
                    self.define_module(self.module(*count, *index));
                }
                _ => {}
            },
            ComponentAlias::CoreInstanceExport { .. } => {}
        }
    }

    fn define_component(&mut self, weight: Option<Weight>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.components.push(weight);
        }
    }

    fn define_module(&mut self, weight: Option<Weight>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.modules.push(weight);
        }
    }

    /// An instance of the module that is read keeps `count` things of `bytes` each.
    fn keep(&mut self, bytes: u64, count: u64) {
        if let Some(module) = &mut self.module {
            let kept = bytes.saturating_mul(count);
            module.instance_bytes = module.instance_bytes.saturating_add(kept);
        }
    }

    fn scope(&self, outwards: u32) -> Option<&Scope> {
        self.scopes.iter().rev().nth(outwards as usize)
    }

    /// A component of a scope. None where it is imported or unknown.
    fn component(&self, outwards: u32, index: u32) -> Option<Weight> {
        *self.scope(outwards)?.components.get(index as usize)?
    }

    /// A core module of a scope. None where it is imported or unknown.
    fn module(&self, outwards: u32, index: u32) -> Option<Weight> {
        *self.scope(outwards)?.modules.get(index as usize)?
    }

    /// Adds an instance of something that is given so many arguments or exports.
    fn instantiate(
        &mut self,
        mut of: Weight,
        given: usize,
        limits: &CompileLimits,
    ) -> Result<(), PrepareError> {
        of.definitions = of.definitions.saturating_add(1 + given as u64);
        self.count(of, limits)
    }

    /// Adds to the component that is read.
    fn count(&mut self, more: Weight, limits: &CompileLimits) -> Result<(), PrepareError> {
        let Some(Scope { weight, .. }) = self.scopes.last_mut() else {
            return Ok(());
        };
        for (what, sum, more, limit) in [
            (
                "definitions over all its instances",
                &mut weight.definitions,
                more.definitions,
                limits.definitions,
            ),
            (
                "lifted and lowered functions over all its instances",
                &mut weight.adapters,
                more.adapters,
                limits.adapters,
            ),
            (
                "bytes kept by all its instances",
                &mut weight.instance_bytes,
                more.instance_bytes,
                limits.instance_bytes,
            ),
        ] {
            *sum = sum.saturating_add(more);
            within(what, *sum, limit)?;
        }
        Ok(())
    }
}

fn known(weight: Option<Weight>) -> Result<Weight, PrepareError> {
    weight.ok_or_else(|| PrepareError::Compile {
        reason: "it instantiates a module or a component that it does not define itself".to_owned(),
    })
}
